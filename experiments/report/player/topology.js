// The topology: nodes in their places, each link a lane on the right of its direction, transfers as dots on the way.

/** Nodes further apart than this, in pixels, carry their numbers. */
const NUMBERED = 34;

/** Nodes of a smaller radius are specks, and more transfers than this are too: neither has any detail to be seen. */
const SPECK = 3;
const CROWD = 3000;

/** Members of a message that are drawn; they travel as a train. */
const TRAIN = 6;

class TopologyView {
  constructor(canvas, model) {
    this.canvas = canvas;
    this.model = model;
    this.still = layer();
    const { stub } = model.data.links;
    this.stubs = new Map(stub.link.map((link, at) => [link, [stub.dx[at], stub.dy[at]]]));
    this.box = this.bounds();
    const [low, high] = this.box;
    const aspect = (high[0] - low[0]) / (high[1] - low[1]);
    canvas.style.aspectRatio = Math.min(Math.max(aspect, 1), 2.4);
  }

  /** The corners of the drawing, with room for the nodes at its edge. */
  bounds() {
    const { nodes, links } = this.model.data;
    const xs = [...nodes.x];
    const ys = [...nodes.y];
    for (const [link, [dx, dy]] of this.stubs) {
      for (const [node, sign] of [[links.src[link], 1], [links.dst[link], -1]]) {
        xs.push(nodes.x[node] + sign * dx);
        ys.push(nodes.y[node] + sign * dy);
      }
    }
    const room = 0.45;
    // Not Math.min(...xs): a long list of arguments overflows the stack.
    const least = (values) => values.reduce((a, b) => Math.min(a, b)) - room;
    const most = (values) => values.reduce((a, b) => Math.max(a, b)) + room;
    return [[least(xs), least(ys)], [most(xs), most(ys)]];
  }

  /** Work out where everything is, for a size on the screen. */
  place(width, height) {
    const [low, high] = this.box;
    const unit = Math.min(width / (high[0] - low[0]), height / (high[1] - low[1]), 150);
    const { nodes, links } = this.model.data;
    this.unit = unit;
    this.numbered = unit >= NUMBERED;
    this.radius = this.numbered ? Math.min(0.24 * unit, 22) : Math.min(Math.max(0.16 * unit, 1.5), 8);
    this.lane = Math.min(Math.max(0.055 * unit, 0.75), 4);
    this.dot = Math.min(Math.max(0.1 * unit, 2), 7);
    const at = (value, axis, size) => size / 2 + (value - (low[axis] + high[axis]) / 2) * unit;
    this.x = nodes.x.map((x) => at(x, 0, width));
    this.y = nodes.y.map((y) => at(y, 1, height));
    this.lines = links.src.map((source, link) => this.linesOf(link, source, links.dst[link], links.lane[link]));
  }

  /** The one or two lines of a link, each [x, y, x, y]; the second of two comes in on the other side of the grid. */
  linesOf(link, source, target, lane) {
    const stub = this.stubs.get(link);
    const [fromX, fromY, toX, toY] = [this.x[source], this.y[source], this.x[target], this.y[target]];
    const [dx, dy] = stub ? [stub[0] * this.unit, stub[1] * this.unit] : [toX - fromX, toY - fromY];
    const length = Math.hypot(dx, dy) || 1;
    const [alongX, alongY] = [dx / length, dy / length];
    const aside = (0.9 + 1.5 * lane) * this.lane;
    const gap = this.radius + 1;
    const line = (x, y, endX, endY, before, behind) => [
      x - alongY * aside + alongX * before, y + alongX * aside + alongY * before,
      endX - alongY * aside - alongX * behind, endY + alongX * aside - alongY * behind,
    ];
    if (!stub) return [line(fromX, fromY, toX, toY, gap, gap)];
    return [line(fromX, fromY, fromX + dx, fromY + dy, gap, 0), line(toX - dx, toY - dy, toX, toY, 0, gap)];
  }

  /** Where a transfer is, `part` of its way. */
  point(link, part) {
    const lines = this.lines[link];
    const along = part * lines.length;
    const place = Math.min(Math.floor(along), lines.length - 1);
    const [x, y, endX, endY] = lines[place];
    const rest = Math.min(Math.max(along - place, 0), 1);
    return [x + rest * (endX - x), y + rest * (endY - y)];
  }

  /** Where each transfer under way is: [{ hop, x, y }]. */
  dots(time) {
    const found = [];
    const { model } = this;
    for (let link = 0; link < model.numLinks; link++) {
      for (const hop of model.under(link, time)) {
        const place = model.place[hop];
        if (place >= TRAIN) continue;
        const part = (time - model.start[hop]) / (model.end[hop] - model.start[hop]);
        const [x, y] = this.point(link, Math.max(part - place * this.spacing(link), 0));
        found.push({ hop, x, y });
      }
    }
    return found;
  }

