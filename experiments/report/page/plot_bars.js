// Speed of each synthesizer relative to one of them, groups of bars by topology, a panel for each size, with the bound
// on the same scale: experiments/plots/bars.py.

/** Part of the space of a group that its bars fill. */
const FILLED = 0.82;

/** Part of the height of a panel that a figure written upright takes. */
const ROOM = 0.18;

/** The one to compare with: Ring where it takes part, else who solved most. */
function baseOf(points, looks) {
  const solved = new Map(
    [
      ...grouped(
        points.filter((point) => point.worked),
        "series",
      ),
    ].map(([series, of]) => [series, of.length]),
  );
  const ring = looks.findIndex((look) => look.label === "ring");
  if (solved.has(ring)) return ring;
  return [...solved].sort((a, b) => b[1] - a[1] || a[0] - b[0])[0]?.[0];
}

function barPanels(points, looks, places, sizes, base) {
  return sizes.map((size) => {
    const here = points.filter((point) => point.size === size);
    return panels.panel(`${titleOf(points[0].collective)}, ${bytes(size)}`, 320, () =>
      barPanel(here, looks, places, base),
    );
  });
}

function barPanel(points, looks, places, base) {
  const worked = points.filter((point) => point.worked);
  const at = new Map(places.map((place, group) => [place, group]));
  const unit = new Map(worked.filter((point) => point.series === base).map((point) => [point.place, point.time]));
  const series = different(points, "series").sort((a, b) => a - b);
  const width = FILLED / series.length;
  const left = (place, of) => at.get(place) - FILLED / 2 + (series.indexOf(of) + 0.5) * width;
  const speed = (point) => (point.time ? unit.get(point.place) / point.time : 0);
  const bars = grouped(
    worked.filter((point) => unit.get(point.place)),
    "series",
  );
  const total = (of) => (bars.get(of) ?? []).reduce((sum, point) => sum + speed(point), 0);
  const best = series.reduce((found, of) => (total(of) > total(found) ? of : found), series[0]);
  const bounds = new Map(
    points.filter((point) => point.bound > 0 && unit.get(point.place)).map((point) => [point.place, point]),
  );
  const marks = [...bounds.values()];
  const top = Math.max(
    ...[...bars.values()].flat().map(speed),
    ...marks.map((point) => unit.get(point.place) / point.bound),
  );
  const traces = [...bars].map(([of, drawn]) => ({
    type: "bar",
    name: plain(looks[of].text),
    x: drawn.map((point) => left(point.place, of)),
    y: drawn.map(speed),
    width: width * 0.94,
    marker: { color: looks[of].colour },
    text: of === best ? drawn.map((point) => speed(point).toFixed(2)) : undefined,
    textposition: drawn.map((point) => (speed(point) > ROOM * top ? "inside" : "outside")),
    textangle: -90,
    textfont: { size: 11 },
    insidetextanchor: "end",
    constraintext: "none",
    hovertemplate: `${plain(looks[of].text)}<br>%{hovertext}<extra></extra>`,
    hovertext: drawn.map(
      (point) =>
        `${plain(point.place)}<br>${speed(point).toFixed(3)} × ${plain(looks[base].text)}, ${shortTime(point.time)}`,
    ),
    customdata: drawn.map((point) => point.problem),
  }));
  traces.push({
    name: "Bound (provable)",
    mode: "lines",
    x: marks.flatMap(({ place }) => [at.get(place) - 0.46, at.get(place) + 0.46, null]),
    y: marks.flatMap((point) =>
      Array(2)
        .fill(unit.get(point.place) / point.bound)
        .concat(null),
    ),
    line: { color: colour("ink"), width: 2.2 },
    hovertemplate: "Bound: %{y:.3f}<extra></extra>",
  });
  const missing = points
    .filter((point) => !point.worked)
    .map((point) => [left(point.place, point.series), absence(point.status)]);
  for (const place of different(worked, "place")) {
    if (!unit.get(place)) missing.push([at.get(place), `no ${looks[base].text} to compare`]);
  }
  const annotations = missing.map(([x, text]) => ({
    x,
    y: 0,
    text: plain(text),
    textangle: -90,
    showarrow: false,
    yanchor: "bottom",
    font: { size: 10, color: colour("soft") },
  }));
  const line = {
    type: "line",
    xref: "paper",
    x0: 0,
    x1: 1,
    y0: 1,
    y1: 1,
    layer: "below",
    line: { color: colour("soft"), dash: "dash", width: 1 },
  };
  const labels = places.map((place) => plain(place).replace("@", "<br>@").replaceAll(", ", ",<br>"));
  return {
    traces,
    layout: {
      annotations,
      shapes: [line],
      xaxis: {
        tickvals: places.map((_, group) => group),
        ticktext: labels,
        range: [-0.6, places.length - 0.4],
        showgrid: false,
        zeroline: false,
        ticks: "",
      },
      yaxis: { title: { text: `speed ÷ ${plain(looks[base].text)}` }, rangemode: "tozero" },
    },
  };
}
