// Saved searches: saving one in a dialog, its new documents on its page and on the home page, marking them as seen, and
// the suggestions of the search box.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  NARROW, WIDE, assertAccessible, assertFits, openPage, picture, signIn, startBrowser, startServer,
} from './rig.mjs';

let server;
let browser;
before(async () => {
  server = await startServer();
  browser = await startBrowser();
  await server.put('Birds/Heron report.txt', 'The heron fishes.');
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const box = (page) => page.getByRole('combobox', { name: 'Search names and texts' }).first();

/** Loads an address until an element is there: the index follows a change a moment later. */
async function waitAt(page, address, element) {
  const end = Date.now() + 20_000;
  do await page.goto(address); while (await element.count() === 0 && Date.now() < end);
  await element.first().waitFor();
}

/** Saves the search that the page shows. */
async function save(page, name, alert) {
  await page.getByRole('link', { name: 'Save this search' }).click();
  const dialog = page.getByRole('dialog', { name: 'Save this search' });
  await dialog.getByLabel('Name').fill(name);
  await dialog.getByLabel(alert).check();
  await dialog.getByRole('button', { name: 'Save' }).click();
}

test('a saved search tells what is new until it is marked as seen', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  await page.goto('/searches');
  await page.getByText('No saved searches yet').waitFor();
  await waitAt(page, '/search?q=heron&sort=newest', page.locator('.passage'));
  // The dialog suggests the query as the name, and Enter saves.
  await page.getByRole('link', { name: 'Save this search' }).click();
  const dialog = page.getByRole('dialog', { name: 'Save this search' });
  assert.equal(await dialog.getByLabel('Name').inputValue(), 'heron');
  await picture(page, 'saved-search-dialog');
  await assertAccessible(page);
  await dialog.getByLabel('Name').fill('Birds of the river');
  await page.keyboard.press('Enter');
  await page.getByText('“Birds of the river” was saved').waitFor();
  assert.equal(new URL(page.url()).search, '?q=heron&sort=newest');
  await page.getByRole('link', { name: 'Saved as “Birds of the river”' }).click();
  await page.getByRole('heading', { name: 'Nothing new' }).waitFor();

  await server.put('Birds/Second heron.txt', 'Another heron stands.');
  const badge = page.getByRole('region', { name: 'Saved searches' }).locator('.badge');
  await waitAt(page, '/', page.getByRole('link', { name: 'Birds of the river' }));
  const end = Date.now() + 20_000;
  while (await badge.count() === 0 && Date.now() < end) {
    const counts = page.waitForResponse(/\/searches\/counts$/);
    await page.reload();
    await counts;
  }
  assert.equal(await badge.textContent(), '1 new');
  await page.getByRole('link', { name: 'Birds of the river' }).click();
  await page.getByText('1 new document', { exact: true }).waitFor();
  assert.deepEqual(await page.locator('[data-results] .item a:not(.quiet)').allTextContents(), ['Second heron.txt']);
  await page.getByRole('link', { name: 'Preview of Second heron.txt' }).click();
  await page.locator('.pane').getByText('Another heron stands.').first().waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Mark all as seen' }).click();
  await page.getByText('Marked as seen', { exact: true }).waitFor();
  await page.getByRole('heading', { name: 'Nothing new' }).waitFor();
  const feed = await page.request.get(await page.getByRole('link', { name: 'Atom' }).getAttribute('href'));
  assert.match(feed.headers()['content-type'], /^application\/atom\+xml/);
  assert.match(await feed.text(), /<title>Second heron\.txt<\/title>/);
  await page.finish();
});

test('saved searches are suggested, changed and deleted', async () => {
  const page = await openPage(browser, server);
  page.expectFault(/409/);
  await signIn(page);
  await page.goto('/search?q=kingfisher');
  await save(page, 'Blue birds', 'Daily');
  await page.getByText('“Blue birds” was saved').waitFor();
  // A name that is taken is refused in the dialog, which keeps what was typed.
  await page.goto('/search?q=stork');
  await save(page, 'BLUE birds', 'No alert');
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('alert').waitFor();
  assert.equal(await dialog.getByLabel('Name').inputValue(), 'BLUE birds');
  await page.keyboard.press('Escape');
  await page.goto('/account');
  await box(page).fill('blue');
  await page.getByRole('option', { name: /Blue birds/ }).click();
  await page.waitForURL('**/search?q=kingfisher');
  // Without a query, the search page offers them.
  await page.goto('/search');
  await page.getByRole('region', { name: 'Saved searches' }).getByRole('link', { name: 'Blue birds' }).click();
  await page.getByRole('link', { name: 'Edit' }).click();
  await dialog.getByLabel('Search', { exact: true }).fill('kingfisher OR stork');
  await dialog.getByLabel('At once').check();
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('kingfisher OR stork').waitFor();
  await page.goto('/searches');
  await page.getByRole('row', { name: /Blue birds/ }).getByText('At once').waitFor();
  await page.getByRole('link', { name: 'Remove Blue birds' }).click();
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Removed').waitFor();
  await page.getByRole('link', { name: 'Blue birds' }).waitFor({ state: 'detached' });
  await page.finish();
});

for (const [scheme, viewport, screen, locale] of [['light', WIDE, 'wide', 'en'], ['dark', NARROW, 'narrow', 'en'], ['light', NARROW, 'narrow', 'de']]) {
  test(`pages of saved searches are readable and accessible: ${scheme}, ${screen}, ${locale}`, async () => {
    const page = await openPage(browser, server, { scheme, viewport, locale });
    await signIn(page);
    await server.put(`Birds/${scheme} ${locale} with a very long name of a heron that nobody has seen in this valley before.txt`, 'A heron.');
    const list = await page.request.get('/api/v1/saved-searches');
    const [search] = (await list.json()).items;
    await waitAt(page, `/searches/${search.id}`, page.locator('[data-results]'));
    const addresses = { 'saved-search': `/searches/${search.id}`, 'saved-searches': '/searches', 'saved-on-home': '/', 'saved-on-search': '/search', 'saved-found': '/search?q=heron', 'saved-edit': `/searches/${search.id}/edit` };
    for (const [name, address] of Object.entries(addresses)) {
      await page.goto(address);
      if (await page.locator('[data-counts]').count()) await page.locator('[data-counts] .badge').waitFor();
      await picture(page, `${name}-${scheme}-${screen}-${locale}`);
      await assertFits(page);
      await assertAccessible(page);
    }
    await page.finish();
  });
}
