// Which rows the reader asks for: those that hold every word of the search, and of each facet one of the values chosen.

/** Columns that a reader chooses values of, where there are several. */
const FACETS = ["experiment", "topology", "collective", "size", "label", "status"];

/** Columns that the search looks through. */
const SEARCHED = [
  "experiment",
  "label",
  "synthesizer",
  "topology",
  "collective",
  "status",
  "reason",
  "options",
  "group",
  "pairs",
  "latency",
  "switching",
  "bound_by",
  "version",
];

class Selection {
  /** @param {Frame} rows */
  constructor(rows) {
    this.rows = rows;
    this.facets = FACETS.filter((name) => rows.has(name) && rows.column(name).coded.values.length > 1);
    this.searched = SEARCHED.filter((name) => rows.has(name) && rows.column(name).words);
    this._memory = new Map();
  }

  /**
   * Choose rows.
   * @param {string} text  words, all of which a row must hold
   * @param {Map<string, Set<string>>} chosen  values by facet, as text; without any, all
   */
  choose(text, chosen) {
    const length = this.rows.length;
    const found = this._holding(text);
    // Of each row how many facets leave it out, and the last that does: what one facet alone leaves out is counted for
    // its other values, so that a reader sees what choosing them would bring.
    const against = new Uint8Array(length);
    const last = new Uint8Array(length);
    this.facets.forEach((name, facet) => {
      const wanted = chosen.get(name);
      if (!wanted?.size) return;
      const { codes, values } = this.rows.column(name).coded;
      const kept = values.map((value) => wanted.has(String(value)));
      for (let row = 0; row < length; row++) {
        if (!kept[codes[row]]) {
          against[row]++;
          last[row] = facet;
        }
      }
    });
    const counts = this.facets.map((name) => new Uint32Array(this.rows.column(name).coded.values.length));
    const coded = this.facets.map((name) => this.rows.column(name).coded.codes);
    const rows = new Uint32Array(length);
    let count = 0;
    for (let row = 0; row < length; row++) {
      if (!found[row] || against[row] > 1) continue;
      if (against[row]) {
        counts[last[row]][coded[last[row]][row]]++;
        continue;
      }
      rows[count++] = row;
      for (let facet = 0; facet < coded.length; facet++) counts[facet][coded[facet][row]]++;
    }
    return { rows: rows.subarray(0, count), counts: new Map(this.facets.map((name, facet) => [name, counts[facet]])) };
  }

  /** For each row 1 if it holds all words of a text. */
  _holding(text) {
    const found = new Uint8Array(this.rows.length).fill(1);
    for (const term of text.toLowerCase().split(/\s+/).filter(Boolean)) {
      const holding = this._holdingOne(term);
      for (let row = 0; row < found.length; row++) found[row] &= holding[row];
    }
    return found;
  }

  /** The same for one word: each different text is looked at once, however many rows have it. */
  _holdingOne(term) {
    if (this._memory.has(term)) return this._memory.get(term);
    const holding = new Uint8Array(this.rows.length);
    for (const name of this.searched) {
      const { array, words } = this.rows.column(name);
      const holds = Uint8Array.from(words, (word) => (word.toLowerCase().includes(term) ? 1 : 0));
      if (!holds.includes(1)) continue;
      for (let row = 0; row < holding.length; row++) holding[row] |= holds[array[row]];
    }
    if (this._memory.size > 16) this._memory.clear();
    this._memory.set(term, holding);
    return holding;
  }
}
