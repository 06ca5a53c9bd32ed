/* The page as a whole: what is shown follows from the results in the page and the choices in its address. */

/** What a reader may open before the page is ready is small; this is all that has to happen. */
async function start() {
  theme.start(document.getElementById("theme"));
  const data = await unpacked(document.getElementById("results"));
  theme.colour(data.meta.looks);
  theme.listen(() => panels.redraw());
  state.read();
  const report = new Report(data);
  state.listen(() => report.show());
  state.follow();
  report.show();
  addEventListener("beforeprint", () => report.finish());
  document.documentElement.dataset.ready = "yes";
  performance.mark("ready");
}

class Report {
  constructor(data) {
    const { meta, frames } = data;
    this.meta = meta;
    this.rows = frames.rows;
    this.problems = frames.problems;
    this.overview = document.getElementById("overview");
    this.page = new ProblemPage(document.getElementById("problem"), data);
    this._connectWays();
    this._fillTables(frames);
    if (!this.rows.length) return;
    this.selection = new Selection(this.rows);
    this.choices = new Choices(document.getElementById("choices"), this.selection, meta.columns);
    this.runs = new Grid(document.querySelector("#rows .grid"), {
      name: "All rows", memory: "", choosable: true, exported: "rows.csv",
    }); // prettier-ignore
    this.list = new Grid(document.querySelector("#problems .grid"), { name: "Problems", what: "problem", columns: problemColumns(meta) });
    this.plots = new Plots(document.querySelector("#plots .content"), meta.looks);
    this.sections = { problems: new Later(document.getElementById("problems")), plots: new Later(document.getElementById("plots")) };
    const views = document.getElementById("view");
    views.addEventListener("change", () => state.set({ view: views.value === "runs" ? null : views.value }));
  }

  /** Show what the address asks for; what it asks for as before stays as it is. */
  show() {
    const isProblem = this.page.show(state.get("problem"));
    this.overview.hidden = isProblem;
    if (isProblem) return;
    document.title = this.meta.title;
    if (!this.rows.length) return;
    const asked = JSON.stringify([state.get("q"), ...this.selection.facets.map((name) => state.all(name))]);
    const fresh = asked !== this.asked;
    this.asked = asked;
    if (fresh) {
      const { rows, counts } = this.selection.choose(state.get("q"), this.choices.chosen());
      this.chosen = rows;
      this.summary = summarised(this.rows, rows, this.meta);
      this.every = Uint32Array.from({ length: this.summary.length }, (_, at) => at);
      this.choices.show(counts);
    }
    this._showRows();
    if (fresh) {
      this.sections.problems.draw(() => this._showProblems());
      this.sections.plots.draw(() => this.plots.show(pointsOf(this.summary, this.problems)));
    } else if (this.sections.plots.drawn) this.plots.turn();
  }

  /** Draw all that waits to be seen. */
  finish() {
    Object.values(this.sections ?? {}).forEach((section) => section.finish());
    panels.drawAll();
  }

  _showRows() {
    const medians = state.get("view") === "medians";
    document.getElementById("view").value = medians ? "medians" : "runs";
    if (medians) this.runs.show(this.summary, this.every, rowColumns(this.meta, this.summary));
    else this.runs.show(this.rows, this.chosen, rowColumns(this.meta, null));
  }

  /** A line for each problem of which rows are in view. */
  _showProblems() {
    const best = new Map();
    const counts = new Map();
    const problem = this.summary.column(".problem").array;
    const time = this.summary.has("time_us") ? this.summary.column("time_us").array : [];
    for (let at = 0; at < this.summary.length; at++) {
      const of = problem[at];
      const [solved, tried] = counts.get(of) ?? [0, 0];
      counts.set(of, [solved + (time[at] >= 0 ? 1 : 0), tried + 1]);
      if (time[at] >= 0 && !(time[at] >= time[best.get(of)])) best.set(of, at);
    }
    const numbers = Uint32Array.from(counts.keys()).sort();
    this.list.show(problemFrame(this.problems, numbers, this.summary, best, counts), numbers.map((_, at) => at));
  }

  _fillTables(frames) {
    const host = document.querySelector("#tables .content");
    this.meta.tables.forEach((table, at) => {
      const frame = frames[`table${at}`];
      const columns = table.head.map((title, place) => tableColumn(frame, title, place, place >= table.sides));
      const grid = build("div", { class: "grid" });
      host.append(build("h3", {}, table.title), grid);
      new Grid(grid, { name: table.title, what: "line", columns }).show(frame, Uint32Array.from({ length: frame.length }, (_, row) => row));
    });
  }

  /** Places on the page are gone to without changing the address, which holds the choices. */
  _connectWays() {
    for (const link of document.querySelectorAll("a[data-place]")) {
      link.addEventListener("click", (event) => {
        event.preventDefault();
        if (link.dataset.place !== "content" && state.get("problem")) state.set({ problem: null }, true);
        const place = document.getElementById(link.dataset.place);
        place.scrollIntoView();
        place.focus({ preventScroll: true });
      });
    }
  }
}

