// The player: state, clock, and what each control does.

/** A page that was out of sight goes on where it stopped: a frame is never longer than this, in milliseconds. */
const LONGEST = 1000;

/** With reduced motion, how often a second the picture jumps on. */
const JUMPS = 2;

class Player {
  constructor(element, data) {
    this.model = new Model(data);
    this.parts = build(this.model);
    this.state = { time: 0, playing: false, chunk: -1, critical: false, emphasis: null };
    this.onCritical = new Set(data.critical.hop);
    this.calm = matchMedia("(prefers-reduced-motion: reduce)");
    element.append(this.parts.root);
    this.topology = new TopologyView(this.parts.topology, this.model);
    this.chart = new GanttView(this.parts.gantt, this.model);
    this.lists = new Lists(this.parts, this.model, (time) => this.goTo(time));
    this.connect();
    connectPointer(this);
    this.releaseTheme = followTheme(this.parts.root, () => this.recolour());
    this.resizing = new ResizeObserver(() => this.draw());
    this.resizing.observe(this.parts.topology);
    this.resizing.observe(this.parts.gantt);
    // As wide as it will ever be, so that nothing moves while playing.
    this.parts.time.style.minWidth = `${2 * this.model.time(data.total).length + 3}ch`;
    this.showPace();
    this.changed();
  }

  /** Tie controls to what they do. */
  connect() {
    const { parts } = this;
    const press = {
      first: () => this.goTo(0),
      last: () => this.goTo(this.model.total),
      previous: () => this.step(-1),
      next: () => this.step(1),
      play: () => this.toggle(),
      critical: () => this.showCritical(!this.state.critical),
      closer: () => this.zoom(2),
      wider: () => this.zoom(0.5),
    };
    for (const [name, action] of Object.entries(press)) parts[name].addEventListener("click", action);
    parts.slider.max = Math.max(this.model.total, 1);
    parts.slider.disabled = this.model.total === 0;
    parts.slider.addEventListener("input", () => this.goTo(Number(parts.slider.value)));
    parts.speed.addEventListener("change", () => this.showPace());
    parts.chunk.addEventListener("change", () => this.choose(Number(parts.chunk.value)));
    parts.root.addEventListener("keydown", (event) => this.key(event));
  }

