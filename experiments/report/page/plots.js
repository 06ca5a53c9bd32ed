// The section of plots: over all collectives first, then by topology for one of them.

class Plots {
  /**
   * @param {HTMLElement} host
   * @param {object[]} looks  label, text, colour and symbol of each series
   */
  constructor(host, looks) {
    this.looks = looks;
    this.hidden = new Set();
    this.pages = {};
    this.legend = build("ul", { class: "legend", "aria-label": "Synthesizers: press to hide or show" });
    this.absent = build("p", { class: "remark" });
    this.collective = build("select", { id: "collective", change: () => state.set({ draw: this.collective.value }) });
    this.kinds = [
      this._kind(
        "pareto",
        "Quality against cost",
        "Efficiency against synthesis time. Large: mean efficiency and geometric mean of the time, over the problems " +
          "that all solved. Small: each problem, or some where there are many. Front: nobody else is both faster to " +
          "make and more efficient.",
      ),
      this._kind(
        "scaling",
        "Synthesis time against NPUs",
        "A point for each topology and size, or some where there are many; median of seeds. Lines: power laws, " +
          "fitted where a kind of network grows through three numbers of NPUs or more.",
      ),
      this._kind(
        "busbw",
        "Bus bandwidth against size",
        "As nccl-tests counts it; the bound is what no schedule can beat.",
      ),
      this._kind(
        "bars",
        "Speed relative to one synthesizer",
        "Verified schedules, simulated (α–β). n/a: not supported. The mark across a group is the provable bound.",
      ),
      this._kind("efficiency", "Share of the bound", "bound ÷ time. n/a: not supported."),
    ];
    const [pareto, scaling, ...byTopology] = this.kinds.map((kind) => kind.section);
    const chooser = build(
      "p",
      { class: "chooser" },
      build("label", { for: "collective" }, "Plots by topology for "),
      this.collective,
    );
    host.replaceChildren(this.legend, pareto, scaling, chooser, this.absent, ...byTopology);
  }

  _kind(name, title, said) {
    const grid = build("div", { class: `panels ${name}` });
    const remark = build("p", { class: "remark" });
    const pager = build("nav", { class: "pager", "aria-label": `Topologies of ${title.toLowerCase()}` });
    const section = build(
      "section",
      { class: "kind", "data-kind": name },
      build("h3", {}, title),
      build("p", {}, said),
      remark,
      pager,
      grid,
    );
    return { name, section, grid, remark, pager };
  }

  /** Draw the plots of points; panels draw themselves when they come into view. */
  show(points) {
    this.points = points;
    this.pages = {};
    const worked = points.filter((point) => point.worked);
    const series = different(worked, "series").sort((a, b) => a - b);
    this.legend.replaceChildren(...series.map((each) => this._entry(each)));
    this.collectives = different(worked, "collective");
    this.collective.replaceChildren(...this.collectives.map((name) => build("option", { value: name }, titleOf(name))));
    this.shown = null;
    this.turn();
  }

  /** Follow the choice of a collective. */
  turn() {
    const asked = state.get("draw");
    const collective = this.collectives.includes(asked) ? asked : (this.collectives[0] ?? "");
    if (collective === this.shown) return;
    this.shown = this.collective.value = collective;
    this._tellAbsent();
    this.pages = {};
    this._fill(this.kinds);
  }

  _entry(series) {
    const look = this.looks[series];
    const toggle = () => {
      if (!this.hidden.delete(series)) this.hidden.add(series);
      button.setAttribute("aria-pressed", String(!this.hidden.has(series)));
      this._fill(this.kinds);
    };
    const button = build(
      "button",
      { type: "button", "aria-pressed": String(!this.hidden.has(series)), click: toggle },
      marked(look),
    );
    return build("li", {}, button);
  }

  /** Name those who made no schedule of the collective chosen: its plots leave them out. */
  _tellAbsent() {
    const points = this.points.filter((point) => point.collective === this.shown);
    const without = [...grouped(points, "series")].filter(([, of]) => !of.some((point) => point.worked));
    const said = without.map(([series, [first]]) => `${this.looks[series].text} (${absence(first.status)})`);
    this.absent.textContent = said.length ? `No schedule: ${said.join(", ")}.` : "";
  }

  _fill(kinds) {
    const points = this.points.filter((point) => !this.hidden.has(point.series));
    const worked = points.filter((point) => point.worked);
    for (const kind of kinds) {
      panels.clear(kind.grid);
      kind.remark.textContent = "";
      kind.pager.hidden = true;
      if (!worked.length) {
        kind.remark.textContent = "Nothing that worked is chosen, so there is nothing to draw.";
        continue;
      }
      if (kind.name === "pareto") kind.grid.append(...paretoPanels(worked, this.looks));
      else if (kind.name === "scaling") kind.grid.append(...scalingPanels(worked, this.looks));
      else
        this._fillByTopology(
          kind,
          points.filter((point) => point.collective === this.shown),
        );
      if (!kind.grid.children.length)
        kind.remark.textContent = "No run that worked has the figures that this is drawn from.";
      kind.grid.classList.toggle("single", kind.grid.children.length === 1);
    }
  }

  _fillByTopology(kind, points) {
    const entrants = new Set(points.filter((point) => point.worked).map((point) => point.series));
    points = points.filter((point) => entrants.has(point.series));
    const places = different(points, "place");
    const most = { busbw: 12, bars: innerWidth < 700 ? 3 : 9, efficiency: 12 }[kind.name];
    const pages = paged(places, most);
    const page = Math.min(this.pages[kind.name] ?? 0, pages.length - 1);
    this._drawPager(kind, page, pages);
    const chosen = new Set(pages[page]);
    const here = points.filter((point) => chosen.has(point.place));
    if (!here.some((point) => point.worked)) return;
    if (kind.name === "busbw") {
      kind.grid.append(...busbwPanels(here, this.looks));
      return;
    }
    const { shown, all } = shownSizes(here.filter((point) => point.worked));
    if (all > shown.length) kind.remark.textContent = `${shown.length} of ${all} sizes are shown; choose others above.`;
    if (kind.name === "efficiency") kind.grid.append(...efficiencyPanels(here, this.looks, pages[page], shown));
    else kind.grid.append(...barPanels(here, this.looks, pages[page], shown, baseOf(points, this.looks)));
  }

  _drawPager(kind, page, pages) {
    kind.pager.hidden = pages.length === 1;
    const before = pages.slice(0, page).reduce((sum, those) => sum + those.length, 0);
    const all = pages.reduce((sum, those) => sum + those.length, 0);
    const go = (to) => {
      this.pages[kind.name] = to;
      this._fill([kind]);
    };
    const step = (text, to) => {
      const button = build("button", { type: "button", click: () => go(to) }, text);
      button.disabled = to < 0 || to >= pages.length;
      return button;
    };
    const where = build(
      "span",
      { class: "where", role: "status" },
      `topologies ${before + 1}–${before + pages[page].length} of ${all}`,
    );
    kind.pager.replaceChildren(step("‹ Previous", page - 1), where, step("Next ›", page + 1));
  }
}
