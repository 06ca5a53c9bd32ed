// Colours: from the custom properties of `player.css`, in its light or dark half.

/** The colours as the page has them now; `colour(chunk)` is that of a chunk, `on(chunk)` that of text on it. */
function themeOf(root, data) {
  const style = getComputedStyle(root);
  const read = (name) => style.getPropertyValue(`--player-${name}`).trim();
  const few = read("few").split(/\s+/).map(channels);
  const many = read("many").split(/\s+/).map(channels);
  const { count } = data.colours;
  const classes = Array.from({ length: count }, (_, place) =>
    count <= few.length ? few[place] : between(many, place / (count - 1)),
  );
  const ofClass = classes.map(named);
  return {
    ink: read("ink"),
    muted: read("muted"),
    idle: read("idle"),
    line: read("line"),
    surface: read("surface"),
    critical: read("critical"),
    held: read("held"),
    many: many.map(named),
    ofClass,
    colour: (chunk) => ofClass[data.chunks.colour[chunk]],
    on: (chunk) => (isLight(classes[data.chunks.colour[chunk]]) ? "#000" : "#fff"),
  };
}

/** Red, green and blue of `#rrggbb`. */
function channels(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

/** The colour at a part of the way along some stops. */
function between(stops, part) {
  const at = part * (stops.length - 1);
  const stop = Math.min(Math.floor(at), stops.length - 2);
  return stops[stop].map((from, channel) => Math.round(from + (at - stop) * (stops[stop + 1][channel] - from)));
}

function named(colour) {
  return `rgb(${colour.join(" ")})`;
}

/** Whether black stands out more from a colour than white does: by relative luminance, after WCAG. */
function isLight(colour) {
  const [red, green, blue] = colour.map((value) => (value / 255) ** 2.2);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.18;
}

/** Keep the root's class in step with the system's wish, or with `data-theme` of the page, which comes first. */
function followTheme(root, changed) {
  const wish = matchMedia("(prefers-color-scheme: dark)");
  const update = () => {
    const { theme } = document.documentElement.dataset;
    root.classList.toggle("player-dark", theme === "dark" || (theme !== "light" && wish.matches));
    changed();
  };
  const observer = new MutationObserver(update);
  observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  wish.addEventListener("change", update);
  update();
  return () => {
    observer.disconnect();
    wish.removeEventListener("change", update);
  };
}
