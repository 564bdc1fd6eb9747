// Charts of the server's figures, and the numbers beside them, kept up to date. Loaded only where there are charts, behind uPlot.
const { uPlot } = globalThis;
const part = document.getElementById("charts");
const first = document.getElementById("figures-first");
const silent = document.getElementById("figures-silent");
const seconds = Number(part.dataset.seconds);
const step = Number(part.dataset.step);
const { lang } = document.documentElement;
// New samples come every ten seconds at most.
const PAUSE = 5000;

// All that is shown: times in seconds, and for each figure as many values. Null is a gap.
let times = [];
const values = new Map([...part.querySelectorAll("[data-figure]")].map(({ dataset }) => [dataset.figure, []]));
let newest = "";
let started = "";
let now = Date.now() / 1000;

const write = (value, least, most) =>
  value.toLocaleString(lang, { minimumFractionDigits: least, maximumFractionDigits: most });

/** Three digits, and all before the point; `exact` fills up with zeros. */
function number(value, exact) {
  const digits = value === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return write(value, exact ? digits : 0, digits);
}

function scaled(value, by, units, exact) {
  let unit = 0;
  for (; value >= 999.5 && unit + 1 < units.length; unit += 1) value /= by;
  return `${number(value, exact)}\u00a0${units[unit]}`;
}

/** A value with its unit, as the server writes it too. */
function text(unit, value, exact = true) {
  if (value === null || value === undefined) return "–";
  if (unit === "per_second") return `${number(value, exact)}\u00a0/s`;
  if (unit === "bytes_per_second") return scaled(value, 1024, ["B/s", "KiB/s", "MiB/s", "GiB/s"], exact);
  if (unit === "bytes") return scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB"], exact);
  if (unit === "seconds") return scaled(value * 1e6, 1000, ["µs", "ms", "s"], exact);
  return write(Math.round(value), 0, 0);
}

/** Steps of an axis that are round in its unit. */
function steps(unit) {
  const bytes = unit.startsWith("bytes");
  const found = [];
  for (let power = bytes || unit === "number" ? 0 : -6; power < (bytes ? 5 : 10); power += 1) {
    const scale = bytes ? 1024 ** power : 10 ** power;
    for (const n of bytes ? [1, 2, 4, 8, 16, 32, 64, 128, 256, 512] : [1, 2, 5]) found.push(n * scale);
  }
  return found;
}

/** The least that the height of a chart stands for, so that noise is no mountain. */
const LEAST = { per_second: 1, bytes_per_second: 1024, seconds: 0.001, bytes: 1 << 20, number: 4 };

const clock = (at, style = { hour: "numeric", minute: "2-digit" }) => new Date(at * 1000).toLocaleTimeString(lang, style);

/** The words below a chart; at its very end there is no room for any. */
const hour = (at) => (at > now - seconds * 0.1 ? "" : clock(at));

/** A point without neighbours makes no line and is drawn as a point. */
const lonely = (u, series) => {
  const line = u.data[series];
  const alone = (i) => line[i] !== null && (line[i - 1] ?? null) === null && (line[i + 1] ?? null) === null;
  return line.map((_, i) => i).filter(alone);
};

