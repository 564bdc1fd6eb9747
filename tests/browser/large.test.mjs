// A folder of thousands of documents: read through without a stop, selected as a whole, and handled in batches.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { NARROW, assertAccessible, openPage, picture, signIn, startBrowser, startServer } from './rig.mjs';

const MANY = 2500;
let server;
let browser;
before(async () => {
  server = await startServer();
  browser = await startBrowser();
  const numbers = Array.from({ length: MANY }, (_, at) => String(at).padStart(4, '0'));
  // Some at a time, as the server takes them.
  while (numbers.length) await Promise.all(numbers.splice(0, 20).map((number) => server.put(`large/${number}.txt`, number)));
  await server.put('target/here.txt', 'x');
  await server.put('large.txt', 'x');
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const row = (page, number) => page.locator('tr[data-kind=document]').filter({ has: page.getByRole('link', { name: `${String(number).padStart(4, '0')}.txt`, exact: true }) });
const count = (page) => page.locator('tr[data-id]').count();
const held = (path) => server.count(`Documents/${path}`);

/** Scrolls to the end until nothing follows. */
async function scrollThrough(page) {
  for (;;) {
    const before = await page.evaluate(() => document.querySelector('.pager a[rel=next]')?.getAttribute('href'));
    if (!before) return;
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
    await page.waitForFunction((old) => document.querySelector('.pager a[rel=next]')?.getAttribute('href') !== old, before);
  }
}

test('a folder of thousands is read through without a stop, and no column moves', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  await page.goto('/browse/Documents/large');
  const lefts = () => page.locator('thead th').evaluateAll((heads) => heads.map((head) => Math.round(head.getBoundingClientRect().left)));
  const before = await lefts();
  await row(page, 0).getByRole('checkbox').check();
  await scrollThrough(page);
  await row(page, MANY - 1).waitFor();
  assert.ok((await count(page)) <= 1300, `${await count(page)} rows are in the page`);
  assert.deepEqual(await lefts(), before);
  // What is selected stays so, although its row is given up.
  await page.locator('.selection strong', { hasText: '1 selected' }).waitFor();
  // On the way back, the rows are there again, in order and each once.
  await page.evaluate(() => scrollTo(0, 0));
  await row(page, 0).waitFor();
  assert.ok(await row(page, 0).getByRole('checkbox').isChecked());
  await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight / 2));
  await page.waitForFunction(() => [...document.querySelectorAll('tr[data-id]')].some((line) => {
    const { top, bottom } = line.getBoundingClientRect();
    return bottom > 0 && top < innerHeight;
  }));
  const names = await page.locator('tr[data-id] .item > a').allInnerTexts();
  assert.deepEqual(names, [...names].sort());
  assert.equal(new Set(names).size, names.length);
  await assertAccessible(page);
  // And so it is after a look at a document.
  const seen = await page.evaluate(() => [...document.querySelectorAll('tr[data-id]')].find((line) => line.getBoundingClientRect().top > innerHeight / 2).querySelector('.item > a').textContent);
  await page.getByRole('link', { name: seen, exact: true }).click();
  await page.getByRole('heading', { level: 1, name: seen }).waitFor();
  await page.goBack();
  await page.waitForFunction((name) => [...document.querySelectorAll('tr[data-id] .item > a')].some((link) => {
    const { top } = link.getBoundingClientRect();
    return link.textContent === name && top > 0 && top < innerHeight;
  }), seen);
  await page.finish();
});

test('rows that others delete and add meanwhile are shown as they are', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  await page.goto('/browse/Documents/large');
  await scrollThrough(page);
  await row(page, MANY - 1).waitFor();
  await server.put('large/0060a.txt', 'new');
  const gone = await server.ask('GET', '/api/v1/items/by-path?path=Documents/large/0070.txt');
  await server.ask('DELETE', `/api/v1/items/${gone.id}`);
  await page.evaluate(() => scrollTo(0, 2000));
  await page.getByRole('link', { name: '0060a.txt', exact: true }).waitFor();
  await row(page, 99).waitFor();
  assert.equal(await row(page, 70).count(), 0);
  const names = await page.locator('tr[data-id] .item > a').allInnerTexts();
  assert.equal(new Set(names).size, names.length);
  for (const number of [51, 60, 61, 98, 99]) assert.ok(names.includes(`${String(number).padStart(4, '0')}.txt`), number);
  const added = await server.ask('GET', '/api/v1/items/by-path?path=Documents/large/0060a.txt');
  await server.ask('DELETE', `/api/v1/items/${added.id}`);
  await server.put('large/0070.txt', 'again');
  await page.finish();
});

test('all of a folder is selected and moved in batches, with progress, and a stop keeps what was done', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  await page.goto('/browse/Documents/large');
  await page.getByRole('checkbox', { name: 'Select all' }).check();
  await page.getByRole('button', { name: 'Select all' }).click();
  await page.locator('.selection strong', { hasText: '2,500 selected' }).waitFor();
  await picture(page, 'large/selected');
  await page.locator('.selection').getByRole('button', { name: 'Move' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('heading', { name: 'Move 2,500 items' }).waitFor();
  await assertAccessible(page);
  await dialog.locator('.crumbs').getByRole('link', { name: 'Documents', exact: true }).click();
  await dialog.locator('.places li', { hasText: 'target' }).getByRole('button', { name: 'Move here: target' }).click();
  await dialog.getByRole('progressbar').waitFor();
  await picture(page, 'large/progress');
  await page.getByText('Done: 2,500 of 2,500.').waitFor({ timeout: 60_000 });
  assert.deepEqual([await held('target'), await held('large')], [MANY + 1, 0]);
  // Back again, but stopped on the way.
  await page.goto('/browse/Documents/target');
  await page.getByRole('checkbox', { name: 'Select all' }).check();
  await page.getByRole('button', { name: 'Select all' }).click();
  await page.locator('.selection strong', { hasText: '2,501 selected' }).waitFor();
  await page.locator('.selection').getByRole('button', { name: 'Delete' }).click();
  await dialog.getByRole('button', { name: 'Stop' }).click();
  await page.getByText(/^Stopped after/).waitFor();
  const left = await held('target');
  assert.ok(left > 0 && left < MANY + 1, `${left} are left`);
  await page.finish();
});

test('two windows with one selection: what is gone is said, nothing else happens', async () => {
  const names = Array.from({ length: 230 }, (_, at) => `both/${String(at).padStart(3, '0')}.txt`);
  while (names.length) await Promise.all(names.splice(0, 20).map((name) => server.put(name, name)));
  const page = await openPage(browser, server, { viewport: NARROW });
  await signIn(page);
  await page.goto('/browse/Documents/both');
  await page.getByRole('checkbox', { name: 'Select all' }).check();
  await page.getByRole('button', { name: 'Select all' }).click();
  await page.locator('.selection strong', { hasText: '230 selected' }).waitFor();
  const other = await server.ask('GET', '/api/v1/items/by-path?path=Documents/both/007.txt');
  await server.ask('DELETE', `/api/v1/items/${other.id}`);
  await page.locator('.selection').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Done: 229 of 230. 1 failed. First error:').waitFor({ timeout: 30_000 });
  assert.equal(await held('both'), 0);
  await picture(page, 'large/one-failed');
  await page.finish();
});