  /** How far apart the members of a message are, as a part of their link. */
  spacing(link) {
    const length = this.lines[link].reduce((sum, [x, y, endX, endY]) => sum + Math.hypot(endX - x, endY - y), 0);
    return (1.6 * this.dot) / Math.max(length, 1);
  }

  draw(state, theme) {
    const { context, width, height, resized } = fitted(this.canvas);
    if (!width || !height) return;
    if (resized || theme !== this.theme || !this.lines) {
      this.theme = theme;
      this.place(width, height);
      this.still.redraw(this.canvas, (under) => this.strokeLinks(under, this.lines.keys(), theme.idle, this.lane));
    }
    context.clearRect(0, 0, width, height);
    context.globalAlpha = state.emphasis ? 0.45 : 1;
    this.still.copyTo(context);
    context.globalAlpha = 1;
    this.drawPaths(context, state, theme);
    this.drawTransfers(context, state, theme);
    this.drawNodes(context, state, theme);
  }

  /** Draw links in one colour. */
  strokeLinks(context, links, colour, width) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    for (const link of links) {
      for (const [x, y, endX, endY] of this.lines[link]) {
        context.moveTo(x, y);
        context.lineTo(endX, endY);
      }
    }
    context.stroke();
  }

  /** Draw the links of the critical path and of the chosen chunk, of this one more strongly where it has been. */
  drawPaths(context, state, theme) {
    const { link } = this.model.data.hops;
    context.lineCap = "round";
    if (state.critical) {
      const links = new Set(this.model.data.critical.hop.map((hop) => link[hop]));
      this.strokeLinks(context, links, theme.critical, this.lane * 1.7);
    }
    if (state.chunk >= 0) {
      const hops = [...this.model.ofChunk.of(state.chunk)];
      const colour = theme.colour(state.chunk);
      context.globalAlpha = 0.4;
      this.strokeLinks(context, hops.map((hop) => link[hop]), colour, this.lane * 1.2);
      context.globalAlpha = 1;
      const crossed = hops.filter((hop) => this.model.end[hop] <= state.time);
      this.strokeLinks(context, crossed.map((hop) => link[hop]), colour, this.lane * 1.2);
    }
    context.lineCap = "butt";
  }

  /** Draw what is under way; what does not stand out comes first, so that nothing hides what does. */
  drawTransfers(context, state, theme) {
    const dots = this.dots(state.time);
    if (!state.emphasis) {
      this.drawDots(context, dots, theme, 1);
      return;
    }
    this.drawDots(context, dots.filter(({ hop }) => !state.emphasis(hop)), theme, 0.25);
    this.drawDots(context, dots.filter(({ hop }) => state.emphasis(hop)), theme, 1);
  }

  /** Draw links in use and the dots on them, one by one: a path of thousands of crossing lines takes far longer. */
  drawDots(context, dots, theme, strength) {
    const { chunk, link } = this.model.data.hops;
    if (dots.length > CROWD) {
      context.globalAlpha = strength;
      for (const { hop, x, y } of dots) speck(context, x, y, this.dot, theme.colour(chunk[hop]));
      context.globalAlpha = 1;
      return;
    }
    context.globalAlpha = 0.75 * strength;
    for (const { hop } of dots) this.strokeLinks(context, [link[hop]], theme.colour(chunk[hop]), this.lane * 1.2);
    context.globalAlpha = strength;
    context.strokeStyle = theme.surface;
    context.lineWidth = 1;
    for (const dot of dots) {
      context.fillStyle = theme.colour(chunk[dot.hop]);
      context.beginPath();
      this.traceDot(context, dot);
      context.fill();
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  /** Add a transfer to a path: a circle, or a diamond where the receiver adds it up. */
  traceDot(context, { hop, x, y }) {
    const radius = this.model.reduces(hop) ? this.dot * 1.3 : this.dot;
    context.moveTo(x + radius, y);
    if (!this.model.reduces(hop)) {
      context.arc(x, y, radius, 0, 2 * Math.PI);
      return;
    }
    context.lineTo(x, y + radius);
    context.lineTo(x - radius, y);
    context.lineTo(x, y - radius);
    context.closePath();
  }

  drawNodes(context, state, theme) {
    if (this.radius < SPECK) this.drawSpecks(context, state, theme);
    else this.drawCircles(context, state, theme);
  }

  /** Draw small nodes: the more of its chunks an NPU holds, the stronger. */
  drawSpecks(context, state, theme) {
    const { wanted } = this.model.data.nodes;
    const has = state.chunk >= 0 ? this.holders(state.chunk, state.time) : null;
    for (let node = 0; node < this.model.numNodes; node++) {
      const part = has ? has.has(node) : wanted[node] && this.model.held(node, state.time) / wanted[node];
      speck(context, this.x[node], this.y[node], this.radius, theme.muted);
      context.globalAlpha = Number(part);
      if (part) speck(context, this.x[node], this.y[node], this.radius, has ? theme.colour(state.chunk) : theme.held);
      context.globalAlpha = 1;
    }
  }

  drawCircles(context, state, theme) {
    const { npus } = this.model.data;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.font = `${Math.min(this.radius * 0.9, 12)}px ${FONT}`;
    const has = state.chunk >= 0 ? this.holders(state.chunk, state.time) : null;
    for (let node = 0; node < this.model.numNodes; node++) {
      const [x, y, isNpu, chosen] = [this.x[node], this.y[node], node < npus, has?.has(node)];
      context.fillStyle = chosen && !this.numbered ? theme.colour(state.chunk) : theme.surface;
      context.strokeStyle = theme.muted;
      context.lineWidth = Math.min(1, this.radius / 4);
      context.beginPath();
      if (isNpu) context.arc(x, y, this.radius, 0, 2 * Math.PI);
      else context.rect(x - this.radius, y - this.radius, 2 * this.radius, 2 * this.radius);
      context.fill();
      context.stroke();
      if (isNpu && (this.numbered || !has)) this.drawHeld(context, node, state.time, theme);
      if (chosen && this.numbered) disc(context, x, y, this.radius * 0.72, theme.colour(state.chunk));
      if (this.numbered) {
        context.fillStyle = chosen ? theme.on(state.chunk) : theme.ink;
        context.fillText(isNpu ? String(node) : `S${node - npus}`, x, y + 0.5);
      }
    }
  }

  /** Draw how much an NPU holds of what it must hold at the end: a ring round its number, or without one a sector. */
  drawHeld(context, npu, time, theme) {
    const wanted = this.model.data.nodes.wanted[npu];
    const part = wanted && this.model.held(npu, time) / wanted;
    if (!part) return;
    const [from, until] = [-Math.PI / 2, (2 * part - 0.5) * Math.PI]; // clockwise from the top
    const width = this.numbered ? this.radius * 0.22 : this.radius;
    context.strokeStyle = theme.held;
    context.lineWidth = width;
    context.beginPath();
    context.arc(this.x[npu], this.y[npu], this.radius - width / 2, from, until);
    context.stroke();
  }

  /** The nodes that have a chunk, or a contribution to it that they have sent or received. */
  holders(chunk, time) {
    const { model } = this;
    const found = new Set();
    const received = new Set();
    for (const hop of model.ofChunk.of(chunk)) {
      if (!received.has(model.source(hop))) found.add(model.source(hop));
      received.add(model.target(hop));
      if (model.end[hop] <= time) found.add(model.target(hop));
    }
    return new Set([...found].filter((node) => node < model.data.npus));
  }

  /** What is at a place: { hop } that is under way, { node } or { link }; nothing where there is nothing. */
  at(x, y, time) {
    if (!this.lines) return {};
    const near = nearest(this.dots(time), (dot) => Math.hypot(dot.x - x, dot.y - y), Math.max(this.dot + 4, 9));
    if (near) return { hop: near.hop };
    const node = nearest(this.x.keys(), (each) => Math.hypot(this.x[each] - x, this.y[each] - y), this.radius + 2);
    if (node !== undefined) return { node };
    const away = (each) => Math.min(...this.lines[each].map((line) => distance(line, x, y)));
    const link = nearest(this.lines.keys(), away, 6);
    if (link === undefined) return {};
    const under = this.model.under(link, time);
    return under.length ? { hop: under[0] } : { link };
  }
}

function disc(context, x, y, radius, colour) {
  context.fillStyle = colour;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}

function speck(context, x, y, radius, colour) {
  context.fillStyle = colour;
  context.fillRect(x - radius, y - radius, 2 * radius, 2 * radius);
}

/** The item that is least far away, if that is below `within`. */
function nearest(items, away, within) {
  let [best, least] = [undefined, within];
  for (const item of items) {
    const found = away(item);
    if (found < least) [best, least] = [item, found];
  }
  return best;
}

/** The distance of a point from a line between two others. */
function distance([x, y, endX, endY], pointX, pointY) {
  const [dx, dy] = [endX - x, endY - y];
  const along = ((pointX - x) * dx + (pointY - y) * dy) / (dx * dx + dy * dy || 1);
  const part = Math.min(Math.max(along, 0), 1);
  return Math.hypot(x + part * dx - pointX, y + part * dy - pointY);
}
