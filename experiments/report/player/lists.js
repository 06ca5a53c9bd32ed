// What is highlighted, as text: the path of a chunk and the critical path, each entry a button that goes to its time.

/** Entries of a list; of more the first are shown. */
const LISTED = 400;

const REASONS = {
  start: "from the start",
  data: "once its data had come",
  link: "once its link was free",
  route: "behind the hop before it on its route",
};

class Lists {
  constructor(parts, model, goTo) {
    Object.assign(this, { parts, model, goTo });
    this.entries = new Map();
    this.fillCritical();
  }

  /** List the transfers of a chunk by time; of no chunk (−1), nothing. */
  showPath(chunk) {
    const { parts, model } = this;
    parts.pathSection.hidden = chunk < 0;
    if (chunk < 0) return;
    const hops = [...model.ofChunk.of(chunk)];
    const size = bytesText(model.data.chunks.bytes[chunk]);
    parts.pathTitle.textContent = `Chunk ${chunk}: ${size}, ${counted(hops.length, "transfer")}`;
    this.fill(parts.path, hops, (hop) => ({ start: model.start[hop], end: model.end[hop], text: model.hop(hop) }));
  }

  fillCritical() {
    const { parts, model } = this;
    const { hop: hops, reason, until, waited } = model.data.critical;
    const { chunk, link } = model.data.hops;
    parts.criticalTitle.textContent = `Critical path: ${counted(hops.length, "transfer")}`;
    this.fill(parts.criticalPath, [...hops.keys()], (at) => {
      const hop = hops[at];
      const [start, end] = [model.start[hop], until[at]];
      const wait = waited[at] ? ` (waited ${model.time(waited[at])})` : "";
      const what = `chunk ${chunk[hop]}, ${model.link(link[hop])} at ${model.span(start, end)}`;
      return { start, end, text: `${what}, ${REASONS[reason[at]]}${wait}` };
    });
  }

  fill(list, items, entryOf) {
    const entries = items.slice(0, LISTED).map((item) => {
      const entry = entryOf(item);
      const button = make("button", { type: "button" }, entry.text);
      button.addEventListener("click", () => this.goTo(entry.start));
      return { ...entry, row: make("li", {}, button) };
    });
    const rows = entries.map(({ row }) => row);
    const more = items.length - rows.length;
    if (more > 0) rows.push(make("li", {}, `… and ${more.toLocaleString("en")} more`));
    list.replaceChildren(...rows);
    this.entries.set(list, entries);
  }

  /** Mark the entries that are under way. */
  mark(time) {
    for (const entries of this.entries.values()) {
      for (const { start, end, row } of entries) row.classList.toggle("player-now", start <= time && time < end);
    }
  }
}