/** Columns of the rows, of single runs or of a summary of them. */
function rowColumns(meta, summary) {
  const columns = meta.columns.filter(({ name }) => !summary || summary.has(name)).map((column) => decorated(column, meta));
  if (!summary) return columns;
  const time = columns.findIndex(({ name }) => name === "time_us");
  const more = [
    { name: "spread", title: "spread (µs)", kind: "us", shown: true },
    { name: "runs", title: "runs", kind: "count", shown: true },
    { name: "worked", title: "worked", kind: "count", shown: true },
  ];
  columns.splice(time + 1, 0, ...more);
  return columns;
}

/** A column with what is more than text in its cells. */
function decorated(column, meta) {
  const render = {
    label: (row, frame) => {
      const look = meta.looks[frame.column(".series").at(row)];
      return marked(look, frame.column("label").at(row));
    },
    topology: (row, frame) => problemLink(frame.column(".problem").at(row), frame.column("topology").at(row)),
    status: (row, frame) => {
      const status = frame.column("status").at(row);
      return status === "ok" ? status : build("span", { class: "mark", "data-status": status }, status || "none");
    },
  }[column.name];
  return { ...column, render, head: column.name === "label", class: column.name };
}

/** Columns of the list of problems. */
function problemColumns(meta) {
  const players = new Map();
  for (const { problem } of meta.schedules) players.set(problem, (players.get(problem) ?? 0) + 1);
  const best = (row, frame) => {
    const series = frame.column("best").at(row);
    if (Number.isNaN(series)) return NONE;
    return marked(meta.looks[series]);
  };
  const schedules = (row, frame) => {
    const count = players.get(frame.column("number").at(row));
    return count ? problemLink(frame.column("number").at(row), `play ${count}`) : NONE;
  };
  return [
    { name: "title", title: "problem", kind: "text", class: "title", head: true, render: (row, frame) => problemLink(frame.column("number").at(row), frame.column("title").at(row)) },
    { name: "bound", title: "bound (µs)", kind: "us" },
    { name: "time", title: "best time (µs)", kind: "us" },
    { name: "efficiency", title: "efficiency", kind: "share" },
    { name: "best", title: "best", kind: "text", numeric: false, render: best },
    { name: "solved", title: "solved by", kind: "count", render: (row, frame) => `${frame.column("solved").at(row)} of ${frame.column("tried").at(row)}` },
    { name: "players", title: "schedules", kind: "text", render: schedules },
  ]; // prettier-ignore
}

/** The problems in view as a frame: with the best of the synthesizers in view on each. */
function problemFrame(problems, numbers, summary, best, counts) {
  const bound = problems.column("bound_us").array;
  const ofBest = (name) => Float64Array.from(numbers, (number) =>
    best.has(number) && summary.has(name) ? summary.column(name).array[best.get(number)] : NaN); // prettier-ignore
  const title = problems.column("title");
  const columns = {
    number: () => new Column(numbers),
    title: () => new Column(gathered(title.array, numbers), title.words),
    bound: () => new Column(Float64Array.from(numbers, (number) => bound[number])),
    time: () => new Column(ofBest("time_us")),
    efficiency: () => new Column(ofBest("efficiency")),
    best: () => new Column(ofBest(".series")),
    solved: () => new Column(Float64Array.from(numbers, (number) => counts.get(number)[0])),
    tried: () => new Column(Float64Array.from(numbers, (number) => counts.get(number)[1])),
    players: () => new Column(Float64Array.from(numbers, (number) => number)),
  };
  return new Frame(numbers.length, Object.keys(columns), (name) => columns[name]());
}

/** A column of a table of text: its figures are sorted as numbers, and the best of a line stands out. */
function tableColumn(frame, title, place, isFigure) {
  const render = (row) => {
    const text = frame.column(String(place)).at(row);
    return isFigure && frame.column(`best${place}`).at(row) ? build("strong", {}, text) : text;
  };
  const column = frame.column(String(place));
  if (isFigure) {
    const numbers = column.words.map((text) => (/^[-\d]/.test(text) ? parseFloat(text.replaceAll(",", "")) : NaN));
    Object.defineProperty(column, "keys", { value: Float64Array.from(column.array, (at) => numbers[at]) });
  }
  return { name: String(place), title, kind: "text", numeric: isFigure, render, head: place === 0, class: "side" };
}

start().catch((error) => {
  const text = "DecompressionStream" in window ? `This page is damaged: ${error}` : "This page needs a browser of 2023 or later.";
  document.getElementById("content").prepend(build("p", { class: "remark", role: "alert" }, text));
  throw error;
});