function draw(card) {
  const place = card.querySelector(".plot");
  const { unit } = card.dataset;
  const lines = [...card.querySelectorAll("[data-figure]")];
  const look = getComputedStyle(place);
  const axis = {
    stroke: look.color,
    font: `11px ${look.fontFamily}`,
    grid: { stroke: look.borderTopColor, width: 1 },
    ticks: { show: false },
    border: { show: false },
  };
  const series = lines.map((line) => {
    const stroke = getComputedStyle(line.querySelector(".swatch")).color;
    const fill = lines.length === 1 ? stroke.replace("rgb(", "rgba(").replace(")", ", 0.1)") : undefined;
    return { stroke, fill, width: 1.5, points: { show: true, size: 4, fill: stroke, filter: lonely } };
  });
  const options = {
    width: place.clientWidth,
    height: place.clientHeight,
    padding: [8, 4, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false, setScale: false }, sync: { key: "figures" }, points: { size: 6 } },
    scales: {
      x: { range: () => [now - seconds, now] },
      y: { range: (_, least, most) => [0, Math.max(most * 1.1, LEAST[unit])] },
    },
    axes: [
      { ...axis, size: 22, gap: 4, space: 64, incrs: [60, 300, 900, 3600, 7200, 14400, 21600], values: (_, splits) => splits.map(hour) },
      { ...axis, size: 64, gap: 6, space: 22, incrs: steps(unit), values: (_, splits) => splits.map((value) => (value ? text(unit, value, false) : "0")) },
    ],
    series: [{}, ...series],
    hooks: { setCursor: [({ cursor }) => tell(card, lines, cursor.idx)] },
  };
  const data = () => [times, ...lines.map((line) => values.get(line.dataset.figure))];
  const plot = new uPlot(options, data(), place);
  plot.update = () => {
    plot.setData(data());
    tell(card, lines, plot.cursor.idx);
  };
  return plot;
}

/** Writes the values under the pointer, or the newest ones. */
function tell(card, lines, index) {
  const at = index ?? times.length - 1;
  card.querySelector("[data-at]").textContent = typeof index === "number" ? clock(times[index], { timeStyle: "medium" }) : "";
  for (const line of lines) {
    line.querySelector("[data-last]").textContent = text(card.dataset.unit, values.get(line.dataset.figure)[at]);
  }
}

function fillTable() {
  for (const row of document.querySelectorAll("tr[data-figure]")) {
    const all = values.get(row.dataset.figure);
    const known = all.filter((value) => value !== null);
    const put = (name, value) => { row.querySelector(`[data-${name}]`).textContent = text(row.dataset.unit, value); };
    put("last", all.at(-1));
    put("mean", known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null);
    put("highest", known.length ? Math.max(...known) : null);
  }
}

/** Takes in what came since the last answer. */
function take(answer) {
  now = Date.parse(answer.now) / 1000;
  const fresh = answer.times.map((time) => Date.parse(time) / 1000);
  const found = new Map(answer.figures.map((figure) => [figure.name, figure.values]));
  fresh.forEach((time, i) => {
    const last = times.at(-1);
    // A server that was started anew knows nothing of the time before: no line leads over it.
    const restarted = i === 0 && started && started !== answer.started_at;
    if (last !== undefined && (restarted || time - last > 2.5 * step)) push(time - step, () => null);
    push(time, (name) => found.get(name)?.[i] ?? null);
  });
  newest = answer.times.at(-1) ?? newest;
  if (newest && first) first.hidden = true;
  started = answer.started_at;
  const old = times.findIndex((time) => time >= now - seconds);
  const gone = old < 0 ? times.length : old;
  times = times.slice(gone);
  for (const [name, line] of values) values.set(name, line.slice(gone));
}

function push(time, value) {
  times.push(time);
  for (const [name, line] of values) line.push(value(name));
}

let plots = [];
function drawAll() {
  for (const plot of plots) plot.destroy();
  plots = [...part.querySelectorAll(".chart")].map(draw);
}

let waiting;
let asking = false;
async function ask() {
  clearTimeout(waiting);
  if (asking || document.hidden) return;
  asking = true;
  try {
    const since = newest && `&since=${encodeURIComponent(newest)}`;
    const answer = await fetch(part.dataset.figures + since, { signal: AbortSignal.timeout(10_000) });
    // Signed out meanwhile: the page itself says so.
    if (answer.status === 401 || answer.status === 403) return location.reload();
    if (!answer.ok) throw new Error(answer.status);
    take(await answer.json());
    for (const plot of plots) plot.update();
    fillTable();
    silent.hidden = true;
  } catch {
    silent.hidden = false;
  }
  asking = false;
  waiting = setTimeout(ask, PAUSE);
}

drawAll();
new ResizeObserver(() => {
  for (const plot of plots) {
    const { clientWidth: width, clientHeight: height } = plot.root.parentElement;
    if (width !== plot.width) plot.setSize({ width, height });
  }
}).observe(part);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
document.addEventListener("visibilitychange", ask);
ask();
