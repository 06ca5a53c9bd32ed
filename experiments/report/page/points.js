// What the plots are drawn from: medians of the rows in view, one for each problem and synthesizer.

/** Points of a summary, with what the plots need to know of their problems. */
function pointsOf(summary, problems) {
  const column = (frame, name) => (frame.has(name) ? frame.column(name) : null);
  const number = (found, row) => (found ? found.at(row) : NaN);
  const [time, efficiency, busbw, synthesis] = ["time_us", "efficiency", "busbw_gbps", "synthesis_s"].map((name) =>
    column(summary, name),
  );
  const [npus, bound, boundBusbw] = ["num_npus", "bound_us", "bound_gbps"].map((name) => column(problems, name));
  const problem = summary.column(".problem").array;
  const series = summary.column(".series").array;
  const status = summary.column("status");
  return Array.from(problem, (of, row) => ({
    problem: of,
    series: series[row],
    status: status.at(row),
    worked: status.at(row) === "ok",
    time: number(time, row),
    efficiency: number(efficiency, row),
    busbw: number(busbw, row),
    synthesis: number(synthesis, row),
    place: problems.column("place").at(of),
    family: problems.column("family").at(of),
    collective: problems.column("collective").at(of),
    size: problems.column("size").at(of),
    title: problems.column("title").at(of),
    npus: number(npus, of),
    bound: number(bound, of),
    boundBusbw: number(boundBusbw, of),
  }));
}

/** Different values, in the order in which they come. */
function different(points, key) {
  return [...new Set(points.map((point) => point[key]))];
}

/** Lists of points by a key. */
function grouped(points, key) {
  const found = new Map();
  for (const point of points) {
    if (!found.has(point[key])) found.set(point[key], []);
    found.get(point[key]).push(point);
  }
  return found;
}

/** At most `most` of some items: the first, the last, and some evenly between. */
function spread(items, most) {
  if (items.length <= most) return items;
  return Array.from({ length: most }, (_, place) => items[roundedToEven((place * (items.length - 1)) / (most - 1))]);
}

/** Sizes to draw panels for: first, middle and last of those that most topologies have; and how many there are. */
function shownSizes(points) {
  const places = [...grouped(points, "size")].map(([size, of]) => ({ size, count: different(of, "place").length }));
  const most = places.reduce((top, { count }) => Math.max(top, count), 0);
  const common = places.filter(({ count }) => count > most / 2).map(({ size }) => size);
  return {
    shown: spread(
      common.sort((a, b) => a - b),
      3,
    ),
    all: places.length,
  };
}

/** A whole number, halves to the even one: as Python rounds, so that both kinds of plots show the same sizes. */
function roundedToEven(value) {
  const whole = Math.round(value);
  return value % 1 === 0.5 && whole % 2 ? whole - 1 : whole;
}

/** Items in as few runs of at most `most` as hold them all, of nearly the same length. */
function paged(items, most) {
  const count = Math.max(Math.ceil(items.length / most), 1);
  const cut = (page) => Math.floor((items.length * page) / count);
  return Array.from({ length: count }, (_, page) => items.slice(cut(page), cut(page + 1)));
}

/** What is written where a bar or point would be. */
function absence(status) {
  return status === "unsupported" ? "n/a" : status;
}

/** More points than these in a panel make a browser slow, and cover each other. */
const MOST_POINTS = 1500;

/** Points to draw: all, or of too many some, evenly; what is worked out from points takes all of them. */
function thinned(points) {
  const step = Math.ceil(points.length / MOST_POINTS);
  return step > 1 ? points.filter((_, at) => at % step === 0) : points;
}
