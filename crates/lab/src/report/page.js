'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
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
