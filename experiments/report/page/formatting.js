// Values as the command line prints them: experiments/cli/output.py and topologies/units.py, in the page's language.

const NONE = "–";

/** A number for a reader: decimals by magnitude unless given. */
function figure(value, decimals) {
  if (Number.isNaN(value)) return NONE;
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "-∞";
  const size = Math.abs(value);
  const places = decimals ?? (size >= 1000 ? 1 : size >= 1 || value === 0 ? 3 : 6);
  return value.toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places });
}

/** A ratio in percent. */
function share(value) {
  return Number.isNaN(value) ? NONE : `${(100 * value).toFixed(1)} %`;
}

const UNITS = [
  ["TiB", 2 ** 40],
  ["TB", 1e12],
  ["GiB", 2 ** 30],
  ["GB", 1e9],
  ["MiB", 2 ** 20],
  ["MB", 1e6],
  ["KiB", 2 ** 10],
  ["KB", 1e3],
];

/** A size with the largest unit that divides it. */
function bytes(value) {
  if (Number.isNaN(value)) return NONE;
  for (const [unit, factor] of UNITS) {
    if (value && value % factor === 0) return `${value / factor}${unit}`;
  }
  return `${value}B`;
}

/** A time for a title, in three digits. */
function shortTime(us) {
  const digits = (value) => String(Number(value.toPrecision(3)));
  if (us >= 1e6) return `${digits(us / 1e6)} s`;
  return us >= 1e3 ? `${digits(us / 1e3)} ms` : `${digits(us)} µs`;
}

/** Text for a value of a kind that experiments/report/content.py names. */
function formatted(kind, value) {
  switch (kind) {
    case "bytes":
      return bytes(value);
    case "us":
      return figure(value);
    case "s":
      return figure(value, 3);
    case "gbps":
      return figure(value, 2);
    case "share":
      return share(value);
    case "count":
      return Number.isNaN(value) ? NONE : value.toLocaleString("en-US");
    case "flag":
      return { True: "yes", False: "no" }[value] ?? "";
    case "number":
      return Number.isInteger(value) ? value.toLocaleString("en-US") : figure(value);
    default:
      return String(value);
  }
}

/** A collective as papers write it: all_reduce is AllReduce. */
function titleOf(collective) {
  return collective
    .split("_")
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join("");
}

/** "1 row", "2 rows". */
function counted(number, what) {
  return `${number.toLocaleString("en-US")} ${what}${number === 1 ? "" : "s"}`;
}
