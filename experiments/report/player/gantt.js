// The Gantt chart: a row for each link, a bar while a transfer holds it, and the time as a line across.

/** Links of a chart: all of a small network, of a large one the busiest. */
const ROWS = 48;

/** Pixels of a row, of a chart of few rows, and of the axis below them. */
const ROW = 12;
const WIDE_ROW = 26;
const FEW = 400;
const AXIS = 34;

/** How far the chart is widened at most. */
const ZOOM = 4096;

class GanttView {
  constructor(canvas, model) {
    this.canvas = canvas;
    this.model = model;
    this.still = layer();
    this.busy = model.busyTimes();
    this.zoom = 1;
    this.from = 0;
    this.stale = true;
  }

  /** Choose the links: those of the chosen chunk and of the critical path come before the busiest. */
  choose(state) {
    const { hops, critical, links } = this.model.data;
    const path = state.chunk >= 0 ? this.model.ofChunk.of(state.chunk) : [];
    const highlighted = [...path, ...(state.critical ? critical.hop : [])];
    const wanted = new Set(highlighted.map((hop) => hops.link[hop]));
    this.highlighted = wanted.size > 0;
    const busiest = [...this.busy.keys()].sort((a, b) => this.busy[b] - this.busy[a] || a - b);
    busiest.slice(0, ROWS).forEach((link) => wanted.add(link));
    const chosen = [...wanted].slice(0, ROWS);
    this.rows = chosen.sort((a, b) => links.src[a] - links.src[b] || links.dst[a] - links.dst[b] || a - b);
    this.rowOf = new Map(this.rows.map((link, row) => [link, row]));
    this.row = Math.min(Math.max(FEW / Math.max(this.rows.length, 1), ROW), WIDE_ROW);
    this.bottom = this.rows.length * this.row;
    this.canvas.style.height = `${this.bottom + AXIS}px`;
  }

  /** What is left out, in words; nothing where all links are shown. */
  note() {
    const all = this.model.numLinks;
    const which = this.highlighted ? "the highlighted, then the busiest" : "the busiest";
    const links = this.rows.length < all ? `${this.rows.length} of ${counted(all, "link")}: ${which}` : "";
    const zoomed = this.zoom > 1 ? `${Number(this.zoom.toPrecision(2))}× as wide` : "";
    return [links, zoomed].filter(Boolean).join("; ");
  }

  /** The length of time that is shown. */
  get shown() {
    return Math.max(this.model.total, 1) / this.zoom;
  }

  /** Zoom by a factor around a time. */
  zoomBy(factor, time) {
    const zoom = Math.max(Math.min(this.zoom * factor, ZOOM, this.model.total / 10), 1);
    const part = (time - this.from) / this.shown;
    this.zoom = zoom;
    this.from = time - (part >= 0 && part <= 1 ? part : 0.5) * this.shown;
    this.keepWithin();
  }

  keepWithin() {
    this.stale = true;
    this.from = Math.min(Math.max(this.from, 0), Math.max(this.model.total - this.shown, 0));
  }

  /** Turn the page when the time leaves it. */
  follow(time) {
    if (time >= this.from && time <= this.from + this.shown) return;
    this.from = time - 0.1 * this.shown;
    this.keepWithin();
  }

  x(time) {
    return this.left + ((time - this.from) / this.shown) * this.breadth;
  }

  timeAt(x) {
    const time = this.from + ((x - this.left) / this.breadth) * this.shown;
    return Math.min(Math.max(time, 0), this.model.total);
  }

  draw(state, theme) {
    const key = `${state.chunk} ${state.critical}`;
    if (key !== this.key) {
      this.choose(state);
      [this.key, this.stale] = [key, true];
    }
    this.follow(state.time);
    const { context, width, height, resized } = fitted(this.canvas);
    if (!width || !height) return;
    if (resized || this.stale || theme !== this.theme) {
      [this.theme, this.stale] = [theme, false];
      this.place(context, width);
      this.still.redraw(this.canvas, (under) => this.drawStill(under, state, theme));
    }
    context.clearRect(0, 0, width, height);
    this.still.copyTo(context);
    this.drawCursor(context, state.time, theme);
  }

  place(context, width) {
    context.font = `10px ${FONT}`;
    this.labels = this.rows.map((link) => this.model.link(link));
    const longest = this.labels.reduce((most, label) => Math.max(most, context.measureText(label).width), 0);
    this.left = Math.min(Math.ceil(longest) + 8, 0.35 * width);
    this.breadth = Math.max(width - this.left - 10, 1);
  }

  drawStill(context, state, theme) {
    this.drawAxis(context, theme);
    context.save();
    context.beginPath();
    context.rect(this.left, 0, this.breadth, this.bottom);
    context.clip();
    this.rows.forEach((link, row) => this.drawRow(context, link, row, state, theme));
    if (state.critical) this.drawCritical(context, theme);
    context.restore();
  }

