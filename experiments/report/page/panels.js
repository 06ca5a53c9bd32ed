// Panels of plots. Plotly is in the page as text that nobody has read yet: it is evaluated for the first panel that
// comes into view, and a panel is drawn when it comes into view itself.

/** Plotly, evaluated once. */
function plotly() {
  if (!window.Plotly) {
    const source = document.getElementById("plotly");
    document.head.append(build("script", {}, source.textContent));
    source.remove();
  }
  return window.Plotly;
}

/** Text for plotly, which takes some HTML in labels for what it is. */
function plain(text) {
  return String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** A colour of the style sheet, as it is now. */
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

const CONFIG = {
  displaylogo: false,
  responsive: true,
  modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]],
  toImageButtonOptions: { format: "svg" },
};

/** Settings of all plots, in the colours of the page, with some of their own. */
function layoutOf(own) {
  const axis = {
    gridcolor: colour("line"),
    linecolor: colour("faint"),
    zerolinecolor: colour("faint"),
    tickcolor: colour("faint"),
    ticks: "outside",
    ticklen: 4,
    automargin: true,
  };
  const merged = {
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: colour("ink") },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    margin: { l: 56, r: 12, t: 30, b: 46 }, // the bar of tools stands at the top, on no point
    modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("faint"), activecolor: colour("ink") },
    showlegend: false,
    hovermode: "closest",
    hoverlabel: { bgcolor: colour("raised"), bordercolor: colour("faint"), font: { color: colour("ink") } },
    ...own,
  };
  for (const name of ["xaxis", "yaxis"]) merged[name] = { ...axis, ...own[name] };
  return merged;
}

/** A logarithmic axis of sizes, with ticks at some of them that stand clear of each other. */
function sizeAxis(sizes) {
  const least = Math.log10(sizes[sizes.length - 1] / sizes[0]) / 6;
  const tickvals = [];
  for (const size of spread(sizes, 5)) {
    if (!tickvals.length || Math.log10(size / tickvals[tickvals.length - 1]) >= least) tickvals.push(size);
  }
  return { type: "log", tickvals, ticktext: tickvals.map(bytes), title: { text: "size" } };
}

/** A logarithmic axis of synthesis times in s, with ticks that are said in ms and µs where they are short. */
function secondsAxis(seconds) {
  let [least, most] = [Infinity, 0];
  for (const each of seconds) [least, most] = [Math.min(least, each), Math.max(most, each)];
  const [low, high] = [Math.log10(least) - 0.25, Math.log10(most) + 0.25];
  const steps = high - low > 3 ? [1] : [1, 2, 5];
  const ticks = [];
  for (let decade = Math.floor(low); decade <= high; decade++) ticks.push(...steps.map((step) => step * 10 ** decade));
  const tickvals = ticks.filter((tick) => Math.log10(tick) >= low && Math.log10(tick) <= high);
  const ticktext = tickvals.map((tick) => shortTime(1e6 * tick));
  return { type: "log", title: { text: "synthesis time" }, range: [low, high], tickvals, ticktext };
}

/** The panels of the page, drawn as they come into view. */
const panels = {
  _drawings: new WeakMap(),
  _drawn: new Set(),
  _observer: new IntersectionObserver(
    (seen) => {
      for (const { isIntersecting, target } of seen) if (isIntersecting) panels._draw(target);
    },
    { rootMargin: "100px" },
  ),

  /**
   * A figure that draws itself.
   * @param {string} title
   * @param {number} height  in pixels
   * @param {() => {traces: object[], layout: object}} drawing  asked when it is drawn, in the colours of that moment
   * @param {...Node} below
   */
  panel(title, height, drawing, ...below) {
    const canvas = build("div", { class: "canvas", style: `height:${height}px` });
    this._drawings.set(canvas, drawing);
    this._observer.observe(canvas);
    return build("figure", { class: "panel", "aria-label": title }, build("figcaption", {}, title), canvas, ...below);
  },

  _draw(canvas) {
    this._observer.unobserve(canvas);
    this._drawn.add(canvas);
    const { traces, layout } = this._drawings.get(canvas)();
    plotly().react(canvas, traces, layoutOf(layout), CONFIG);
    if (canvas.dataset.linked) return;
    canvas.dataset.linked = "yes";
    canvas.on("plotly_click", ({ points: [point] }) => {
      if (typeof point.customdata === "number") state.set({ problem: point.customdata }, true);
    });
  },

  /** Draw again what has been drawn: the colours are others. */
  redraw() {
    for (const canvas of this._drawn) if (canvas.isConnected) this._draw(canvas);
  },

  /** Draw what has not been seen yet too: paper shows all. */
  drawAll() {
    for (const canvas of document.querySelectorAll(".canvas")) if (!this._drawn.has(canvas)) this._draw(canvas);
  },

  /** Forget the panels of a host, whose place others take. */
  clear(host) {
    for (const canvas of host.querySelectorAll(".canvas")) {
      this._observer.unobserve(canvas);
      if (this._drawn.delete(canvas)) window.Plotly.purge(canvas);
    }
    host.replaceChildren();
  },
};
