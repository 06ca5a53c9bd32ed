// The page of one problem: its bound, everybody's time beside it, their rows and reasons, and schedules to play.

class ProblemPage {
  /**
   * @param {HTMLElement} host
   * @param {object} data  meta and frames, as `unpacked` returns them
   */
  constructor(host, { meta, frames }) {
    this.host = host;
    this.meta = meta;
    this.rows = frames.rows;
    this.problems = frames.problems;
    this.shown = null;
  }

  /** Show a problem by its number; anything else hides the page. Returns whether it is shown. */
  show(asked) {
    const number = /^\d+$/.test(asked) && Number(asked) < this.problems.length ? Number(asked) : null;
    if (number === this.shown) return number !== null;
    this._leave();
    this.shown = number;
    this.host.hidden = number === null;
    if (number !== null) this._fill(number);
    return number !== null;
  }

  _leave() {
    this.player?.destroy();
    this.player = null;
    this.host.replaceChildren();
  }

  _fill(number) {
    const of = this.rows.column(".problem").array;
    const rows = Uint32Array.from({ length: of.length }, (_, row) => row).filter((row) => of[row] === number);
    const summary = summarised(this.rows, rows, this.meta);
    const table = build("div", { class: "grid" });
    const title = build("h2", { tabindex: "-1", id: "problem-title" }, this.problems.column("title").at(number));
    this.host.replaceChildren(
      this._ways(number),
      title,
      this._facts(number),
      build("h3", {}, "Time of each synthesizer"),
      this._bars(number, summary),
      build("h3", {}, "Runs"),
      table,
      build("h3", {}, "Schedule"),
      this._schedules(number, summary),
    );
    const columns = rowColumns(this.meta, null).map((column) => ({
      ...column,
      shown: column.shown && !OF_PROBLEM.includes(column.name),
    }));
    new Grid(table, { name: "Runs of this problem", whole: true, columns }).show(this.rows, rows);
    document.title = `${title.textContent} – ${this.meta.title}`;
    title.focus({ preventScroll: true });
    scrollTo(0, 0);
  }

  _ways(number) {
    const step = (text, to) => {
      const there = to >= 0 && to < this.problems.length;
      return there ? problemLink(to, text) : null;
    };
    const back = build(
      "a",
      { href: state.address({ problem: null }), click: (event) => followed(event, null) },
      "← All results",
    );
    return build(
      "nav",
      { class: "ways", "aria-label": "Problems" },
      back,
      step("Previous problem", number - 1),
      step("Next problem", number + 1),
    );
  }

  _facts(number) {
    const value = (name, kind) =>
      this.problems.has(name) ? formatted(kind, this.problems.column(name).at(number)) : "";
    const bound = this.problems.column("bound_us").at(number);
    const by = value("bound_by", "text");
    const facts = [
      ["bound", Number.isNaN(bound) ? "not known" : `${figure(bound)} µs${by ? `, set by ${by}` : ""}`],
      ["network", value("topology", "text")],
      ["NPUs", value("num_npus", "count")],
      ["collective", titleOf(value("collective", "text"))],
      ["size", value("size", "bytes")],
      ["chunks asked for", value("chunks", "count")],
      ["group", value("group", "text")],
      [
        "root",
        ["broadcast", "reduce", "gather", "scatter"].includes(value("collective", "text"))
          ? value("root", "count")
          : "",
      ],
      ["pairs", value("pairs", "text")],
      ["time limit of synthesis (s)", value("time_limit_s", "number")],
      ["scenario", value("scenario", "text")],
      ["link model", [value("latency", "text"), value("switching", "text")].filter(Boolean).join(", ")],
    ].filter(([, text]) => text && text !== NONE);
    return build(
      "dl",
      { class: "facts" },
      ...facts.map(([name, text]) => build("div", {}, build("dt", {}, name), build("dd", {}, text))),
    );
  }