  drawRow(context, link, row, state, theme) {
    const { model } = this;
    const { chunk } = model.data.hops;
    const until = this.from + this.shown;
    for (const hop of model.onLink.of(link)) {
      if (model.end[hop] < this.from || model.start[hop] > until) continue;
      const { x, y, width, height } = this.bar(hop, row);
      const gap = width > 3 ? 1 : 0; // neighbours can be told apart
      context.globalAlpha = state.emphasis && !state.emphasis(hop) ? 0.18 : 1;
      context.fillStyle = theme.colour(chunk[hop]);
      context.fillRect(x, y, width - gap, height);
      // The link is free again, and the bytes are still on their way.
      context.fillRect(x + width, y + height / 2, this.x(model.end[hop]) - x - width, 1);
      if (gap && model.reduces(hop) && model.place[hop] === model.together[hop] - 1) {
        context.fillStyle = theme.ink;
        context.fillRect(x, (row + 1) * this.row - 2.5, width - gap, 1.5);
      }
    }
    context.globalAlpha = 1;
  }

  /** The rectangle of a hop; the members of a message share the height of their row. */
  bar(hop, row) {
    const { model } = this;
    const x = this.x(model.start[hop]);
    const width = Math.max(this.x(model.release[hop]) - x, 0.6);
    const height = (this.row - 2) / model.together[hop];
    return { x, width, y: row * this.row + 1 + model.place[hop] * height, height };
  }

  /** Draw the critical path: its bars framed, and a line from each to the next. */
  drawCritical(context, theme) {
    const { hop: hops, until } = this.model.data.critical;
    const line = 1.5;
    context.strokeStyle = theme.critical;
    context.fillStyle = theme.critical;
    context.lineWidth = line;
    let before = null;
    hops.forEach((hop, at) => {
      const row = this.rowOf.get(this.model.data.hops.link[hop]);
      if (row === undefined) {
        before = null;
        return;
      }
      const { x, y, width, height } = this.bar(hop, row);
      const middle = y + height / 2;
      // Rectangles one by one: as a single path, ten thousand of them would take seconds.
      if (width > 2 * line) context.strokeRect(x, y, width, height);
      else context.fillRect(x, y, width, height);
      if (before !== null) context.fillRect(x - line / 2, Math.min(before, middle), line, Math.abs(middle - before));
      context.fillRect(x, middle - line / 2, this.x(until[at]) - x, line);
      before = middle;
    });
  }

  drawAxis(context, theme) {
    context.font = `10px ${FONT}`;
    context.textBaseline = "middle";
    context.textAlign = "right";
    context.fillStyle = theme.ink;
    context.strokeStyle = theme.line;
    context.lineWidth = 1;
    this.labels.forEach((label, row) => {
      context.fillText(label, this.left - 4, (row + 0.5) * this.row, this.left - 6);
    });
    context.textAlign = "center";
    const { unit, data } = this.model;
    const scale = data.unit_ps / unit.ps;
    const last = (this.from + this.shown) * scale;
    for (const tick of data.total ? ticks(this.from * scale, last, this.breadth / 70) : [0]) {
      const x = Math.round(this.x(tick / scale)) + 0.5;
      context.beginPath();
      context.moveTo(x, 0);
      context.lineTo(x, this.bottom + 4);
      context.stroke();
      context.fillText(String(tick), x, this.bottom + 12);
    }
    context.fillStyle = theme.muted;
    context.fillText(`time (${unit.name})`, this.left + this.breadth / 2, this.bottom + 26);
  }

  drawCursor(context, time, theme) {
    const x = this.x(time);
    context.strokeStyle = theme.ink;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(x, 0);
    context.lineTo(x, this.bottom + 4);
    context.stroke();
  }

  /** What is at a place: { hop }, or { link } whose row it is; nothing outside. */
  at(x, y) {
    const row = Math.floor(y / this.row);
    const link = this.rows[row];
    if (link === undefined) return {};
    if (x < this.left) return { link };
    const inside = (hop) => {
      const bar = this.bar(hop, row);
      const tall = y >= bar.y - 1 && y <= bar.y + bar.height + 1;
      return tall ? Math.max(bar.x - x, x - bar.x - bar.width, 0) : Infinity;
    };
    const hop = nearest(this.model.onLink.of(link), inside, 3);
    return hop === undefined ? { link } : { hop };
  }
}

/** Round numbers between two others, about as many as wanted. */
function ticks(from, until, wanted) {
  const rough = (until - from) / Math.max(wanted, 2);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough) * power;
  const found = [];
  for (let at = Math.ceil(from / step); at * step <= until; at++) found.push(Number((at * step).toPrecision(12)));
  return found;
}
