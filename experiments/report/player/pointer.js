// Mouse, pen and finger on the two drawings: what is under them is said beside them, and a press chooses its chunk.

function connectPointer(player) {
  connectTopology(player, player.parts.topology, player.topology);
  connectGantt(player, player.parts.gantt, player.chart);
}

function connectTopology(player, canvas, view) {
  const at = (event) => view.at(event.offsetX, event.offsetY, player.state.time);
  canvas.addEventListener("pointermove", (event) => showTip(player, event, at(event)));
  canvas.addEventListener("pointerleave", () => hideTip(player));
  canvas.addEventListener("click", (event) => {
    const found = at(event);
    chooseUnder(player, found);
    showTip(player, event, found); // a finger does not hover
  });
}

/** The chart: a press goes to that time and chooses the chunk under it, dragging goes on through time. */
function connectGantt(player, canvas, chart) {
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    const found = chart.at(event.offsetX, event.offsetY);
    if (event.offsetX >= chart.left) player.goTo(chart.timeAt(event.offsetX));
    chooseUnder(player, found);
    showTip(player, event, found);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (event.buttons & 1) player.goTo(chart.timeAt(event.offsetX));
    showTip(player, event, chart.at(event.offsetX, event.offsetY));
  });
  canvas.addEventListener("pointerleave", () => hideTip(player));
  const zoom = (event) => {
    if (!event.ctrlKey) return; // the page scrolls
    event.preventDefault();
    player.zoom(event.deltaY < 0 ? 1.25 : 0.8, chart.timeAt(event.offsetX));
  };
  canvas.addEventListener("wheel", zoom, { passive: false });
}

function chooseUnder(player, { hop }) {
  if (hop !== undefined) player.choose(player.model.data.hops.chunk[hop]);
}

function hideTip(player) {
  player.parts.tip.hidden = true;
}

function showTip(player, event, found) {
  const { tip, root } = player.parts;
  const text = describe(player, found);
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  const box = root.getBoundingClientRect();
  const left = Math.min(event.clientX - box.left + 12, box.width - tip.offsetWidth - 4);
  tip.style.left = `${Math.max(left, 0)}px`;
  tip.style.top = `${event.clientY - box.top + 16}px`;
}

/** What a drawing has at some place, in words; nothing where it has nothing. */
function describe({ model, chart, state }, { hop, node, link }) {
  if (hop !== undefined) {
    return `chunk ${model.data.hops.chunk[hop]} (${bytesText(model.bytes(hop))}): ${model.hop(hop)}`;
  }
  if (node >= model.data.npus) return model.node(node);
  if (node !== undefined) {
    const wanted = counted(model.data.nodes.wanted[node], "final chunk");
    return `${model.node(node)} holds ${model.held(node, state.time)} of its ${wanted}`;
  }
  if (link === undefined) return "";
  const busy = chart.busy[link] / Math.max(model.total, 1);
  const transfers = counted(model.onLink.of(link).length, "transfer");
  return `${model.link(link)}: ${transfers}, busy ${Math.round(100 * busy)} % of the time`;
}
