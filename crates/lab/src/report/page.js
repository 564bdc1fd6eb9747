'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const time = document.getElementById('time');
count(data.seconds, data.counted);
chart(time, 'Responses per second', '', data.seconds, [['succeeded', data.done], ['failed', data.failed], ['users or rate', data.level]]);
chart(time, 'Latency', 'ms', data.seconds, [['p50', data.p50], ['p95', data.p95], ['p99', data.p99], ['longest', data.max]]);
chart(time, 'Latency of each operation (p95)', 'ms', data.seconds, data.operations.map(({ label, values }) => [label, values]));
chart(time, 'Bodies', 'B/s', data.seconds, [['sent', data.sent], ['received', data.received]]);
chart(time, 'Utilisation of the generator', '%', data.seconds, [['generator', data.generator]]);

// The places of percentiles are those of the nines: the tail gets as much room as the body.
const place = (percent) => (percent >= 100 ? 4.6 : -Math.log10(1 - percent / 100));
const known = new Map(data.percents.map((percent) => [place(percent), `${percent} %`]));
// Those that say most come first; the others are named where there is room between them.
const telling = [...new Set([99, 50, 90, 99.9, 99.99, 100, 95, 75, ...data.percents])];
function named(plot) {
  const across = (plot.width - 80) / place(100);
  const half = (at) => known.get(at).length * 3.5 + 5;
  const chosen = [];
  for (const at of telling.map(place)) {
    if (chosen.every((other) => Math.abs(at - other) * across > half(at) + half(other))) chosen.push(at);
  }
  return chosen.sort((a, b) => a - b);
}
chart(document.getElementById('curves'), 'Latency', 'ms', data.percents.map(place),
  data.curves.map(({ label, values }) => [label, values.map((value) => Math.max(value, 0.001))]), {
    log: true, height: 320, x: { splits: named, values: (_, ticks) => ticks.map((tick) => known.get(tick)) },
    xSeries: { label: 'percentile', value: (_, value) => known.get(value) ?? '-' },
  });

const watched = document.getElementById('monitors');
if (watched) {
  for (const { name, unit, points } of data.monitors) {
    chart(watched, name, unit, points.map(([at]) => at), [['value', points.map(([, value]) => value)]], { height: 140 });
  }
}
