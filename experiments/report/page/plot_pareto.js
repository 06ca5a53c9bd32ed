// Efficiency against synthesis time, with the Pareto front, a panel for each collective: experiments/plots/pareto.py.
// Means are over the problems that every synthesizer of the panel solved: nobody gains by leaving hard ones out.

/** Times that the clock cannot tell from nothing are drawn here. */
const LEAST_S = 1e-6;

function paretoPanels(points, looks) {
  const drawn = points
    .filter((point) => point.worked && !Number.isNaN(point.efficiency) && !Number.isNaN(point.synthesis))
    .map((point) => ({ ...point, synthesis: Math.max(point.synthesis, LEAST_S) }));
  return [...grouped(drawn, "collective")].map(([collective, here]) => {
    const { means, common } = meansOf(here);
    const over = common ? `${counted(common, "common problem")}` : "no common problem: each over its own";
    return panels.panel(`${titleOf(collective)} (${over})`, 340, () => paretoPanel(here, means, looks));
  });
}

/** Of each series the geometric mean of the time and the mean efficiency over the common problems, and their number. */
function meansOf(points) {
  const bySeries = [...grouped(points, "series")].sort((a, b) => a[0] - b[0]);
  const common = new Set(
    [...grouped(points, "problem")].filter(([, of]) => of.length === bySeries.length).map(([problem]) => problem),
  );
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const means = bySeries.map(([series, of]) => {
    const chosen = common.size ? of.filter((point) => common.has(point.problem)) : of;
    const cost = Math.exp(mean(chosen.map((point) => Math.log(point.synthesis))));
    return { series, cost, quality: mean(chosen.map((point) => point.efficiency)) };
  });
  return { means, common: common.size };
}

/** Those that no other one beats in both cost and quality, by rising cost. */
function frontOf(means) {
  const kept = [];
  for (const mean of [...means].sort((a, b) => a.cost - b.cost || b.quality - a.quality)) {
    if (!kept.length || mean.quality > kept[kept.length - 1].quality) kept.push(mean);
  }
  return kept;
}

function paretoPanel(points, means, looks) {
  const traces = [...grouped(thinned(points), "series")].map(([series, of]) => ({
    name: plain(looks[series].text),
    mode: "markers",
    x: of.map((point) => point.synthesis),
    y: of.map((point) => 100 * point.efficiency),
    marker: { symbol: looks[series].symbol, size: 6, color: looks[series].colour, opacity: 0.35 },
    hovertemplate: `${plain(looks[series].text)}<br>%{text}<extra></extra>`,
    text: of.map(
      (point) => `${plain(point.title)}<br>${share(point.efficiency)} in ${shortTime(1e6 * point.synthesis)}`,
    ),
    customdata: of.map((point) => point.problem),
  }));
  const front = frontOf(means);
  traces.push({
    name: "Pareto front",
    mode: "lines+markers",
    x: front.map((mean) => mean.cost),
    y: front.map((mean) => 100 * mean.quality),
    line: { color: colour("ink"), width: 1.4, dash: "dash", shape: "hv" },
    marker: { symbol: "circle-open", size: 22, color: colour("ink"), line: { width: 1.4 } },
    hoverinfo: "skip",
  });
  for (const { series, cost, quality } of means) {
    traces.push({
      name: plain(looks[series].text),
      mode: "markers",
      x: [cost],
      y: [100 * quality],
      marker: {
        symbol: looks[series].symbol,
        size: 13,
        color: looks[series].colour,
        line: { color: colour("ink"), width: 1.2 },
      },
      hovertemplate: `${plain(looks[series].text)}, mean<br>%{text}<extra></extra>`,
      text: [`${share(quality)} in ${shortTime(1e6 * cost)}`],
    });
  }
  const most = points.reduce((top, point) => Math.max(top, 100 * point.efficiency), 100);
  const xaxis = secondsAxis(points.map((point) => point.synthesis));
  return {
    traces,
    layout: { xaxis, yaxis: { title: { text: "efficiency (bound ÷ time, %)" }, range: [0, 1.05 * most] } },
  };
}
