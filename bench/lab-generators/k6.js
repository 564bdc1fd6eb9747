// The scenario of bench/lab-scenario for k6: eight of ten get one of the documents, two put one. With LAB_COMPARE each document is
// compared with what it must be.
import http from 'k6/http';
import exec from 'k6/execution';
import { Counter } from 'k6/metrics';

// Each user has them for itself: what users share, k6 decodes each time.
const paths = open(__ENV.LAB_PATHS).trim().split('\n');
const contents = __ENV.LAB_COMPARE ? paths.map((path) => open(`${__ENV.LAB_FILES}${decodeURIComponent(path)}`)) : [];
const others = new Counter('others');
const body = 'x'.repeat(Number(__ENV.LAB_SIZE));
export const options = {
  vus: Number(__ENV.LAB_USERS),
  duration: `${__ENV.LAB_SECONDS}s`,
  discardResponseBodies: !__ENV.LAB_COMPARE,
};

export default function () {
  if (Math.random() < 0.8) {
    const number = Math.floor(Math.random() * paths.length);
    const answer = http.get(`${__ENV.LAB_URL}${paths[number]}`, { tags: { name: 'get' } });
    if (__ENV.LAB_COMPARE && answer.body !== contents[number]) others.add(1);
  } else {
    const name = `k6-${exec.vu.idInTest}-${exec.vu.iterationInScenario}`;
    http.put(`${__ENV.LAB_URL}${__ENV.LAB_NEW}${name}`, body, { tags: { name: 'put' } });
  }
}

export function handleSummary(data) {
  const requests = data.metrics.http_reqs.values.count;
  // Of a rate, "passes" counts those for which it was true: requests that failed.
  const failed = data.metrics.http_req_failed.values.passes + (data.metrics.others?.values.count ?? 0);
  return { stdout: `lab-count ${requests - failed} ${failed}\n` };
}
