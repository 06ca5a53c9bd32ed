// What the reader has chosen, in the part of the address behind the "#": a link shows the same rows, and "back" works.
// Choices replace the address; going to a problem and back adds to the history.

const state = {
  _values: new URLSearchParams(),
  _listeners: [],

  /** Read the address. A plain name behind the "#" is a place on the page, no choice, and changes nothing. */
  read() {
    const text = location.hash.slice(1);
    if (text && !text.includes("=")) return false;
    this._values = new URLSearchParams(text);
    return true;
  },

  /** A choice, or what holds without it. */
  get(name, otherwise = "") {
    return this._values.get(name) ?? otherwise;
  },

  /** All values of a choice that may have several. */
  all(name) {
    return this._values.getAll(name);
  },

  /** Make choices: text, a list of texts, or null for none. `visit` adds to the history. */
  set(changes, visit = false) {
    const address = this.address(changes);
    this._values = new URLSearchParams(address.slice(1));
    history[visit ? "pushState" : "replaceState"](null, "", address);
    this._tell();
  },

  /** The address of the present choices with some changed. */
  address(changes) {
    const values = new URLSearchParams(this._values);
    for (const [name, value] of Object.entries(changes)) {
      values.delete(name);
      for (const each of Array.isArray(value) ? value : [value ?? ""]) {
        if (each !== "" || Array.isArray(value)) values.append(name, each);
      }
    }
    return `#${values}`;
  },

  /** Call a function whenever choices change. */
  listen(listener) {
    this._listeners.push(listener);
  },

  _tell() {
    for (const listener of this._listeners) listener();
  },

  /** Follow the address when the reader changes it or goes back. */
  follow() {
    addEventListener("popstate", () => this.read() && this._tell());
  },
};
