// Light or dark: as the system says, until the reader says otherwise.

const theme = {
  _listeners: [],

  start(button) {
    this.button = button;
    this._system = matchMedia("(prefers-color-scheme: dark)");
    const kept = this._kept();
    if (kept) document.documentElement.dataset.theme = kept;
    button.addEventListener("click", () => this._turn());
    this._system.addEventListener("change", () => this._changed());
    this._say();
  },

  listen(listener) {
    this._listeners.push(listener);
  },

  /** Give each look its colour in light or dark, for plots as `colour`, for the style sheet as a custom property. */
  colour(looks) {
    const choose = () =>
      looks.forEach((look, at) => {
        look.property = `--series-${at}`;
        look.colour = this.dark ? look.dark : look.light;
        document.documentElement.style.setProperty(look.property, look.colour);
      });
    choose();
    this.listen(choose);
  },

  get dark() {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : this._system.matches;
  },

  _turn() {
    const chosen = this.dark ? "light" : "dark";
    document.documentElement.dataset.theme = chosen;
    try {
      localStorage.setItem("collbench-theme", chosen);
    } catch {
      // a browser that keeps nothing for files on disk
    }
    this._changed();
  },

  _kept() {
    try {
      return localStorage.getItem("collbench-theme");
    } catch {
      return null;
    }
  },

  _changed() {
    this._say();
    for (const listener of this._listeners) listener();
  },

  _say() {
    this.button.textContent = this.dark ? "Light" : "Dark";
    this.button.setAttribute("aria-label", `Change to ${this.dark ? "light" : "dark"} colours`);
  },
};
