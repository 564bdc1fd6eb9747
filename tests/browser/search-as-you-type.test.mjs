// Searching while one types: suggestions of the search box, results that follow the text, moving through them by keyboard,
// and the preview with all passages.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  NARROW, WIDE, assertAccessible, assertFits, openPage, picture, signIn, startBrowser, startServer,
} from './rig.mjs';

const FILLER = 'Rivers, boats and bridges stand here. '.repeat(20);

let server;
let browser;
before(async () => {
  server = await startServer();
  browser = await startBrowser();
  await server.put('Birds/Heron report.txt', `The heron fishes. ${FILLER}Two herons rest. ${FILLER}The last heron flies.`);
  await server.put('Birds/Old/heron notes.txt', 'A heron in winter.');
  await server.put('Kingfisher.txt', 'A kingfisher, and a heron beside it.');
  const page = await openPage(browser, server);
  await signIn(page);
  const end = Date.now() + 20_000;
  const rows = page.locator('[data-results] tr');
  do await page.goto('/search?q=heron'); while (await rows.count() < 3 && Date.now() < end);
  assert.equal(await rows.count(), 3, 'all texts are indexed');
  await page.finish();
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const box = (page) => page.getByRole('combobox', { name: 'Search names and texts' }).first();
const option = (page, name) => page.getByRole('option', { name });
const rowOf = (page, name) => page.locator('[data-results] tr', { has: page.getByRole('link', { name, exact: true }) });

for (const [scheme, viewport, screen] of [['light', WIDE, 'wide'], ['dark', NARROW, 'narrow']]) {
  test(`suggestions, preview and wider searches are readable and accessible: ${scheme}, ${screen}`, async () => {
    const page = await openPage(browser, server, { scheme, viewport });
    const look = async (name) => {
      await picture(page, `${name}-${scheme}-${screen}`);
      await assertFits(page);
      await assertAccessible(page);
    };
    await signIn(page);
    await page.goto('/');
    await box(page).fill('heron ad');
    await option(page, /Administrator/).waitFor();
    await look('suggestions-people');
    await box(page).fill('heron');
    await option(page, /heron notes/).waitFor();
    await look('suggestions');
    await page.goto('/search?q=heron');
    await rowOf(page, 'Heron report.txt').getByRole('link', { name: 'Preview of Heron report.txt' }).click();
    await page.locator('.pane .passages').waitFor();
    await look('search-preview');
    await page.goto('/search?q=zzzz+type:pdf+in:"Documents/Birds"');
    await page.getByRole('link', { name: 'Without filters' }).waitFor();
    await look('search-wider');
    await page.finish();
  });
}

test('the box suggests searches, names and people, and keeps recent searches to itself', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  await page.goto('/browse/Documents/Birds');
  await page.keyboard.press('/');
  await page.keyboard.type('heron');
  await option(page, /heron notes/).waitFor();
  assert.equal(await box(page).getAttribute('aria-activedescendant'), null, 'nothing is chosen by itself');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  assert.equal(await page.locator('[role=option][aria-selected]').textContent(), 'Search for “heron” in Birds');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/search/);
  assert.equal(await box(page).inputValue(), 'heron in:"Documents/Birds"');
  await rowOf(page, 'heron notes.txt').waitFor();
  assert.equal(await page.locator('[data-results] tr').count(), 2);
  // The filter is shown, and its cross removes it.
  await page.getByRole('link', { name: /In Documents \/ Birds/ }).click();
  await rowOf(page, 'Kingfisher.txt').waitFor();
  assert.equal(await box(page).inputValue(), 'heron');

  // A person in place of the last word; Escape closes the list, and the text stays.
  await page.goto('/browse/Documents/Birds');
  await box(page).fill('heron adm');
  await option(page, /Administrator/).waitFor();
  await page.keyboard.press('Escape');
  assert.equal(await box(page).getAttribute('aria-expanded'), 'false');
  assert.equal(await box(page).inputValue(), 'heron adm');
  await box(page).fill('heron adm');
  await option(page, /Administrator/).click();
  await page.waitForURL(/author/);
  assert.equal(await box(page).inputValue(), 'heron author:admin');

  // An empty box offers what was searched; Delete removes one, and the last entry all.
  await page.goto('/');
  await box(page).fill('river');
  await page.keyboard.press('Enter');
  await page.waitForURL(/river/);
  await page.goto('/');
  await box(page).click();
  await option(page, 'river').waitFor();
  const names = await page.getByRole('option').allTextContents();
  assert.deepEqual(names, ['river', 'heron author:admin', 'heron in:"Documents/Birds"', 'Clear recent searches']);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Delete');
  await option(page, 'river').waitFor({ state: 'detached' });
  await page.goto('/search');
  await page.getByRole('link', { name: 'heron in:"Documents/Birds"' }).waitFor();
  await page.getByRole('button', { name: 'Clear recent searches' }).click();
  await page.locator('section[data-recent]').waitFor({ state: 'hidden' });
  const kept = () => page.evaluate(() => Object.keys(localStorage).filter((key) => key.includes('searches')).length);
  assert.equal(await kept(), 0);
  // Signing out clears them too. Half a surrogate pair among them does no harm.
  await page.evaluate(() => localStorage.setItem('strongroom-searches:admin', JSON.stringify(['\ud83d', 'winter'])));
  await page.goto('/search');
  await page.getByRole('link', { name: 'winter', exact: true }).waitFor();
  assert.equal(await page.locator('section[data-recent] li').count(), 1);
  await page.getByRole('button', { name: 'Account of' }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL(/sign-in/);
  assert.equal(await kept(), 0);
  await page.finish();
});

test('the results follow the text, and an older answer never replaces a newer one', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  await page.goto('/search?q=kingfisher&sort=newest');
  await rowOf(page, 'Kingfisher.txt').waitFor();
  await page.evaluate(() => { globalThis.here = true; });
  let release;
  const held = new Promise((resolve) => { release = resolve; });
  await page.route(/\/search\?q=heron&/, async (route) => {
    await held;
    await route.continue().catch(() => {});
  });
  await box(page).fill('heron');
  await page.locator('#results[aria-busy=true]').waitFor();
  const aborted = page.waitForEvent('requestfailed', (request) => /q=heron&/.test(request.url()));
  await box(page).fill('heron winter');
  await aborted;
  await rowOf(page, 'heron notes.txt').waitFor();
  release();
  await page.waitForURL(/q=heron\+winter&sort=newest/);
  assert.equal(await page.getByRole('heading', { level: 1 }).textContent(), 'Search for “heron winter”');
  assert.equal(await page.locator('[data-results] tr').count(), 1);
  // The box keeps focus and caret, and the page was not loaded anew.
  await page.keyboard.press('Home');
  await page.keyboard.type('the ');
  await page.waitForURL(/q=the\+heron/);
  assert.deepEqual(await page.evaluate(() => [document.activeElement.name, document.activeElement.selectionEnd, globalThis.here]), ['q', 4, true]);
  await page.reload();
  assert.equal(await box(page).inputValue(), 'the heron winter');
  await box(page).fill('');
  await page.getByRole('heading', { name: 'What are you looking for?' }).waitFor();
  await page.finish();
});

