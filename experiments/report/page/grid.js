// A table of many rows: a page of them at a time is in the document, and sorting moves positions, never rows. Columns
// are sorted by buttons in their heads, so that the keyboard and screen readers can too.

const PAGE_ROWS = 25;

class Grid {
  /**
   * @param {HTMLElement} host
   * @param {object} options
   *   name: what the table is, for screen readers
   *   columns: [{name, title, kind, shown, render?(row) → Node, numeric?, head?: whether it names the row}]
   *   what: what a row is called, in the singular
   *   whole: whether the rows shown are all that there are to speak of
   *   choosable: whether columns can be chosen, and they and the order are kept in the address; one table's can
   *   exported: name of a file to offer, or null
   */
  constructor(host, options) {
    this.options = { what: "row", whole: false, choosable: false, exported: null, ...options };
    this.page = 0;
    this.order = { column: "", down: false };
    this.count = build("p", { class: "count", role: "status" });
    this.tools = build("div", { class: "tools" }, this.count);
    if (this.options.choosable) this.tools.append((this.chooser = this._chooser()));
    if (this.options.exported) {
      this.tools.append(build("button", { type: "button", click: () => this._export() }, "Save as CSV"));
    }
    this.head = build("thead");
    this.body = build("tbody");
    const name = this.options.name;
    this.table = build("table", { "aria-label": name }, this.head, this.body);
    this.region = build("div", { class: "scrolled", role: "region", "aria-label": name, tabindex: "0" }, this.table);
    this.pager = this._pager();
    host.replaceChildren(this.tools, this.region, this.pager);
  }

  /** Show rows of a frame, at positions `rows`. */
  show(frame, rows, columns = this.options.columns) {
    if (rows !== this.rows) this.page = 0;
    this.frame = frame;
    this.rows = rows;
    this.columns = columns;
    this._recall();
    this._sort();
    this._draw();
  }

  /** Columns in view: those that the reader chose, else those shown at first. */
  visible() {
    const chosen = this.options.choosable && state.get("columns");
    if (!chosen) return this.columns.filter((column) => column.shown !== false);
    const names = new Set(chosen.split(","));
    return this.columns.filter((column) => names.has(column.name));
  }

  _recall() {
    if (!this.options.choosable) return;
    const [column = "", way = ""] = state.get("sort").split(" ");
    this.order = { column: this.columns.some(({ name }) => name === column) ? column : "", down: way === "down" };
  }

  /** Up, then down, then the order of the file again. */
  _turn(name) {
    if (this.order.column !== name) this.order = { column: name, down: false };
    else if (!this.order.down) this.order.down = true;
    else this.order = { column: "", down: false };
    this.page = 0;
    if (this.options.choosable) {
      state.set({ sort: this.order.column && `${this.order.column} ${this.order.down ? "down" : "up"}` });
    } else {
      this._sort();
      this._draw();
    }
    this.head.querySelector(`[data-column="${CSS.escape(name)}"] button`)?.focus();
  }

  _sort() {
    this.sorted = this.rows;
    const { column, down } = this.order;
    if (!column) return;
    const keys = this.frame.column(column).keys;
    const way = down ? -1 : 1;
    this.sorted = this.rows.slice().sort((a, b) => {
      const [x, y] = [keys[a], keys[b]];
      if (x < y) return -way;
      if (x > y) return way;
      return Number.isNaN(x) - Number.isNaN(y); // what has no value comes last either way
    });
  }

  _draw() {
    const columns = this.visible();
    this.head.replaceChildren(build("tr", {}, ...columns.map((column) => this._head(column))));
    const pages = Math.max(1, Math.ceil(this.sorted.length / PAGE_ROWS));
    this.page = Math.min(this.page, pages - 1);
    const start = this.page * PAGE_ROWS;
    const rows = [...this.sorted.subarray(start, start + PAGE_ROWS)];
    this.body.replaceChildren(...rows.map((row) => this._line(row, columns)));
    if (!rows.length) {
      const text = `No ${this.options.what} fits the choices.`;
      this.body.append(build("tr", {}, build("td", { colspan: columns.length, class: "nothing" }, text)));
    }
    this.table.setAttribute("aria-rowcount", this.sorted.length + 1);
    const shown = this.sorted.length;
    const all = this.options.whole ? shown : this.frame.length;
    const some = shown === all ? "" : `${shown.toLocaleString("en-US")} of `;
    this.count.textContent = `${some}${counted(all, this.options.what)}`;
    this._drawPager(pages, start);
  }

