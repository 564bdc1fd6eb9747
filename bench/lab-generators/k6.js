// The scenario of bench/lab-scenario for k6: eight of ten get one of the documents, two put one.
import http from 'k6/http';
import { SharedArray } from 'k6/data';
import exec from 'k6/execution';

const paths = new SharedArray('paths', () => open(__ENV.LAB_PATHS).trim().split('\n'));
const body = 'x'.repeat(Number(__ENV.LAB_SIZE));
export const options = {
  vus: Number(__ENV.LAB_USERS),
  duration: `${__ENV.LAB_SECONDS}s`,
  discardResponseBodies: true,
};

export default function () {
  if (Math.random() < 0.8) {
    const path = paths[Math.floor(Math.random() * paths.length)];
    http.get(`${__ENV.LAB_URL}${path}`, { tags: { name: 'get' } });
  } else {
    const name = `k6-${exec.vu.idInTest}-${exec.vu.iterationInScenario}`;
    http.put(`${__ENV.LAB_URL}${__ENV.LAB_NEW}${name}`, body, { tags: { name: 'put' } });
  }
}

export function handleSummary(data) {
  const requests = data.metrics.http_reqs.values.count;
  // Of a rate, "passes" counts those for which it was true: requests that failed.
  const failed = data.metrics.http_req_failed.values.passes;
  return { stdout: `lab-count ${requests - failed} ${failed}\n` };
}
