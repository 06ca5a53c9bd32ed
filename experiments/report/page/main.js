// The page as a whole: what is shown follows from the results in the page and the choices in its address.

/** Unpack the results and show them; whoever drives the page finds `data-ready` on its root when that is done. */
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
    if (!this.rows.length) {
      for (const name of ["tables", "rows", "problems", "plots"]) document.getElementById(name).hidden = true;
      return;
    }
    this.selection = new Selection(this.rows);
    this.choices = new Choices(document.getElementById("choices"), this.selection, meta.columns);
    this.runs = new Grid(document.querySelector("#rows .grid"), {
      name: "All rows",
      choosable: true,
      exported: "rows.csv",
    });
    this.list = new Grid(document.querySelector("#problems .grid"), {
      name: "Problems",
      what: "problem",
      columns: problemColumns(meta),
    });
    this.plots = new Plots(document.querySelector("#plots .content"), meta.looks);
    this.sections = {
      problems: new Later(document.getElementById("problems")),
      plots: new Later(document.getElementById("plots")),
    };
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

  _showProblems() {
    const list = problemList(this.problems, this.summary, this.meta.schedules);
    this.list.show(
      list,
      Uint32Array.from({ length: list.length }, (_, at) => at),
    );
  }

  _fillTables(frames) {
    const host = document.querySelector("#tables .content");
    this.meta.tables.forEach((table, at) => {
      const frame = frames[`table${at}`];
      const columns = table.head.map((title, place) => tableColumn(frame, title, place, place >= table.sides));
      const grid = build("div", { class: "grid" });
      host.append(build("h3", {}, table.title), grid);
      new Grid(grid, { name: table.title, what: "line", columns }).show(
        frame,
        Uint32Array.from({ length: frame.length }, (_, row) => row),
      );
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

start().catch((error) => {
  const text =
    "DecompressionStream" in window ? `This page is damaged: ${error}` : "This page needs a browser of 2023 or later.";
  document.getElementById("content").prepend(build("p", { class: "remark", role: "alert" }, text));
  throw error;
});