  /** Keys work wherever the focus is in the player, but for those that the focused control needs itself. */
  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const tag = event.target.tagName;
    if (tag === "SELECT" && event.key !== "Escape") return;
    if (tag === "BUTTON" && event.key === " ") return;
    const actions = {
      " ": () => this.toggle(),
      ArrowLeft: () => this.step(-1),
      ArrowRight: () => this.step(1),
      Home: () => this.goTo(0),
      End: () => this.goTo(this.model.total),
      c: () => this.showCritical(!this.state.critical),
      "+": () => this.zoom(2),
      "=": () => this.zoom(2),
      "-": () => this.zoom(0.5),
      Escape: () => this.clear(),
    };
    const action = actions[event.key === "C" ? "c" : event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  play() {
    if (this.state.playing) return;
    if (this.state.time >= this.model.total) this.state.time = 0;
    this.state.playing = true;
    this.last = performance.now();
    this.frame = requestAnimationFrame((now) => this.tick(now));
    this.showPlaying();
  }

  pause() {
    if (!this.state.playing) return;
    this.state.playing = false;
    cancelAnimationFrame(this.frame);
    this.showPlaying();
    this.changed();
  }

  toggle() {
    if (this.state.playing) this.pause();
    else this.play();
  }

  /** A frame while playing. */
  tick(now) {
    const due = !this.calm.matches || now - this.last >= 1000 / JUMPS;
    if (due) {
      const passed = Math.min(Math.max(now - this.last, 0), LONGEST);
      this.state.time = Math.min(this.state.time + passed * this.pace(), this.model.total);
      this.last = now;
      this.draw();
    }
    if (this.state.time >= this.model.total) this.pause();
    else this.frame = requestAnimationFrame((later) => this.tick(later));
  }

  /** Simulated time for each millisecond of the clock. */
  pace() {
    return (Number(this.parts.speed.value) * this.model.total) / (1000 * SECONDS);
  }

  showPace() {
    this.parts.pace.textContent = `1 s shows ${this.model.time(1000 * this.pace())}`;
  }

  goTo(time) {
    this.state.time = Math.min(Math.max(time, 0), this.model.total);
    this.changed();
  }

  /** Go to the next or previous time at which something happens, and stay there. */
  step(direction) {
    this.pause();
    this.goTo(this.model.event(this.state.time, direction));
  }

  zoom(factor, time = this.state.time) {
    this.chart.zoomBy(factor, time);
    this.draw();
  }

  choose(chunk) {
    this.state.chunk = chunk;
    this.parts.chunk.value = chunk;
    this.emphasise();
    this.lists.showPath(chunk);
    this.changed();
  }

  showCritical(shown) {
    this.state.critical = shown;
    this.parts.critical.setAttribute("aria-pressed", String(shown));
    this.parts.criticalSection.hidden = !shown;
    this.emphasise();
    this.changed();
  }

  clear() {
    this.showCritical(false);
    this.choose(-1);
  }

  /** Say which hops stand out; all others step back. */
  emphasise() {
    const { chunk, critical } = this.state;
    const { hops } = this.model.data;
    const stands = (hop) => hops.chunk[hop] === chunk || (critical && this.onCritical.has(hop));
    this.state.emphasis = chunk >= 0 || critical ? stands : null;
  }

  /** Draw, and say where things stand. Not while playing: nobody can listen to sixty messages a second. */
  changed() {
    this.draw();
    if (this.state.playing) return;
    this.parts.said.textContent = this.summary();
    this.parts.topology.setAttribute("aria-label", `Topology at ${this.now()}`);
    this.parts.gantt.setAttribute("aria-label", `Chart of links over time, at ${this.now()}`);
  }

  summary() {
    const { model, state, parts } = this;
    const chosen = state.chunk >= 0 ? ` ${parts.pathTitle.textContent}.` : "";
    const critical = state.critical ? ` ${parts.criticalTitle.textContent}.` : "";
    const { done, busy } = model.counts(state.time);
    const transfers = `${done.toLocaleString("en")} of ${counted(model.numHops, "transfer")} done`;
    return `${this.now()}: ${transfers}, ${counted(busy, "link")} busy.${chosen}${critical}`;
  }

  now() {
    return `${this.model.time(this.state.time)} of ${this.model.time(this.model.total)}`;
  }

  showPlaying() {
    const label = this.state.playing ? "Pause" : "Play";
    this.parts.play.replaceChildren(icon(this.state.playing ? "pause" : "play"));
    this.parts.play.setAttribute("aria-label", label);
    this.parts.play.title = `${label} (space)`;
  }

  recolour() {
    const { root } = this.parts;
    this.theme = themeOf(root, this.model.data);
    root.querySelectorAll(".player-swatch").forEach((swatch, at) => (swatch.style.background = this.theme.ofClass[at]));
    for (const ramp of root.querySelectorAll(".player-ramp")) {
      ramp.style.background = `linear-gradient(to right, ${this.theme.many.join(", ")})`;
    }
    this.draw();
  }

  draw() {
    if (!this.theme) return;
    const { model, parts, state } = this;
    this.topology.draw(state, this.theme);
    this.chart.draw(state, this.theme);
    const { done, busy, bytes } = model.counts(state.time);
    const now = this.now();
    parts.slider.value = state.time;
    parts.slider.setAttribute("aria-valuetext", now);
    parts.time.textContent = now;
    parts.done.textContent = `${done.toLocaleString("en")} of ${model.numHops.toLocaleString("en")}`;
    parts.bytes.textContent = bytesText(bytes);
    parts.busy.textContent = `${busy.toLocaleString("en")} of ${model.numLinks.toLocaleString("en")}`;
    parts.note.textContent = this.chart.note();
    this.lists.mark(state.time);
  }

  destroy() {
    this.pause();
    this.releaseTheme();
    this.resizing.disconnect();
    this.parts.root.remove();
  }
}

/**
 * Build a player in an element.
 *
 * `data` is what `player_data` of collbench returns. The player returned can be told to `play()`, `pause()`,
 * `seek(us)` to a time in microseconds, and `destroy()` itself.
 */
function collbenchPlayer(element, data) {
  const player = new Player(element, data);
  return {
    play: () => player.play(),
    pause: () => player.pause(),
    seek: (us) => player.goTo((us * 1e6) / data.unit_ps),
    destroy: () => player.destroy(),
  };
}
