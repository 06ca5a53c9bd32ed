// The list of problems, and the links that lead to their pages.

/** Columns of the list of problems, as `Grid` shows them. */
function problemColumns(meta) {
  const link = (row, frame, text) => problemLink(frame.column("number").at(row), text);
  const best = (row, frame) => {
    const series = frame.column("best").at(row);
    return Number.isNaN(series) ? NONE : marked(meta.looks[series]);
  };
  const solved = (row, frame) => `${frame.column("solved").at(row)} of ${frame.column("tried").at(row)}`;
  const schedules = (row, frame) => {
    const count = frame.column("schedules").at(row);
    return Number.isNaN(count) ? NONE : link(row, frame, `play ${count}`);
  };
  const title = (row, frame) => link(row, frame, frame.column("title").at(row));
  return [
    { name: "title", title: "problem", kind: "text", head: true, render: title },
    { name: "bound", title: "bound (µs)", kind: "us" },
    { name: "time", title: "best time (µs)", kind: "us" },
    { name: "efficiency", title: "efficiency", kind: "share" },
    { name: "best", title: "best", kind: "text", render: best },
    { name: "solved", title: "solved by", kind: "count", render: solved },
    { name: "schedules", title: "schedules", kind: "text", render: schedules },
  ];
}

/**
 * The problems that a summary has rows of, with the best time on each.
 * @param {Frame} problems
 * @param {Frame} summary  a row for each problem and series
 * @param {object[]} schedules  those that are in the page
 */
function problemList(problems, summary, schedules) {
  const [best, solved, tried, playable] = [new Map(), new Map(), new Map(), new Map()];
  const count = (counts, key) => counts.set(key, (counts.get(key) ?? 0) + 1);
  const problem = summary.column(".problem").array;
  const time = summary.has("time_us") ? summary.column("time_us").array : new Float64Array(summary.length).fill(NaN);
  problem.forEach((of, at) => {
    count(tried, of);
    if (Number.isNaN(time[at])) return;
    count(solved, of);
    if (!best.has(of) || time[at] < time[best.get(of)]) best.set(of, at);
  });
  for (const { problem: of } of schedules) count(playable, of);
  const numbers = Uint32Array.from(tried.keys()).sort();
  const each = (value) => new Column(Float64Array.from(numbers, value));
  const ofBest = (name) => (number) =>
    best.has(number) && summary.has(name) ? summary.column(name).array[best.get(number)] : NaN;
  const title = problems.column("title");
  const columns = {
    number: () => new Column(numbers),
    title: () => new Column(gathered(title.array, numbers), title.words),
    bound: () => each((number) => problems.column("bound_us").array[number]),
    time: () => each(ofBest("time_us")),
    efficiency: () => each(ofBest("efficiency")),
    best: () => each(ofBest(".series")),
    solved: () => each((number) => solved.get(number) ?? 0),
    tried: () => each((number) => tried.get(number)),
    schedules: () => each((number) => playable.get(number) ?? NaN),
  };
  return new Frame(numbers.length, Object.keys(columns), (name) => columns[name]());
}

/** A link to a problem; the choices stay. */
function problemLink(number, text) {
  return build("a", { href: state.address({ problem: number }), click: (event) => followed(event, number) }, text);
}

/** Go to a problem without loading anything, unless the reader wants a tab of its own. */
function followed(event, problem) {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  state.set({ problem }, true);
}
