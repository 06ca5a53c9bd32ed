// Synthesis time against NPUs on log-log axes, with power laws fitted to each synthesizer on each kind of network that
// grows: experiments/plots/scaling.py.

const DASHES = ["solid", "dash", "dot", "dashdot"];

function scalingPanels(points, looks) {
  const drawn = points.filter((point) => point.worked && point.synthesis > 0 && point.npus > 0);
  return [...grouped(drawn, "collective")].map(([collective, here]) => {
    const laws = lawsOf(here);
    const said = laws.map(({ series, family, exponent }) =>
      build(
        "li",
        {},
        marked(looks[series], `${looks[series].text}, ${family}: ∝ NPUs`, build("sup", {}, exponent.toFixed(2))),
      ),
    );
    const below = laws.length ? [build("ul", { class: "laws" }, ...said)] : [];
    return panels.panel(titleOf(collective), 340, () => scalingPanel(here, laws, looks), ...below);
  });
}

/** The laws that can be fitted, with the NPUs between which each holds. */
function lawsOf(points) {
  const laws = [];
  for (const [series, of] of [...grouped(points, "series")].sort((a, b) => a[0] - b[0])) {
    for (const [family, those] of grouped(of, "family")) {
      const npus = those.map((point) => point.npus);
      const law = powerLaw(
        npus,
        those.map((point) => point.synthesis),
      );
      const dash = DASHES[laws.filter((other) => other.series === series).length % DASHES.length];
      npus.sort((a, b) => a - b);
      if (law) laws.push({ series, family, dash, ends: [npus[0], npus[npus.length - 1]], ...law });
    }
  }
  return laws;
}

/** seconds = factor · npus^exponent by least squares of the logarithms; null for fewer than three numbers of NPUs. */
function powerLaw(npus, seconds) {
  if (new Set(npus).size < 3) return null;
  const [x, y] = [npus.map(Math.log), seconds.map(Math.log)];
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [middle, height] = [mean(x), mean(y)];
  const slope =
    mean(x.map((value, at) => (value - middle) * (y[at] - height))) / mean(x.map((value) => (value - middle) ** 2));
  return { exponent: slope, factor: Math.exp(height - slope * middle) };
}

function scalingPanel(points, laws, looks) {
  const traces = [...grouped(thinned(points), "series")].map(([series, of]) => ({
    name: plain(looks[series].text),
    mode: "markers",
    x: of.map((point) => point.npus),
    y: of.map((point) => point.synthesis),
    marker: { symbol: `${looks[series].symbol}-open`, size: 8, color: looks[series].colour, line: { width: 1.6 } },
    hovertemplate: `${plain(looks[series].text)}<br>%{text}<extra></extra>`,
    text: of.map((point) => `${plain(point.title)}<br>${point.npus} NPUs, ${shortTime(1e6 * point.synthesis)}`),
    customdata: of.map((point) => point.problem),
  }));
  for (const { series, ends, exponent, factor, dash } of laws) {
    const y = ends.map((npus) => factor * npus ** exponent);
    traces.push({
      mode: "lines",
      x: ends,
      y,
      line: { color: looks[series].colour, width: 1.4, dash },
      hoverinfo: "skip",
    });
  }
  const npus = spread(
    different(points, "npus").sort((a, b) => a - b),
    6,
  );
  const xaxis = {
    type: "log",
    title: { text: "NPUs" },
    tickvals: npus,
    ticktext: npus.map((each) => each.toLocaleString("en-US")),
  };
  if (npus.length === 1) xaxis.range = [Math.log10(npus[0]) - 0.5, Math.log10(npus[0]) + 0.5];
  const yaxis = secondsAxis(points.map((point) => point.synthesis));
  return { traces, layout: { xaxis, yaxis } };
}