test('the keyboard moves through the results, and Space shows all passages', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  await page.goto('/search?q=heron&sort=largest');
  const focused = () => page.evaluate(() => document.activeElement.querySelector('.item a')?.textContent);
  await page.keyboard.press('j');
  assert.equal(await focused(), 'Heron report.txt');
  await page.keyboard.press(' ');
  const pane = page.locator('.pane');
  await pane.getByRole('heading', { name: 'Heron report.txt' }).waitFor();
  assert.deepEqual(await pane.locator('.passages mark').allTextContents(), ['heron', 'herons', 'heron']);
  assert.equal(await pane.locator('.passages li').count(), 3);
  assert.equal(await focused(), 'Heron report.txt', 'the focus stays in the results');
  // Tab leads into the preview, and Escape back.
  await page.keyboard.press('Tab');
  assert.ok(await page.evaluate(() => document.activeElement.closest('.pane')));
  await page.keyboard.press('Escape');
  await pane.waitFor({ state: 'detached' });
  assert.equal(await focused(), 'Heron report.txt');
  await page.keyboard.press(' ');
  await pane.getByRole('heading', { name: 'Heron report.txt' }).waitFor();
  // The preview follows.
  await page.keyboard.press('ArrowDown');
  await pane.getByRole('heading', { name: 'Kingfisher.txt' }).waitFor();
  await page.keyboard.press(' ');
  await pane.waitFor({ state: 'detached' });
  await page.keyboard.press('k');
  await page.keyboard.press('ArrowUp');
  assert.equal(await page.evaluate(() => document.activeElement.name), 'q');
  await page.keyboard.press('ArrowDown');
  assert.equal(await focused(), 'Heron report.txt');
  // A pointer that rests opens the preview too, and Escape closes it for as long as it rests.
  await rowOf(page, 'heron notes.txt').locator('.passage').hover();
  await pane.getByRole('heading', { name: 'heron notes.txt' }).waitFor();
  assert.equal(await focused(), 'Heron report.txt');
  await page.keyboard.press('Escape');
  await pane.waitFor({ state: 'detached' });
  // It closes when the pointer leaves the results.
  await rowOf(page, 'Kingfisher.txt').locator('.passage').hover();
  await pane.getByRole('heading', { name: 'Kingfisher.txt' }).waitFor();
  await page.getByRole('heading', { level: 1 }).hover();
  await pane.waitFor({ state: 'detached' });
  await page.keyboard.press('Enter');
  await page.waitForURL('**/Heron%20report.txt');
  await page.finish();
});

