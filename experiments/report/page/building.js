// Elements are built, never written as HTML: labels and reasons are anybody's text, and stay text.

/**
 * An element with attributes (functions are listeners, true an attribute without value, null none) and children.
 * @returns {HTMLElement}
 */
function build(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key, value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== null && value !== false) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** The elements of a drawing of vectors. */
function buildVector(name, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** Paths of the markers, of the size of plotly's, round the origin. */
const MARKERS = {
  circle: "M4,0A4,4 0 1,1 -4,0A4,4 0 1,1 4,0Z",
  square: "M-3.6,-3.6H3.6V3.6H-3.6Z",
  "triangle-up": "M0,-4.4L4.4,3.4H-4.4Z",
  diamond: "M0,-5L5,0L0,5L-5,0Z",
  "triangle-down": "M0,4.4L4.4,-3.4H-4.4Z",
  cross: "M-1.6,-4.6H1.6V-1.6H4.6V1.6H1.6V4.6H-1.6V1.6H-4.6V-1.6H-1.6Z",
  x: "M-4.4,-2.4L-2.4,-4.4L0,-2L2.4,-4.4L4.4,-2.4L2,0L4.4,2.4L2.4,4.4L0,2L-2.4,4.4L-4.4,2.4L-2,0Z",
};

/** A name, or more, behind the mark by which a synthesizer is known in all plots. */
function marked(look, ...text) {
  const path = buildVector("path", { d: MARKERS[look.symbol], fill: `var(${look.property})` });
  const mark = buildVector("svg", { viewBox: "-6 -6 12 12", class: "symbol", "aria-hidden": "true" }, path);
  return build("span", { class: "marked" }, mark, build("span", {}, ...(text.length ? text : [look.text])));
}

/** Offer a file that was made in the page. */
function offer(name, text, type) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = build("a", { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
