// How heavy pages are: bytes over the network with an empty cache, and the largest script of a listing.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openPage, signIn, startBrowser, startServer } from './rig.mjs';

/** Limits in bytes as they are sent: of the first page, of any other, and of a script. */
const MOST_FIRST = 75_000;
const MOST_COLD = 100_000;
const MOST_SCRIPT = 30_000;
let server;
let browser;
before(async () => {
  server = await startServer();
  browser = await startBrowser();
  for (let at = 0; at < 60; at += 1) await server.put(`listed/${at}.txt`, 'x');
  await server.put('page.md', '# Words');
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

/** Loads an address and returns the bytes of each answer, by path. */
async function load(page, address) {
  const network = await page.context().newCDPSession(page);
  await network.send('Network.enable');
  const [paths, sizes] = [new Map(), new Map()];
  network.on('Network.responseReceived', ({ requestId, response }) => paths.set(requestId, new URL(response.url).pathname));
  network.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => sizes.set(paths.get(requestId), encodedDataLength));
  await page.goto(address, { waitUntil: 'networkidle' });
  await network.detach();
  return sizes;
}

const sum = (sizes) => [...sizes.values()].reduce((all, size) => all + size, 0);

test('pages are light with an empty cache, and no script of a listing is heavy', async () => {
  const figures = {};
  for (const address of ['/', '/browse/Documents/listed', '/browse/Documents/listed/0.txt', '/browse/Documents/page.md']) {
    const page = await openPage(browser, server);
    await signIn(page);
    // The browser has loaded scripts for the page after signing in: it forgets them.
    const network = await page.context().newCDPSession(page);
    await network.send('Network.clearBrowserCache');
    const sizes = await load(page, address);
    const scripts = [...sizes].filter(([path]) => path.endsWith('.js') || path.endsWith('.mjs'));
    const [name, largest] = scripts.sort(([, one], [, other]) => other - one)[0];
    figures[address] = { requests: sizes.size, bytes: sum(sizes), scripts: scripts.length, 'largest script': `${name.split('/').pop()} ${largest}` };
    assert.ok(largest < MOST_SCRIPT, `${name}: ${largest}`);
    assert.ok(sum(sizes) < (address === '/' ? MOST_FIRST : MOST_COLD), `${address}: ${sum(sizes)}\n${[...sizes].sort(([, one], [, other]) => other - one).slice(0, 12).join('\n')}`);
    await page.finish();
  }
  console.log(JSON.stringify(figures, undefined, 2));
});
