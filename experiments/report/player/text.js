// Text for readers: times, bytes, shares and the names of links.

/** The unit in which a schedule of some length is told: its name, how many picoseconds it has, and the decimals. */
function timeUnit(totalPs) {
  const [ps, name] = [[1e12, "s"], [1e9, "ms"], [1e6, "µs"], [1e3, "ns"]].find(([each]) => totalPs >= each) ?? [1, "ps"];
  // A ten-thousandth of the whole can be read off.
  const decimals = Math.max(0, 4 - Math.floor(Math.log10(Math.max(totalPs, 1) / ps)));
  return { ps, name, decimals: Math.min(decimals, Math.round(Math.log10(ps))) };
}

/** A number in that unit, without zeros that say nothing. */
function inUnit(ps, unit) {
  return String(Number((ps / unit.ps).toFixed(unit.decimals)));
}

/** Bytes in three digits. */
function bytesText(bytes) {
  const [size, name] = [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "KB"]].find(([each]) => bytes >= each) ?? [1, "B"];
  return `${Number((bytes / size).toPrecision(3))} ${name}`;
}

/** A count with its noun: "1 link", "2,000 links". */
function counted(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
