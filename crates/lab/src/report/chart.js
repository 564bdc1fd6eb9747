'use strict';
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
  return plot;
}

addEventListener('resize', () => plots.forEach(([plot, box]) => plot.setSize({ width: box.clientWidth, height: plot.height })));
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => plots.forEach(([plot]) => plot.redraw()));