  _head(column) {
    const sorted = this.order.column === column.name;
    const way = sorted ? (this.order.down ? "descending" : "ascending") : "none";
    const button = build("button", { type: "button", click: () => this._turn(column.name) }, column.title);
    const classes = isNumeric(column) ? "number" : null;
    return build("th", { scope: "col", "aria-sort": way, class: classes, "data-column": column.name }, button);
  }

  _line(row, columns) {
    const cells = columns.map((column) => {
      const content = column.render ? column.render(row, this.frame) : this._text(column, row);
      const attributes = { class: isNumeric(column) ? "number" : "text", "data-column": column.name };
      return column.head ? build("th", { scope: "row", ...attributes }, content) : build("td", attributes, content);
    });
    return build("tr", {}, ...cells);
  }

  _text(column, row) {
    return formatted(column.kind, this.frame.column(column.name).at(row));
  }

  _pager() {
    const step = (text, label, page) =>
      build("button", { type: "button", "aria-label": label, click: () => this._go(page()) }, text);
    const last = () => Math.ceil(this.sorted.length / PAGE_ROWS) - 1;
    this.steps = [
      step("« First", "First page", () => 0),
      step("‹ Previous", "Previous page", () => this.page - 1),
      step("Next ›", "Next page", () => this.page + 1),
      step("Last »", "Last page", last),
    ];
    this.where = build("span", { class: "where", role: "status" });
    const [first, previous, next, end] = this.steps;
    return build(
      "nav",
      { class: "pager", "aria-label": `Pages of ${this.options.name}` },
      first,
      previous,
      this.where,
      next,
      end,
    );
  }

  _drawPager(pages, start) {
    this.pager.hidden = pages === 1;
    const end = Math.min(start + PAGE_ROWS, this.sorted.length);
    this.where.textContent = `${(start + 1).toLocaleString("en-US")}–${end.toLocaleString("en-US")}`;
    this.steps.forEach((step, at) => (step.disabled = at < 2 ? this.page === 0 : this.page >= pages - 1));
  }

  _go(page) {
    this.page = Math.max(0, page);
    this._draw();
    this.region.scrollTop = 0;
  }

  _chooser() {
    const list = build("ul");
    const sheet = build("div", { class: "sheet" }, list);
    const details = build(
      "details",
      { class: "menu", toggle: () => details.open && fill() },
      build("summary", {}, "Columns"),
      sheet,
    );
    const fill = () => {
      const visible = new Set(this.visible().map(({ name }) => name));
      list.replaceChildren(
        ...this.columns.map((column) => {
          const box = build("input", {
            type: "checkbox",
            "data-column": column.name,
            change: () => choose(column.name),
          });
          box.checked = visible.has(column.name);
          return build("li", {}, build("label", {}, box, build("span", {}, column.title)));
        }),
      );
    };
    const choose = (name) => {
      const names = new Set(this.visible().map((column) => column.name));
      if (!names.delete(name)) names.add(name);
      if (!names.size) names.add(name); // a table has a column
      const kept = this.columns.filter((column) => names.has(column.name));
      const usual =
        kept.every((column) => column.shown !== false) &&
        kept.length === this.columns.filter((column) => column.shown !== false).length;
      state.set({ columns: usual ? null : kept.map((column) => column.name).join(",") });
      fill();
      list.querySelector(`[data-column="${CSS.escape(name)}"]`).focus();
    };
    details.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !details.open) return;
      details.open = false;
      details.querySelector("summary").focus();
    });
    document.addEventListener("click", (event) => details.contains(event.target) || (details.open = false));
    return details;
  }

  /** All columns of the rows in view, as exact as the results file; it can be read as one again. */
  _export() {
    const columns = this.columns.filter((column) => this.frame.has(column.name));
    const quoted = (value) => (/[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
    const written = (value) => (typeof value === "number" ? (Number.isNaN(value) ? "" : String(value)) : quoted(value));
    const parts = columns.map((column) => this.frame.column(column.name));
    const lines = [columns.map((column) => quoted(column.name)).join(",")];
    for (const row of this.sorted) lines.push(parts.map((part) => written(part.at(row))).join(","));
    offer(this.options.exported, `${lines.join("\n")}\n`, "text/csv");
  }
}

/** Whether a column holds numbers, which stand to the right. */
function isNumeric(column) {
  return column.numeric ?? !["text", "flag"].includes(column.kind);
}
