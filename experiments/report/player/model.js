// The schedule that is played: columns of numbers, and what is asked of them at a time. Times are in the file's unit
// (picoseconds, or nanoseconds of very long schedules) throughout; only `text.js` turns them into words.

/** The first place in a sorted array whose value is greater than `value`. */
function after(sorted, value, low = 0, high = sorted.length) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Items grouped by key, in their order: group g is `sorted` from `start[g]` up to `start[g + 1]`, or `of(g)`. */
function grouped(keys, groups, items) {
  const start = new Uint32Array(groups + 1);
  for (const item of items) start[keys[item] + 1]++;
  for (let group = 0; group < groups; group++) start[group + 1] += start[group];
  const next = start.slice();
  const sorted = new Uint32Array(items.length);
  for (const item of items) sorted[next[keys[item]]++] = item;
  return { start, sorted, of: (group) => sorted.subarray(start[group], start[group + 1]) };
}

/** Hops by time, with the bytes of all up to each. */
function ranked(times, hops, bytesOf) {
  const order = Uint32Array.from(hops).sort((a, b) => times[a] - times[b] || a - b);
  const sum = new Float64Array(order.length + 1);
  order.forEach((hop, place) => (sum[place + 1] = sum[place] + bytesOf(hop)));
  return { order, times: Float64Array.from(order, (hop) => times[hop]), sum };
}

class Model {
  constructor(data) {
    const { hops, links, nodes } = data;
    this.data = data;
    this.total = data.total;
    this.numHops = hops.chunk.length;
    this.numLinks = links.src.length;
    this.numNodes = nodes.x.length;
    this.decode(hops, links.tail);
    this.unit = timeUnit(data.total * data.unit_ps, this.shortest() * data.unit_ps);
    this.index(hops, links, nodes);
  }

  /** Start, release and end of each hop. */
  decode(hops, tail) {
    this.start = new Float64Array(this.numHops);
    this.release = new Float64Array(this.numHops);
    this.end = new Float64Array(this.numHops);
    let start = 0;
    for (let hop = 0; hop < this.numHops; hop++) {
      start += hops.later[hop];
      this.start[hop] = start;
      this.end[hop] = start + hops.duration[hop];
      this.release[hop] = this.end[hop] - (tail[hops.link[hop]] ?? 0);
    }
  }

  /** The shortest span that is told: of a transfer, or of a segment of the critical path. */
  shortest() {
    const { hop, until } = this.data.critical;
    const spans = [...this.data.hops.duration, ...until.map((end, at) => end - this.start[hop[at]])];
    return spans.reduce((least, span) => (span > 0 ? Math.min(least, span) : least), this.total);
  }

  /** What searches need: hops of each link and chunk by start, completions of each node, and all events. */
  index(hops, links, nodes) {
    const all = Uint32Array.from({ length: this.numHops }, (_, hop) => hop);
    const bytesOf = (hop) => this.bytes(hop);
    this.starts = ranked(this.start, all, bytesOf);
    this.ends = ranked(this.end, all, bytesOf);
    this.onLink = grouped(hops.link, this.numLinks, this.starts.order);
    this.startsOnLink = Float64Array.from(this.onLink.sorted, (hop) => this.start[hop]);
    this.ofChunk = grouped(hops.chunk, this.data.chunks.bytes.length, this.starts.order);
    const completing = ranked(this.end, hops.completing, () => 1).order;
    const target = hops.link.map((link) => links.dst[link]);
    const arrivals = grouped(target, this.numNodes, completing);
    this.completions = nodes.wanted.map((_, npu) => Float64Array.from(arrivals.of(npu), (hop) => this.end[hop]));
    this.numberMembers(hops.message);
    this.events = Float64Array.from(new Set([0, ...this.start, ...this.end])).sort();
  }

  /** The place of each hop in its message, and how many hops the message has; most are alone. */
  numberMembers(message) {
    const members = new Map();
    this.place = Uint32Array.from({ length: this.numHops }, (_, hop) => {
      const place = message[hop] >= 0 ? (members.get(message[hop]) ?? 0) : 0;
      members.set(message[hop], place + 1);
      return place;
    });
    this.together = Uint32Array.from(this.place, (_, hop) => (message[hop] >= 0 ? members.get(message[hop]) : 1));
  }

  bytes(hop) {
    return this.data.chunks.bytes[this.data.hops.chunk[hop]];
  }

  reduces(hop) {
    return this.data.hops.reduce[hop] === "1";
  }

  source(hop) {
    return this.data.links.src[this.data.hops.link[hop]];
  }

  target(hop) {
    return this.data.links.dst[this.data.hops.link[hop]];
  }

  /** The hops under way on a link. They end in the order in which they start, so they are a run. */
  under(link, time) {
    const { start, sorted } = this.onLink;
    const last = after(this.startsOnLink, time, start[link], start[link + 1]);
    let first = last;
    while (first > start[link] && this.end[sorted[first - 1]] > time) first--;
    return sorted.subarray(first, last);
  }

  /** What the counters show. */
  counts(time) {
    const begun = after(this.starts.times, time);
    const done = after(this.ends.times, time);
    let busy = 0;
    for (let link = 0; link < this.numLinks; link++) {
      if (this.under(link, time).some((hop) => this.release[hop] > time)) busy++;
    }
    return { done, busy, bytes: this.starts.sum[begun] - this.ends.sum[done] };
  }

  /** How many of the chunks that an NPU must hold at the end it has. */
  held(npu, time) {
    return this.data.nodes.held[npu] + after(this.completions[npu], time);
  }

  /** The chunks that move, by number. */
  moved() {
    return [...new Set(this.data.hops.chunk)].sort((a, b) => a - b);
  }

  /** The next or previous time at which anything starts or ends. */
  event(time, direction) {
    if (direction > 0) return this.events[Math.min(after(this.events, time), this.events.length - 1)];
    let place = after(this.events, time) - 1;
    if (place > 0 && this.events[place] === time) place--;
    return this.events[Math.max(place, 0)];
  }

  /** How long each link is held; the members of a message hold it together. */
  busyTimes() {
    return Array.from({ length: this.numLinks }, (_, link) => {
      let busy = 0;
      let until = 0;
      for (const hop of this.onLink.of(link)) {
        busy += Math.max(0, this.release[hop] - Math.max(this.start[hop], until));
        until = Math.max(until, this.release[hop]);
      }
      return busy;
    });
  }

  time(value) {
    return `${inUnit(value * this.data.unit_ps, this.unit)} ${this.unit.name}`;
  }

  span(from, until) {
    return `${inUnit(from * this.data.unit_ps, this.unit)}–${this.time(until)}`;
  }

  link(link) {
    const { label } = this.data.nodes;
    return `${label[this.data.links.src[link]]}→${label[this.data.links.dst[link]]}`;
  }

  /** A node in words; where it has a name of its own, its number is told too, which stands in the drawing. */
  node(node) {
    const label = this.data.nodes.label[node];
    if (node >= this.data.npus) return label;
    return label === String(node) ? `NPU ${node}` : `${label} (NPU ${node})`;
  }

  /** One hop in words. */
  hop(hop) {
    const added = this.reduces(hop) ? ", added up" : "";
    return `${this.link(this.data.hops.link[hop])} at ${this.span(this.start[hop], this.end[hop])}${added}`;
  }
}