test('a preview opens under the pointer for a long query, and no row moves', async () => {
  const page = await openPage(browser, server, { viewport: { width: 1280, height: 800 } });
  await signIn(page);
  // Links to previews do not repeat a query of this length.
  await page.goto(`/search?q=heron%20OR%20${encodeURIComponent('ä'.repeat(400))}`);
  const row = rowOf(page, 'heron notes.txt');
  const before = await row.boundingBox();
  await row.locator('.passage').hover();
  const pane = page.locator('.pane');
  await pane.getByRole('heading', { name: 'heron notes.txt' }).waitFor();
  assert.deepEqual(await row.boundingBox(), before);
  assert.equal(await page.locator('tr[data-shown]').count(), 1);
  await page.finish();
});

test('a library and the palette lead to searches', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  await page.goto('/browse/Documents/Birds');
  await page.getByRole('link', { name: 'Search here' }).click();
  await page.waitForURL(/\/search/);
  // Words go on behind the filter.
  await page.waitForFunction(() => document.activeElement.name === 'q');
  await page.keyboard.type('winter');
  await page.waitForURL(/winter/);
  await rowOf(page, 'heron notes.txt').waitFor();
  assert.equal(await page.locator('[data-results] tr').count(), 1);
  await page.keyboard.press('Control+k');
  await page.keyboard.type('winter');
  await option(page, 'Search for “winter”').click();
  await page.waitForURL(/q=winter$/);
  await page.finish();
});

test('results, filters and previews work without script', async () => {
  const page = await openPage(browser, server, { javaScriptEnabled: false });
  await signIn(page);
  await page.goto('/search?q=heron+in:"Documents/Birds"');
  await rowOf(page, 'Heron report.txt').getByRole('link', { name: 'Preview of Heron report.txt' }).click();
  await page.getByRole('heading', { name: 'Passages' }).waitFor();
  assert.equal(await page.locator('.passages li').count(), 3);
  await page.finish();
});
