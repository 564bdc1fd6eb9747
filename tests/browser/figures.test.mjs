// The figures of the server, as charts that are kept up to date and as a table that is there without them.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  NARROW, PASSWORD, WIDE, assertAccessible, assertFits, assertWordsWhole, openPage, picture, signIn, startBrowser, startServer,
} from './rig.mjs';

let server;
let browser;
before(async () => {
  server = await startServer();
  browser = await startBrowser();
  await server.json('POST', '/api/v1/users', { login: 'berta', password: PASSWORD });
  await work();
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

/** Something to be seen in the figures. */
async function work() {
  for (let i = 0; i < 20; i += 1) {
    await server.put(`Work/${i}.txt`, `Document ${i}.\n`.repeat(4_000));
    await server.api('GET', `/api/v1/content/Documents/Work/${i}.txt`).then((answer) => answer.arrayBuffer());
  }
}

/** The figures as programs get them. */
const figures = async (query = '') => (await server.api('GET', `/api/v1/farm/figures${query}`)).json();

/** Waits until so many samples were taken. */
async function samples(count) {
  let found = await figures();
  while (found.times.length < count) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    found = await figures();
  }
  return found;
}

/** How many pixels of a chart are not empty. */
const painted = (page, chart) => page.locator(`section[aria-labelledby="chart-${chart}"] canvas`).evaluate((canvas) => {
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return data.filter((value, i) => i % 4 === 3 && value > 0).length;
});

const cell = (page, figure, which) => page.locator(`tr[data-figure=${figure}] [data-${which}]`);

test('programs get what came since, and only those of administrators', async () => {
  const all = await samples(2);
  const of = (name) => all.figures.find((figure) => figure.name === name);
  assert.equal(of('requests').values.length, all.times.length);
  assert.ok(Math.max(...of('uploads').values) > 0 && Math.max(...of('blob_writes').values) > 0);
  assert.ok(Math.max(...of('received').values) > Math.max(...of('uploads').values));
  assert.ok(Math.max(...of('answer_p99').values) >= Math.max(...of('answer_p50').values));
  assert.ok(Math.max(...of('database_writes').values) > 0 && of('memory').values[0] > 1e6);
  assert.deepEqual((await figures(`?since=${all.times[0]}`)).times[0], all.times[1]);
  assert.equal((await figures('?step=120')).kept_seconds, 86_400);
  assert.equal((await server.api('GET', '/api/v1/farm/figures?step=7')).status, 400);
  const page = await openPage(browser, server);
  page.expectFault(/403/);
  await signIn(page, 'berta');
  assert.equal((await page.goto('/farm/figures')).status(), 403);
  assert.equal((await page.context().request.get('/api/v1/farm/figures')).status(), 403);
  await page.finish();
});

test('charts are drawn and go on by themselves, and a server that is silent is told of', async () => {
  const page = await openPage(browser, server);
  page.expectFault(/ERR_FAILED/);
  await signIn(page);
  await page.goto('/farm/figures');
  await cell(page, 'connections', 'last').getByText(/^\d+$/).waitFor();
  const drawn = await painted(page, 'traffic');
  assert.ok(drawn > 0);
  const before = (await figures()).times.length;
  await work();
  await samples(before + 2);
  await page.waitForFunction(() => !/^0/.test(document.querySelector('tr[data-figure=uploads] [data-highest]').textContent));
  assert.notEqual(await painted(page, 'documents'), 0);
  // The legend of a chart tells what is under the pointer, in all charts.
  const plot = page.locator('section[aria-labelledby="chart-memory"] .u-over');
  const box = await plot.boundingBox();
  await page.mouse.move(box.x + box.width - 2, box.y + 20);
  await page.locator('section[aria-labelledby="chart-requests"] [data-at]').getByText(/\d/).waitFor();
  await page.mouse.move(0, 0);
  await page.route('**/api/v1/farm/figures*', (route) => route.abort());
  await page.getByRole('status').getByText('does not answer').waitFor();
  await page.unroute('**/api/v1/farm/figures*');
  await page.getByRole('status').getByText('does not answer').waitFor({ state: 'hidden' });
  await page.getByRole('link', { name: '24 hours' }).click();
  await page.waitForURL('**range=24h');
  assert.equal(await page.getByRole('link', { name: '24 hours' }).getAttribute('aria-current'), 'page');
  await page.finish();
});

test('the overview has the first of them, and no other page fetches what draws them', async () => {
  const page = await openPage(browser, server);
  const fetched = [];
  page.on('request', (request) => fetched.push(new URL(request.url()).pathname));
  await signIn(page);
  for (const address of ['/', '/browse/Documents', '/farm/users']) await page.goto(address);
  assert.deepEqual(fetched.filter((path) => /uPlot|figures/.test(path)), []);
  await page.goto('/farm');
  await page.locator('section[aria-labelledby="chart-requests"] canvas').waitFor();
  const row = page.locator('tbody tr').filter({ hasText: server.url });
  await row.getByText('This server').waitFor();
  assert.equal(await page.locator('.chart canvas').count(), 4);
  await page.getByRole('link', { name: 'All metrics' }).click();
  await page.waitForURL('**/farm/figures');
  await page.finish();
});

test('without scripts the table has it all', async () => {
  await samples(2);
  const page = await openPage(browser, server, { javaScriptEnabled: false });
  await signIn(page);
  await page.goto('/farm/figures?range=1h');
  assert.match(await cell(page, 'memory', 'highest').innerText(), /^[\d.]+\sMiB$/);
  assert.match(await cell(page, 'answer_p99', 'mean').innerText(), /^[\d.]+\s(µs|ms|s)$/);
  assert.equal(await page.locator('.plot').first().isVisible(), false);
  await picture(page, 'figures-without-scripts');
  await page.finish();
});

for (const [scheme, screen, viewport] of [['light', 'wide', WIDE], ['dark', 'wide', WIDE], ['light', 'narrow', NARROW], ['dark', 'narrow', NARROW]]) {
  test(`the figures fit and are accessible: ${scheme}, ${screen}`, async () => {
    await samples(3);
    const page = await openPage(browser, server, { scheme, viewport });
    await signIn(page);
    for (const [name, address] of [['figures', '/farm/figures'], ['figures-day', '/farm/figures?range=24h'], ['figures-overview', '/farm']]) {
      await page.goto(address);
      await page.locator('.plot canvas').first().waitFor();
      await page.waitForLoadState('networkidle');
      await picture(page, `${name}-${scheme}-${screen}`);
      await assertFits(page);
      await assertAccessible(page);
      await assertWordsWhole(page);
      // What a card would hide is there all the same.
      const highest = page.locator('tr[data-figure=sent] [data-highest]');
      if (await highest.count()) {
        const { x, width } = await highest.boundingBox();
        assert.ok(x + width <= viewport.width, `the table of ${address} is cut`);
      }
    }
    await page.finish();
  });
}
