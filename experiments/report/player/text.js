// Text for readers: times, bytes, shares and the names of links.

/**
 * The unit in which the times of a schedule are told: its name, how many picoseconds it has, and how many decimals show
 * a ten-thousandth of the whole and a tenth of the shortest span.
 */
function timeUnit(totalPs, shortestPs) {
  const units = [[1e12, "s"], [1e9, "ms"], [1e6, "µs"], [1e3, "ns"], [1, "ps"]];
  const [ps, name] = units.find(([each]) => totalPs >= each) ?? [1e6, "µs"];
  const places = (span) => -Math.floor(Math.log10(Math.max(span, 1) / ps));
  const decimals = Math.max(0, 4 + places(totalPs), 1 + places(shortestPs));
  return { ps, name, decimals: Math.min(decimals, Math.log10(ps)) };
}

/** A number in that unit, without zeros that say nothing. */
function inUnit(ps, unit) {
  return String(Number((ps / unit.ps).toFixed(unit.decimals)));
}

/** Bytes in three digits. */
function bytesText(bytes) {
  const units = [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "KB"]];
  const [size, name] = units.find(([each]) => bytes >= each) ?? [1, "B"];
  return `${Number((bytes / size).toPrecision(3))} ${name}`;
}

/** A count with its noun: "1 link", "2,000 links". */
function counted(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
