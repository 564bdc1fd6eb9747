// A file whose name is taken: the queue asks before it sends.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import {
  NARROW, WIDE, assertAccessible, assertFits, openPage, picture, signIn, startBrowser, startServer,
} from './rig.mjs';

let server;
let browser;
before(async () => {
  server = await startServer();
  browser = await startBrowser();
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const file = (name, text) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });
const textOf = async (path) => (await server.api('GET', `/api/v1/content/Documents/${path}`)).text();
const namesIn = async (folder) => {
  const answer = await server.api('GET', `/api/v1/items/by-path/children?path=Documents/${folder}`);
  return (await answer.json()).items.map((item) => item.name);
};

/** Opens a folder of its own that holds Plan.txt and Notes.txt. */
async function openFolder(page, folder) {
  await server.put(`${folder}/Plan.txt`, 'old plan');
  await server.put(`${folder}/Notes.txt`, 'old notes');
  await page.goto(`/browse/Documents/${folder}`);
}

/** Waits until the listing was loaded again after the uploads. */
const reloaded = (page) => page.waitForFunction(() => !window.before);

for (const [scheme, screen, viewport] of [['light', 'wide', WIDE], ['dark', 'wide', WIDE], ['light', 'narrow', NARROW], ['dark', 'narrow', NARROW]]) {
  test(`a name that is taken is asked about: ${scheme}, ${screen}`, async () => {
    const folder = `${scheme}-${screen}`;
    const page = await openPage(browser, server, { scheme, viewport });
    await signIn(page);
    await openFolder(page, folder);
    await page.evaluate(() => { window.before = true; });
    await page.locator('#upload-files').setInputFiles([file('Plan.txt', 'new plan'), file('Fresh.txt', 'fresh')]);
    const queue = page.locator('#upload-queue');
    await queue.getByText('“Plan.txt” already exists.').waitFor();
    await picture(page, `upload-taken-${folder}`);
    await assertFits(page);
    await assertAccessible(page);
    assert.equal(await textOf(`${folder}/Plan.txt`), 'old plan', 'nothing is sent before the answer');
    await queue.getByRole('button', { name: 'Replace, as a new version' }).click();
    await reloaded(page);
    assert.equal(await textOf(`${folder}/Plan.txt`), 'new plan');
    assert.equal(await textOf(`${folder}/Fresh.txt`), 'fresh');
    await page.finish();
  });
}

test('both are kept, or a file is left out, for all when that is ticked', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  await openFolder(page, 'both');
  const choose = async (answer, forAll) => {
    await page.evaluate(() => { window.before = true; });
    await page.locator('#upload-files').setInputFiles([file('Plan.txt', 'new plan'), file('Notes.txt', 'new notes')]);
    const queue = page.locator('#upload-queue');
    for (let asked = 0; asked < (forAll ? 1 : 2); asked += 1) {
      const question = queue.locator('.question').first();
      await question.waitFor();
      if (forAll) await question.getByRole('checkbox').check();
      await question.getByRole('button', { name: answer }).click();
    }
    await reloaded(page);
  };
  await choose('Skip', true);
  assert.deepEqual((await namesIn('both')).toSorted(), ['Notes.txt', 'Plan.txt']);
  assert.equal(await textOf('both/Plan.txt'), 'old plan');
  await choose('Keep both', false);
  assert.deepEqual((await namesIn('both')).toSorted(), ['Notes (2).txt', 'Notes.txt', 'Plan (2).txt', 'Plan.txt']);
  assert.equal(await textOf('both/Plan (2).txt'), 'new plan');
  await page.finish();
});

test('what has ended is not taken up again, however slow the browser is to forget it', async () => {
  const page = await openPage(browser, server);
  await page.addInitScript(() => {
    const remove = IDBObjectStore.prototype.delete;
    IDBObjectStore.prototype.delete = function slowly(key) {
      for (let read = 0; read < 3000; read += 1) this.getAll();
      return remove.call(this, key);
    };
  });
  await signIn(page);
  await openFolder(page, 'forgotten');
  await page.evaluate(() => { window.before = true; });
  await page.locator('#upload-files').setInputFiles([file('First.txt', 'first'), file('Second.txt', 'second')]);
  await reloaded(page);
  const left = await page.evaluate(() => new Promise((resolve, reject) => {
    const request = indexedDB.open('strongroom-uploads');
    request.onsuccess = () => {
      const all = request.result.transaction('jobs').objectStore('jobs').count();
      all.onsuccess = () => resolve(all.result);
    };
    request.onerror = () => reject(request.error);
  }));
  assert.equal(left, 0);
  assert.deepEqual((await namesIn('forgotten')).toSorted(), ['First.txt', 'Notes.txt', 'Plan.txt', 'Second.txt']);
  await page.finish();
});

