// Repeats and seeds brought together, as experiments/tables/repeats.py does: of each problem and synthesizer the median
// of what worked, and how far apart the times are.

/** Columns in which seeds and repeats differ, so that a median of them says nothing. */
const OF_ONE_RUN = ["seed", "repeat", "key"];

/** Kinds of columns that are measured. */
const MEASURED = ["us", "s", "gbps", "share"];

/** The median of numbers, NaN without any; they are sorted. */
function median(numbers) {
  if (!numbers.length) return NaN;
  numbers.sort();
  const middle = numbers.length >> 1;
  return numbers.length % 2 ? numbers[middle] : (numbers[middle - 1] + numbers[middle]) / 2;
}

/** Rows in groups, one for each problem and series, in the order in which they come. */
class Groups {
  constructor(rows, chosen, seriesCount) {
    const problem = rows.column(".problem").array;
    const series = rows.column(".series").array;
    const number = new Map();
    const of = new Uint32Array(chosen.length);
    const sizes = [];
    chosen.forEach((row, at) => {
      const key = problem[row] * seriesCount + series[row];
      let group = number.get(key);
      if (group === undefined) number.set(key, (group = sizes.push(0) - 1));
      of[at] = group;
      sizes[group]++;
    });
    this.starts = new Uint32Array(sizes.length + 1);
    sizes.forEach((size, group) => (this.starts[group + 1] = this.starts[group] + size));
    const next = this.starts.slice();
    this.members = new Uint32Array(chosen.length);
    chosen.forEach((row, at) => (this.members[next[of[at]]++] = row));
    this.count = sizes.length;
  }

  of(group) {
    return this.members.subarray(this.starts[group], this.starts[group + 1]);
  }
}

/**
 * A row for each problem and series of some rows. Beside the columns of the rows it has `runs`, `worked` (how many were
 * ok) and `spread` (the longest time less the shortest).
 * @param {Frame} rows
 * @param {Uint32Array} chosen
 * @param {object} meta
 */
function summarised(rows, chosen, meta) {
  const groups = new Groups(rows, chosen, meta.looks.length);
  const kinds = new Map(meta.columns.map(({ name, kind }) => [name, kind]));
  const status = rows.column("status");
  const ok = status.words.indexOf("ok");
  const worked = (row) => status.array[row] === ok;
  // Names and reasons are those of the first run that worked, else of the first.
  const speaker = new Uint32Array(groups.count);
  for (let group = 0; group < groups.count; group++) {
    const members = groups.of(group);
    speaker[group] = members.find(worked) ?? members[0];
  }
  const measure = (result) => {
    const made = new Float64Array(groups.count);
    for (let group = 0; group < groups.count; group++) made[group] = result(groups.of(group));
    return new Column(made);
  };
  const held = new Float64Array(rows.length);
  const numbers = (name, members) => {
    const { array } = rows.column(name);
    let count = 0;
    for (const row of members) if (worked(row) && !Number.isNaN(array[row])) held[count++] = array[row];
    return held.subarray(0, count);
  };
  const special = {
    runs: () => measure((members) => members.length),
    worked: () => measure((members) => members.filter(worked).length),
    spread: () =>
      measure((members) => {
        const times = numbers("time_us", members).sort();
        return times.length ? times[times.length - 1] - times[0] : NaN;
      }),
  };
  const make = (name) => {
    if (special[name]) return special[name]();
    const column = rows.column(name);
    // The bound is of the problem, whether or not anybody solved it.
    if (!MEASURED.includes(kinds.get(name)) || name === "bound_us") {
      return new Column(gathered(column.array, speaker), column.words);
    }
    return measure((members) => median(numbers(name, members)));
  };
  const names = rows.names.filter((name) => !OF_ONE_RUN.includes(name));
  return new Frame(groups.count, [...names, "runs", "worked", "spread"], make);
}

/** Values at places. */
function gathered(array, places) {
  const made = new array.constructor(places.length);
  for (let at = 0; at < places.length; at++) made[at] = array[places[at]];
  return made;
}
