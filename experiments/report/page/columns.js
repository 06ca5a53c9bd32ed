// Columns of tables as `Grid` shows them: what is more than text in their cells, and how they are sorted.

/** Columns of the rows, of single runs or of a summary of them. */
function rowColumns(meta, summary) {
  const columns = meta.columns
    .filter(({ name }) => !summary || summary.has(name))
    .map((column) => decorated(column, meta));
  if (!summary) return columns;
  const time = columns.findIndex(({ name }) => name === "time_us");
  const more = [
    { name: "spread", title: "spread (µs)", kind: "us", shown: true },
    { name: "runs", title: "runs", kind: "count", shown: true },
    { name: "worked", title: "worked", kind: "count", shown: true },
  ];
  columns.splice(time + 1, 0, ...more);
  return columns;
}

/** A column with what is more than text in its cells. */
function decorated(column, meta) {
  const render = {
    label: (row, frame) => {
      const look = meta.looks[frame.column(".series").at(row)];
      return marked(look, frame.column("label").at(row));
    },
    topology: (row, frame) => problemLink(frame.column(".problem").at(row), frame.column("topology").at(row)),
    status: (row, frame) => {
      const status = frame.column("status").at(row);
      return status === "ok" ? status : build("span", { class: "mark", "data-status": status }, status || "none");
    },
  }[column.name];
  return { ...column, render, head: column.name === "label" };
}

/** A column of a table of text: its figures are sorted as numbers, and the best of a line stands out. */
function tableColumn(frame, title, place, isFigure) {
  const render = (row) => {
    const text = frame.column(String(place)).at(row);
    return isFigure && frame.column(`best${place}`).at(row) ? build("strong", {}, text) : text;
  };
  const column = frame.column(String(place));
  if (isFigure) {
    const numbers = column.words.map((text) => (/^[-\d]/.test(text) ? parseFloat(text.replaceAll(",", "")) : NaN));
    Object.defineProperty(column, "keys", { value: Float64Array.from(column.array, (at) => numbers[at]) });
  }
  return { name: String(place), title, kind: "text", numeric: isFigure, render, head: place === 0 };
}