test('without script the form asks what to do', async () => {
  const page = await openPage(browser, server, { javaScriptEnabled: false });
  await signIn(page);
  await openFolder(page, 'plain');
  for (const [choice, plan, count] of [['Skip', 'old plan', 2], ['Keep both', 'old plan', 3], ['Replace, as a new version', 'newer', 3]]) {
    await page.goto('/browse/Documents/plain');
    await page.getByRole('link', { name: 'Upload' }).click();
    await page.getByRole('radio', { name: choice }).check();
    await page.locator('input[type=file]').setInputFiles([file('Plan.txt', 'newer')]);
    await page.getByRole('button', { name: 'Upload' }).click();
    await page.waitForURL('**/browse/Documents/plain');
    assert.equal(await textOf('plain/Plan.txt'), plan, choice);
    assert.equal((await namesIn('plain')).length, count, choice);
  }
  await page.finish();
});

test('an upload survives a lost connection and another page', async () => {
  const page = await openPage(browser, server);
  page.expectFault(/ERR_FAILED|net::/);
  await signIn(page);
  await openFolder(page, 'survives');
  const big = join(mkdtempSync(join(tmpdir(), 'strongroom-upload-')), 'Big.bin');
  const size = 40 * 2 ** 20;
  writeFileSync(big, Buffer.alloc(size, 7));
  let lost = 0;
  await page.route('**/api/v1/uploads/*', (route) => { lost += 1; return route.abort(); });
  await page.locator('#upload-files').setInputFiles(big);
  const queue = page.locator('#upload-queue');
  await queue.getByText('No connection; trying again').waitFor();
  await picture(page, 'upload-lost');
  await assertAccessible(page);
  assert.ok(lost > 0);
  await page.unroute('**/api/v1/uploads/*');
  await page.goto('/account');
  await queue.getByText('Uploads finished').waitFor({ timeout: 30_000 });
  const stored = await (await server.api('GET', '/api/v1/items/by-path?path=Documents/survives/Big.bin')).json();
  assert.equal(stored.size, size);
  rmSync(dirname(big), { recursive: true });
  await page.finish();
});

test('an upload is paused and goes on', async () => {
  const page = await openPage(browser, server);
  page.expectFault(/ERR_FAILED|net::/);
  await signIn(page);
  await openFolder(page, 'pauses');
  await page.evaluate(() => { window.before = true; });
  let release;
  const released = new Promise((resolve) => { release = resolve; });
  const held = new Promise((resolve) => {
    page.route('**/api/v1/uploads', async (route) => {
      resolve();
      await released;
      return route.continue().catch(() => {});
    });
  });
  await page.locator('#upload-files').setInputFiles([file('Wait.txt', 'wait')]);
  const queue = page.locator('#upload-queue');
  await held;
  await queue.getByRole('button', { name: 'Pause' }).click();
  await queue.getByText('paused').waitFor();
  await page.unroute('**/api/v1/uploads');
  release();
  await queue.getByRole('button', { name: 'Resume' }).click();
  await reloaded(page);
  assert.equal(await textOf('pauses/Wait.txt'), 'wait');
  await page.finish();
});

test('what the server refuses is said in the language of the page, at once', async () => {
  const page = await openPage(browser, server, { locale: 'de-DE' });
  page.expectFault(/507/);
  await signIn(page);
  await openFolder(page, 'refused');
  const { items: [{ id }] } = await (await server.api('GET', '/api/v1/site-collections')).json();
  const allow = async (bytes) => {
    const answer = await server.json('PATCH', `/api/v1/site-collections/${id}`, { quota_bytes: bytes });
    assert.equal(answer.status, 200, await answer.text());
  };
  await allow(1);
  await page.locator('#upload-files').setInputFiles([file('Much.txt', 'more than there is room for')]);
  const queue = page.locator('#upload-queue');
  await queue.getByText('Die Website hat keinen Platz mehr').waitFor();
  await picture(page, 'upload-refused-german');
  await assertAccessible(page);
  await allow(null);
  await page.finish();
});
