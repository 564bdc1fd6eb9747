'use strict';
const state = document.getElementById('state');
const columns = Array.from({ length: 12 }, () => []);
const drawn = [
  ['Responses per second', '', [['succeeded', 2], ['failed', 3], ['users or rate', 1]]],
  ['Latency', 'ms', [['p50', 4], ['p95', 5], ['p99', 6], ['longest', 7]]],
  ['Bodies', 'B/s', [['sent', 8], ['received', 9]]],
  ['Utilisation of the generator', '%', [['generator', 10]]],
].map(([title, unit, series]) => {
  const plot = chart(document.getElementById('time'), title, unit, columns[0], series.map(([label, at]) => [label, columns[at]]));
  return [plot, series.map(([, at]) => at)];
});

async function look() {
  let again = 1000;
  try {
    const answer = await fetch(`/data?from=${columns[0].length}`, { cache: 'no-store' });
    const { phase, lasts, seconds, said } = await answer.json();
    for (const second of seconds) second.forEach((value, at) => columns[at].push(value));
    count(columns[0], columns[11]);
    if (seconds.length) drawn.forEach(([plot, ats]) => plot.setData([columns[0], ...ats.map((at) => columns[at])]));
    const counted = columns[11].at(-1) === 0 ? ', not counted yet' : '';
    state.textContent = `${phase}${lasts ? `, second ${columns[0].length} of ${lasts}${counted}` : ''}`;
    document.getElementById('said').replaceChildren(...said.map((text) => Object.assign(document.createElement('li'), { className: 'bad', textContent: text })));
    if (phase === 'over') return;
    if (seconds.length > 1000) again = 0;
  } catch {
    state.textContent = 'the run is over, or its process has ended';
    return;
  }
  setTimeout(look, again);
}
look();
