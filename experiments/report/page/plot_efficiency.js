// Share of the provable bound that each synthesizer reaches, a panel for each size: experiments/plots/efficiency.py.
// Each has a height of its own within a topology, so that no point hides another.

/** Part of the height of a topology that its points spread over. */
const SPREAD = 0.7;

function efficiencyPanels(points, looks, places, sizes) {
  const series = different(points, "series").sort((a, b) => a - b);
  const height = 70 + places.length * Math.max(30, 8 + 9 * series.length);
  return sizes.map((size) => {
    const here = points.filter((point) => point.size === size);
    const title = `${titleOf(points[0].collective)}, ${bytes(size)}`;
    return panels.panel(title, height, () => efficiencyPanel(here, looks, places, series));
  });
}

function efficiencyPanel(points, looks, places, series) {
  const at = new Map(places.map((place, group) => [place, group]));
  const lane = (point) =>
    at.get(point.place) - SPREAD / 2 + ((series.indexOf(point.series) + 0.5) * SPREAD) / series.length;
  const drawn = points.filter((point) => point.worked && !Number.isNaN(point.efficiency));
  const traces = [...grouped(drawn, "series")].map(([of, those]) => ({
    name: plain(looks[of].text),
    mode: "markers",
    x: those.map((point) => 100 * point.efficiency),
    y: those.map(lane),
    marker: { symbol: looks[of].symbol, size: 9, color: looks[of].colour },
    hovertemplate: `${plain(looks[of].text)}<br>%{text}<extra></extra>`,
    text: those.map((point) => `${plain(point.place)}<br>${share(point.efficiency)}, ${shortTime(point.time)}`),
    customdata: those.map((point) => point.problem),
  }));
  const missing = points.filter((point) => !point.worked);
  traces.push({
    mode: "text",
    x: missing.map(() => 1),
    y: missing.map(lane),
    text: missing.map((point) => plain(`${looks[point.series].text}: ${absence(point.status)}`)),
    textposition: "middle right",
    textfont: { size: 9.5, color: colour("soft") },
    hoverinfo: "skip",
  });
  const bound = {
    type: "line",
    x0: 100,
    x1: 100,
    yref: "paper",
    y0: 0,
    y1: 1,
    line: { color: colour("ink"), width: 2.2 },
  };
  const between = places.slice(1).map((_, group) => ({
    type: "line",
    xref: "paper",
    x0: 0,
    x1: 1,
    y0: group + 0.5,
    y1: group + 0.5,
    layer: "below",
    line: { color: colour("line"), width: 1 },
  }));
  const most = drawn.reduce((top, point) => Math.max(top, 100 * point.efficiency), 100);
  return {
    traces,
    layout: {
      shapes: [bound, ...between],
      xaxis: { title: { text: "efficiency (bound ÷ time, %)" }, range: [0, 1.05 * most] },
      yaxis: {
        tickvals: places.map((_, group) => group),
        ticktext: places.map((place) => plain(place).replace("@", "<br>@").replaceAll(", ", ",<br>")),
        range: [places.length - 0.5, -0.5],
        showgrid: false,
        zeroline: false,
        ticks: "",
      },
    },
  };
}