  /** A bar of time for each synthesizer, best first, on one scale with the bound; reasons where there is none. */
  _bars(number, summary) {
    const points = pointsOf(summary, this.problems);
    const time = (point) => (point.worked ? point.time : NaN);
    const order = [...points.keys()].sort(
      (a, b) => (time(points[a]) || Infinity) - (time(points[b]) || Infinity) || points[a].series - points[b].series,
    );
    const bound = this.problems.column("bound_us").at(number);
    const longest = points.reduce((most, point) => Math.max(most, time(point) || 0), bound || 0);
    const part = (us) => `${((100 * us) / longest || 0).toFixed(3)}%`;
    const reason = summary.has("reason") ? summary.column("reason") : null;
    const lines = order.map((at) => {
      const point = points[at];
      const look = this.meta.looks[point.series];
      const name = build("th", { scope: "row" }, marked(look));
      const why = reason?.at(at) ?? "";
      if (!point.worked) {
        const said = build("strong", {}, `${point.status}: `);
        return build("tr", {}, name, build("td", { colspan: "3", class: "why" }, said, why || "no reason given"));
      }
      const bar = build("span", { class: "bar", style: `width:${part(point.time)};background:var(${look.property})` });
      const mark =
        bound > 0
          ? build("span", { class: "bound", style: `left:${part(bound)}`, title: `bound: ${figure(bound)} µs` })
          : null;
      const runs = summary.column("runs").at(at);
      const spread = summary.column("spread").at(at);
      const times = runs > 1 ? ` (median of ${runs}${spread ? `, spread ${figure(spread)}` : ""})` : "";
      const over = bound > 0 && point.time > 0 ? `${(point.time / bound).toFixed(3)} × bound` : NONE;
      const cells = [
        build("td", { class: "track" }, build("span", { class: "rail" }, bar, mark)),
        build("td", { class: "number" }, `${figure(point.time)} µs${times}`),
        build("td", { class: "number" }, over),
      ];
      return build("tr", {}, name, ...cells, why ? build("td", { class: "why" }, why) : null);
    });
    const heads = ["synthesizer", "", "time", "over the bound"].map((text, at) =>
      text ? build("th", { scope: "col", class: at > 1 ? "number" : null }, text) : build("td", {}),
    );
    const table = build(
      "table",
      { class: "bars", "aria-label": "Time of each synthesizer" },
      build("thead", {}, build("tr", {}, ...heads)),
      build("tbody", {}, ...lines),
    );
    return build(
      "div",
      { class: "scrolled", role: "region", "aria-label": "Time of each synthesizer", tabindex: "0" },
      table,
    );
  }

  /** The schedules that are in the page, one of which is played; why there are no others. */
  _schedules(number, summary) {
    const here = this.meta.schedules.filter((each) => each.problem === number);
    const section = build("div", { class: "schedules" });
    const maker = (each) => this.meta.looks[each.series].text;
    if (here.length) {
      const stage = build("div", { class: "stage" });
      const choice = build(
        "select",
        { id: "schedule", change: () => this._play(here[choice.selectedIndex], stage) },
        ...here.map((each) => build("option", {}, `${maker(each)}, ${shortTime(each.time_us)}`)),
      );
      section.append(build("p", {}, build("label", { for: "schedule" }, "Schedule of "), choice), stage);
      this._play(here[0], stage);
    }
    const refused = this.meta.refused.filter((each) => each.problem === number);
    if (refused.length) {
      const lines = refused.map((each) => build("li", {}, `${maker(each)}: ${each.reason}`));
      section.append(build("p", {}, "These could not be put into this page:"), build("ul", {}, ...lines));
    }
    const worked = Array.from({ length: summary.length }, (_, at) => summary.column("status").at(at)).filter(
      (status) => status === "ok",
    ).length;
    const left = worked - here.length - refused.length;
    if (!worked) section.append(build("p", { class: "remark" }, "Nobody made a schedule."));
    else if (left > 0) {
      const were = `${counted(left, "schedule")} of this problem ${left === 1 ? "was" : "were"}`;
      const said = `${were} left out to keep the page small; more of them come with collbench report --players N.`;
      section.append(build("p", { class: "remark" }, said));
    }
    return section;
  }

  async _play(schedule, stage) {
    this.player?.destroy();
    this.player = null;
    const element = document.getElementById(`schedule-${schedule.id}`);
    const data = JSON.parse(new TextDecoder().decode(await inflated(element.textContent)));
    // The reader may have gone on while it was inflated.
    if (!stage.isConnected || this.player) return;
    stage.replaceChildren();
    this.player = collbenchPlayer(stage, data);
  }
}

/** Columns that are the same in all rows of a problem. */
const OF_PROBLEM = [
  "topology",
  "collective",
  "size",
  "chunks",
  "group",
  "root",
  "pairs",
  "latency",
  "switching",
  "bound_us",
];
