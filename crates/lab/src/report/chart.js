'use strict';
// Eight colours that stand out on light and on dark by three patterns: 24 curves that can be told apart.
const colours = ['#2f7de1', '#d9730d', '#2e9e44', '#e5484d', '#9b59d0', '#0f9f9f', '#d6409f', '#7d828c'];
const patterns = [{ dash: [], border: 'solid' }, { dash: [9, 5], border: 'dashed' }, { dash: [2, 4], border: 'dotted' }];
const colour = (at) => colours[at % colours.length];
const pattern = (at) => patterns[Math.floor(at / colours.length) % patterns.length];

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const font = '12px system-ui, sans-serif';
const plots = [];
// Stretches of time that are not counted, from and to.
let shaded = [];

// For each unit: from which value on it is told in what, and how that is called.
const counts = (end) => [[0, 1, end], [1e4, 1e3, `k${end}`], [1e6, 1e6, `M${end}`], [1e9, 1e9, `G${end}`]];
const bytes = (end) => [[0, 1, ` B${end}`], [1e3, 1e3, ` KB${end}`], [1e6, 1e6, ` MB${end}`], [1e9, 1e9, ` GB${end}`]];
const units = {
  '': counts(''), '/s': counts('/s'), B: bytes(''), 'B/s': bytes('/s'), '%': [[0, 1, ' %']],
  ms: [[0, 1, ' ms'], [1e4, 1e3, ' s']], s: [[0, 1e-3, ' ms'], [10, 1, ' s']],
};

function figure(value, unit) {
  if (value === null || value === undefined) return '-';
  const [, one, name] = units[unit].findLast(([from]) => from <= Math.abs(value));
  const number = value / one;
  return `${Math.abs(number) >= 100 ? Math.round(number) : Number(number.toPrecision(3))}${name}`;
}

// As much room as the longest label of an axis takes.
function room(plot, labels) {
  plot.ctx.font = font;
  return 18 + Math.ceil(Math.max(20, ...(labels ?? []).map((label) => plot.ctx.measureText(label).width)));
}

function shade({ ctx, bbox, valToPos }) {
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.fillStyle = style('--shade');
  for (const stretch of shaded) {
    const [from, to] = stretch.map((at) => valToPos(at, 'x', true));
    ctx.fillRect(from, bbox.top, to - from, bbox.height);
  }
  ctx.restore();
}

// Takes which seconds are counted, and shows what the shade of the others says.
function count(seconds, counted) {
  shaded = [];
  seconds.forEach((second, at) => {
    if (counted[at]) return;
    const last = shaded.at(-1);
    if (last?.[1] === second - 0.5) last[1] = second + 0.5;
    else shaded.push([second - 0.5, second + 0.5]);
  });
  document.getElementById('shaded').hidden = shaded.length === 0;
}

function chart(place, title, unit, xs, series, options = {}) {
  const box = document.createElement('div');
  box.className = 'chart';
  const heading = document.createElement('h3');
  heading.textContent = title;
  box.append(heading);
  place.append(box);
  const axis = { font, stroke: () => style('--ink'), grid: { stroke: () => style('--line'), width: 1 }, ticks: { stroke: () => style('--line'), width: 1 } };
  const labels = (_, ticks) => ticks.map((tick) => (tick === null ? '' : figure(tick, unit)));
  const second = (at) => (at === null ? '-' : `${at} s`);
  const plot = new uPlot({
    width: box.clientWidth,
    height: options.height ?? 220,
    scales: { x: { time: false }, y: options.log ? { distr: 3 } : { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.05 : 1] } },
    axes: [{ ...axis, ...(options.x ?? { values: (_, ticks) => ticks.map(second), space: 60 }) }, { ...axis, size: room, values: labels }],
    series: [
      options.xSeries ?? { label: 'second', value: (_, at) => second(at) },
      ...series.map(([label], at) => ({
        label, stroke: colour(at), dash: pattern(at).dash, width: 1.5, points: { show: false }, spanGaps: true,
        value: (_, value) => figure(value, unit),
      })),
    ],
    legend: { markers: { width: 3, dash: (_, at) => pattern(at - 1).border } },
    hooks: { drawClear: options.log ? [] : [shade] },
  }, [xs, ...series.map(([, values]) => values)], box);
  plots.push([plot, box]);
  return plot;
}

addEventListener('resize', () => plots.forEach(([plot, box]) => plot.setSize({ width: box.clientWidth, height: plot.height })));
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => plots.forEach(([plot]) => plot.redraw()));
