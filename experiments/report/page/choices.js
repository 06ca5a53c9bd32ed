// The bar of choices above rows and plots: a search, and for each facet a list of values to tick.

/** More values than these are listed only when something is typed to narrow them down. */
const LISTED = 100;

class Choices {
  /**
   * @param {HTMLElement} host
   * @param {Selection} selection
   * @param {object[]} columns  what the page knows of columns
   */
  constructor(host, selection, columns) {
    this.selection = selection;
    this.columns = columns;
    this.search = build("input", {
      type: "search",
      id: "search",
      autocomplete: "off",
      spellcheck: "false",
      placeholder: "words in any column",
      input: () => this._typed(),
    });
    this.reset = build("button", { type: "button", class: "reset", click: () => this._reset() }, "Clear all choices");
    this.menus = selection.facets.map((name) => this._menu(name));
    host.append(
      build("label", { for: "search" }, "Search"),
      this.search,
      ...this.menus.map((menu) => menu.details),
      this.reset,
    );
    // An open list closes when the reader goes on elsewhere, or presses Escape.
    document.addEventListener("click", (event) => this._close((details) => details.contains(event.target)));
    host.addEventListener("keydown", (event) => {
      const open = event.target.closest("details[open]");
      if (event.key !== "Escape" || !open) return;
      this._close(() => false);
      open.querySelector("summary").focus();
    });
  }

  /** The choices as `Selection.choose` takes them. */
  chosen() {
    return new Map(this.selection.facets.map((name) => [name, new Set(state.all(name))]));
  }

  /** Show the choices of the address, and how many rows each value has. */
  show(counts) {
    if (document.activeElement !== this.search) this.search.value = state.get("q");
    for (const menu of this.menus) {
      menu.counts = counts.get(menu.name);
      const chosen = state.all(menu.name);
      menu.chosen = new Set(chosen);
      const only = chosen.length === 1 ? this._said(menu, chosen[0]) : `${chosen.length} chosen`;
      menu.state.textContent = chosen.length ? `: ${only}` : "";
      menu.details.classList.toggle("active", chosen.length > 0);
      if (menu.details.open) this._list(menu);
    }
    this.reset.hidden = !state.get("q") && this.menus.every((menu) => menu.chosen.size === 0);
  }

  _menu(name) {
    const column = this.columns.find((each) => each.name === name);
    const menu = { name, kind: column.kind, values: this.selection.rows.column(name).coded.values, chosen: new Set() };
    menu.state = build("span", { class: "state" });
    menu.list = build("ul");
    menu.remark = build("p", { class: "remark" });
    menu.narrow = build("input", {
      type: "search",
      "aria-label": `Narrow down ${column.title}`,
      placeholder: "narrow down",
      autocomplete: "off",
      input: () => this._list(menu),
    });
    menu.details = build(
      "details",
      { class: "menu", "data-facet": name, toggle: () => menu.details.open && this._list(menu) },
      build("summary", {}, column.title, menu.state),
      build("div", { class: "sheet" }, menu.values.length > 8 ? menu.narrow : null, menu.list, menu.remark),
    );
    return menu;
  }

  /** List the values of an open menu: those chosen and what fits the text typed. */
  _list(menu) {
    const wanted = menu.narrow.value.toLowerCase();
    const fitting = menu.values
      .map((value, at) => ({ value: String(value), at, said: this._said(menu, value) }))
      .filter(({ value, said }) => menu.chosen.has(value) || said.toLowerCase().includes(wanted));
    fitting.sort((a, b) => menu.chosen.has(b.value) - menu.chosen.has(a.value) || a.at - b.at);
    const focused = document.activeElement?.dataset?.value;
    menu.list.replaceChildren(
      ...fitting.slice(0, LISTED).map(({ value, at, said }) => {
        const box = build("input", { type: "checkbox", "data-value": value, change: () => this._tick(menu, value) });
        box.checked = menu.chosen.has(value);
        const count = menu.counts[at].toLocaleString("en-US");
        return build("li", {}, build("label", {}, box, build("span", {}, said || "(none)"), build("small", {}, count)));
      }),
    );
    // The list was made anew under the reader's hand.
    if (focused !== undefined) menu.list.querySelector(`[data-value="${CSS.escape(focused)}"]`)?.focus();
    const more = fitting.length - LISTED;
    menu.remark.textContent = more > 0 ? `${counted(more, "more value")}: type to narrow down` : "";
  }

  _said(menu, value) {
    return formatted(menu.kind, menu.kind === "text" ? value : Number(value));
  }

  _tick(menu, value) {
    if (!menu.chosen.delete(value)) menu.chosen.add(value);
    state.set({ [menu.name]: [...menu.chosen] });
  }

  /** Search when the reader pauses, not at each letter. */
  _typed() {
    clearTimeout(this._pause);
    this._pause = setTimeout(() => state.set({ q: this.search.value.trim() }), 120);
  }

  _reset() {
    this.search.value = "";
    this.menus.forEach((menu) => (menu.narrow.value = ""));
    state.set({ q: null, ...Object.fromEntries(this.menus.map((menu) => [menu.name, null])) });
    this.search.focus();
  }

  _close(unless) {
    for (const { details } of this.menus) if (!unless(details)) details.open = false;
  }
}
