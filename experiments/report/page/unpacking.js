// Tables as experiments/report/packing.py packs them: base64 of deflated bytes, inflated into one buffer on which every
// column of numbers is a typed array. Nothing is copied and nothing parsed but a short head, so that 100,000 rows are
// there in a blink.

/** A column: numbers, or text as positions in a list of words. */
class Column {
  /**
   * @param {ArrayLike<number>} array  numbers (NaN: none), or positions in `words`
   * @param {string[]} [words]
   */
  constructor(array, words) {
    this.array = array;
    this.words = words;
  }

  /** What stands in a row: a number or text. */
  at(row) {
    return this.words ? this.words[this.array[row]] : this.array[row];
  }

  /** Whether nothing stands in a row. */
  empty(row) {
    return this.words ? this.words[this.array[row]] === "" : Number.isNaN(this.array[row]);
  }

  /** The different values, and for each row the position of its own; in the order in which they are sorted. */
  get coded() {
    if (!this._coded) {
      const values = this.words ?? [...new Set(this.array)];
      const order = this.words
        ? values.map((_, at) => at).sort((a, b) => collator.compare(values[a], values[b]))
        : values.map((_, at) => at).sort((a, b) => values[a] - values[b]);
      const rank = new Uint32Array(values.length);
      order.forEach((at, place) => (rank[at] = place));
      const place = this.words ? null : new Map(values.map((value, at) => [value, rank[at]]));
      const codes = new Uint32Array(this.array.length);
      for (let row = 0; row < codes.length; row++) {
        codes[row] = place ? place.get(this.array[row]) : rank[this.array[row]];
      }
      this._coded = { codes, values: order.map((at) => values[at]) };
    }
    return this._coded;
  }

  /** Numbers by which rows are sorted; NaN where there is nothing, which comes last either way. */
  get keys() {
    if (!this.words) return this.array;
    const { codes, values } = this.coded;
    return Float64Array.from(codes, (code) => (values[code] === "" ? NaN : code));
  }
}

/** Text is compared as people count: mesh:4x4 before mesh:16x16. */
const collator = new Intl.Collator("en", { numeric: true });

/** Columns of one length by name; those that `make` knows are made when they are asked for. */
class Frame {
  constructor(length, names, make) {
    this.length = length;
    this.names = names;
    this._make = make;
    this._columns = new Map();
  }

  has(name) {
    return this.names.includes(name);
  }

  column(name) {
    if (!this._columns.has(name)) this._columns.set(name, this._make(name));
    return this._columns.get(name);
  }
}

/** The bytes of a text of base64, inflated. */
async function inflated(text) {
  const letters = atob(text.trim());
  const packed = new Uint8Array(letters.length);
  for (let at = 0; at < packed.length; at++) packed[at] = letters.charCodeAt(at);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

/** The tables in an element of the page, and what is said beside them. */
async function unpacked(element) {
  const buffer = await inflated(element.textContent);
  const length = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const kinds = { Uint8Array, Uint16Array, Uint32Array, Int32Array, Float64Array };
  const arrays = head.arrays.map(([start, count, kind]) => new kinds[kind](buffer, 4 + length + start, count));
  const frames = {};
  for (const [name, { length: rows, columns }] of Object.entries(head.frames)) {
    const make = (key) => new Column(arrays[columns[key].array], columns[key].words);
    frames[name] = new Frame(rows, Object.keys(columns), make);
  }
  return { meta: head.meta, frames };
}
