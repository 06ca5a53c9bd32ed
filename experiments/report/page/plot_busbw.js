// Bus bandwidth against size, a panel for each topology, with the provable bound: experiments/plots/busbw.py.

function busbwPanels(points, looks) {
  return different(points, "place").map((place) => {
    const here = points.filter((point) => point.place === place && point.size > 0);
    return panels.panel(place, 280, () => busbwPanel(here, looks));
  });
}

function busbwPanel(points, looks) {
  const sizes = different(points, "size").sort((a, b) => a - b);
  const limits = new Map(points.filter((point) => point.boundBusbw > 0).map((point) => [point.size, point]));
  const bound = [...limits.values()].sort((a, b) => a.size - b.size);
  const traces = [
    {
      name: "Bound (provable)",
      x: bound.map((point) => point.size),
      y: bound.map((point) => point.boundBusbw),
      mode: bound.length > 1 ? "lines" : "markers",
      line: { color: colour("ink"), width: 2.2 },
      marker: { symbol: "line-ew-open", size: 22, color: colour("ink"), line: { width: 2.2 } },
      hovertemplate: "Bound<br>%{text}<extra></extra>",
      text: bound.map((point) => `${bytes(point.size)}: ${figure(point.boundBusbw, 2)} GB/s`),
      customdata: bound.map((point) => point.problem),
    },
  ];
  for (const [series, of] of grouped(points, "series")) {
    const look = looks[series];
    const drawn = of.filter((point) => point.worked && !Number.isNaN(point.busbw)).sort((a, b) => a.size - b.size);
    traces.push({
      name: plain(look.text),
      x: drawn.map((point) => point.size),
      y: drawn.map((point) => point.busbw),
      mode: "lines+markers",
      line: { color: look.colour, width: 1.6 },
      // Hollow, so that a point under another can still be seen.
      marker: { symbol: `${look.symbol}-open`, size: 8, color: look.colour, line: { width: 1.6 } },
      hovertemplate: `${plain(look.text)}<br>%{text}<extra></extra>`,
      text: drawn.map(
        (point) => `${bytes(point.size)}: ${figure(point.busbw, 2)} GB/s, ${share(point.efficiency)} of the bound`,
      ),
      customdata: drawn.map((point) => point.problem),
    });
  }
  const xaxis = sizeAxis(sizes);
  if (sizes.length === 1) xaxis.range = [Math.log10(sizes[0]) - 1, Math.log10(sizes[0]) + 1];
  return { traces, layout: { xaxis, yaxis: { title: { text: "busbw (GB/s)" }, rangemode: "tozero" } } };
}
