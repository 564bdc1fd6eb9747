'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const colours = ['#0b68cb', '#d6409f', '#18794e', '#e5484d', '#8e4ec6', '#ad5700', '#12a594', '#f76b15', '#5b5bd6', '#978365', '#0091ff', '#3e9b4f'];
const ink = () => getComputedStyle(document.body).color;
const line = () => getComputedStyle(document.documentElement).getPropertyValue('--line').trim();
const plots = [];

function chart(place, title, unit, xs, series, options = {}) {
  const box = document.createElement('div');
  box.className = 'chart';
  const heading = document.createElement('h3');
  heading.textContent = unit ? `${title}, ${unit}` : title;
  box.append(heading);
  place.append(box);
  const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
  const x = { ...axis, ...(options.x ?? { values: (_, ticks) => ticks.map((tick) => `${tick} s`) }) };
  const plot = new uPlot({
    width: box.clientWidth,
    height: options.height ?? 220,
    scales: { x: { time: false }, y: options.log ? { distr: 3 } : { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.05 : 1] } },
    axes: [x, { ...axis, size: 64 }],
    series: [
      { label: options.xLabel ?? 'second' },
      ...series.map(([label], at) => ({ label, stroke: colours[at % colours.length], width: 1.5, points: { show: false }, spanGaps: true })),
    ],
  }, [xs, ...series.map(([, values]) => values)], box);
  plots.push([plot, box]);
}

const time = document.getElementById('time');
chart(time, 'Answers each second', '', data.seconds, [['succeeded', data.done], ['failed', data.failed], ['users or rate', data.level]]);
chart(time, 'Latency', 'ms', data.seconds, [['p50', data.p50], ['p95', data.p95], ['p99', data.p99], ['longest', data.max]]);
chart(time, 'Latency of each operation (p95)', 'ms', data.seconds, data.operations.map(({ label, values }) => [label, values]));
chart(time, 'Bodies', 'MB each second', data.seconds, [['sent', data.sent], ['received', data.received]]);
chart(time, 'How busy the generator was', '%', data.seconds, [['generator', data.generator]]);

// The places of percentiles are those of the nines: the tail gets as much room as the body.
const place = (percent) => (percent >= 100 ? 4.6 : -Math.log10(1 - percent / 100));
const known = new Map(data.percents.map((percent) => [place(percent), percent]));
chart(document.getElementById('curves'), 'Latency', 'ms', data.percents.map(place),
  data.curves.map(({ label, values }) => [label, values.map((value) => Math.max(value, 0.001))]),
  { log: true, height: 320, xLabel: 'place', x: { splits: () => [...known.keys()].filter((_, at) => at % 2 === 1 || at > 6), values: (_, ticks) => ticks.map((tick) => `${known.get(tick)} %`) } });

const watched = document.getElementById('monitors');
if (watched) {
  for (const { name, points } of data.monitors) {
    chart(watched, name, '', points.map(([at]) => at), [['value', points.map(([, value]) => value)]], { height: 140 });
  }
}

addEventListener('resize', () => plots.forEach(([plot, box]) => plot.setSize({ width: box.clientWidth, height: plot.height })));
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => plots.forEach(([plot]) => plot.redraw()));
