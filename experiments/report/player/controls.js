// The elements of the player: what can be pressed, moved and read. What they do is said in `player.js`.

/** An element with properties and attributes (those with a dash, and `role`), around children. */
function make(tag, settings = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(settings)) {
    if (name.includes("-") || name === "role") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children);
  return element;
}

const ICONS = {
  play: "M4 2v12l10-6z",
  pause: "M3 2h4v12H3zM9 2h4v12H9z",
  first: "M2 2h2v12H2zM14 2v12L5 8z",
  previous: "M12 2v12L4 8z",
  next: "M4 2v12l8-6z",
  last: "M12 2h2v12h-2zM2 2v12l9-6z",
};

/** A drawing of 16 by 16, in the colour of the text. */
function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICONS[name]);
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  svg.append(path);
  return svg;
}

function button(label, content, shortcut = "") {
  const title = shortcut ? `${label} (${shortcut})` : label;
  return make("button", { type: "button", title, "aria-label": label }, content);
}

/** Speeds, as parts of the pace at which a schedule takes ten seconds. */
const SPEEDS = [0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5];
const SECONDS = 10;

/** All elements of a player, by name; `root` holds the others. */
function build(model) {
  const { data } = model;
  const parts = {
    topology: make("canvas", { className: "player-topology", role: "img" }),
    gantt: make("canvas", { className: "player-gantt", role: "img" }),
    tip: make("div", { className: "player-tip", hidden: true }),
    time: make("span", { className: "player-time" }),
    slider: make("input", { type: "range", min: 0, max: data.total, step: "any", value: 0, "aria-label": "Time" }),
    first: button("To the start", icon("first"), "Home"),
    previous: button("Previous event", icon("previous"), "←"),
    play: button("Play", icon("play"), "space"),
    next: button("Next event", icon("next"), "→"),
    last: button("To the end", icon("last"), "End"),
    speed: make("select", {}, ...SPEEDS.map((speed) => make("option", { value: speed }, `${speed}×`))),
    pace: make("span", { className: "player-muted" }),
    chunk: chunkChoice(model),
    critical: make("button", { type: "button", title: "Critical path (c)", "aria-pressed": "false" }, "Critical path"),
    done: make("dd"),
    bytes: make("dd"),
    busy: make("dd"),
    said: make("p", { className: "player-said", role: "status", "aria-live": "polite" }),
    closer: button("Zoom in", "+", "+"),
    wider: button("Zoom out", "−", "−"),
    note: make("span", { className: "player-muted" }),
    pathTitle: make("h3"),
    path: make("ol"),
    criticalTitle: make("h3"),
    criticalPath: make("ol"),
  };
  parts.speed.value = 1;
  parts.pathSection = make("section", { className: "player-list", hidden: true }, parts.pathTitle, parts.path);
  parts.criticalSection = make(
    "section", { className: "player-list", hidden: true }, parts.criticalTitle, parts.criticalPath,
  );
  parts.root = make(
    "div", { className: "player", tabIndex: -1, role: "group", "aria-label": `Schedule player: ${titleOf(data)}` },
    make(
      "h2", { className: "player-title" },
      titleOf(data), " ", make("span", { className: "player-muted" }, `links: ${data.links_are}`),
    ),
    make("div", { className: "player-stage" }, leftOf(parts, model), rightOf(parts)),
    make("div", { className: "player-lists" }, parts.pathSection, parts.criticalSection),
    parts.said,
    parts.tip,
  );
  return parts;
}

function titleOf(data) {
  return [data.name, data.synthesizer, data.title].filter(Boolean).join(" · ");
}

/** The topology, and below it what moves the time. */
function leftOf(parts, model) {
  const buttons = [parts.first, parts.previous, parts.play, parts.next, parts.last];
  return make(
    "div", { className: "player-left" },
    parts.topology,
    legend(model),
    make("div", { className: "player-scrub" }, parts.slider, parts.time),
    make(
      "div", { className: "player-row" },
      make("span", { className: "player-buttons", role: "group", "aria-label": "Transport" }, ...buttons),
      make("label", {}, "Speed ", parts.speed),
      parts.pace,
    ),
    make("div", { className: "player-row" }, make("label", {}, "Chunk ", parts.chunk), parts.critical),
    make(
      "dl", { className: "player-counts" },
      make("div", {}, make("dt", {}, "Transfers done"), parts.done),
      make("div", {}, make("dt", {}, "Under way"), parts.bytes),
      make("div", {}, make("dt", {}, "Links busy"), parts.busy),
    ),
    make(
      "p", { className: "player-muted player-keys" },
      "Keys: space plays, ← → go from event to event, Home and End to the ends, c shows the critical path, + − zoom " +
        "the chart, Esc clears.",
    ),
  );
}

function rightOf(parts) {
  return make(
    "div", { className: "player-right" },
    make(
      "div", { className: "player-row player-apart" },
      parts.note,
      make("span", { className: "player-buttons", role: "group", "aria-label": "Zoom" }, parts.wider, parts.closer),
    ),
    parts.gantt,
  );
}

/** What colours and shapes mean; `player.js` fills in the colours. */
function legend(model) {
  const { colours, npus } = model.data;
  const few = colours.count <= 8;
  const last = colours.by === "chunk" ? colours.count - 1 : npus - 1;
  const swatches = few
    ? Array.from({ length: colours.count }, (_, place) =>
        make("span", { className: "player-key" }, make("i", { className: "player-swatch" }), String(place)))
    : [make("span", { className: "player-key" }, "0 ", make("i", { className: "player-ramp" }), ` ${last}`)];
  const shapes = model.data.hops.reduce ? ["● copied", "◆ added up (underlined in the chart)"] : [];
  return make(
    "p", { className: "player-legend player-muted" },
    make("span", {}, `Colour: ${colours.by}`), ...swatches, ...shapes.map((text) => make("span", {}, text)),
    make("span", {}, "Filled: share of its final chunks that an NPU holds"),
  );
}

/** A list of the chunks that move. */
function chunkChoice(model) {
  const options = model.moved().map((chunk) => make("option", { value: chunk }, `${chunk}`));
  return make("select", {}, make("option", { value: -1 }, "none"), ...options);
}
