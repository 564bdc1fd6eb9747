// Finding things: the search box, the page of results, the command palette, by keyboard and without script.
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
  await server.put('Contracts/Rental contract for the office on the river, final version with all appendices.pdf', 'no pdf');
  for (const name of ['Contract 2026.txt', 'Contract 2025.txt', 'Offer.txt', 'Ümlaute.txt']) await server.put(`Contracts/${name}`, name);
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

/** Leaves a dialog; browsers close it a moment after the key. */
async function leave(page) {
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

for (const scheme of ['light', 'dark']) {
  for (const [screen, viewport] of [['wide', WIDE], ['narrow', NARROW]]) {
    test(`results and palette are readable and accessible: ${scheme}, ${screen}`, async () => {
      const page = await openPage(browser, server, { scheme, viewport });
      const look = async (name) => {
        await picture(page, `${name}-${scheme}-${screen}`);
        await assertFits(page);
        await assertAccessible(page);
      };
      await signIn(page);
      for (const [name, query] of [['search', 'contract'], ['search-none', 'nothing like this'], ['search-start', '']]) {
        await page.goto(`/search?q=${query}`);
        await look(name);
      }
      await page.goto('/browse/Documents/Contracts');
      await page.keyboard.press('Control+k');
      await page.keyboard.type('contract');
      await page.getByRole('option', { name: 'Contract 2025' }).waitFor();
      await look('palette');
      await leave(page);
      await page.keyboard.press('?');
      await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
      await look('shortcuts');
      await page.finish();
    });
  }
}

test('documents are found by their words, and the passage shows them', async () => {
  await server.put('Contracts/letter.txt', 'The héron stands\nin the reeds by the river.');
  const page = await openPage(browser, server);
  await signIn(page);
  const found = page.getByRole('row', { name: 'letter.txt' });
  // The index follows the upload a moment later.
  const end = Date.now() + 20_000;
  do await page.goto('/search?q=HERON%20reeds'); while (await found.count() === 0 && Date.now() < end);
  assert.equal(await found.locator('.passage').textContent(), 'The héron stands in the reeds by the river.');
  assert.deepEqual(await found.locator('.passage mark').allTextContents(), ['héron', 'reeds']);
  await page.finish();
});

test('rows of lists are found by their values, shown as text and narrowed', async () => {
  const ask = (method, path, body) => server.ask(method, path, body);
  const site = await ask('GET', '/api/v1/items/by-path?path=');
  const list = await ask('POST', `/api/v1/items/${site.id}/lists`, { name: 'Bird feeders' });
  await ask('POST', `/api/v1/items/${list.id}/columns`, { name: 'Notes', kind: 'note' });
  const values = { Title: '<i>Hang</i> the bittern feeder', Notes: 'Seeds & <script>window.broken = true</script> nuts,\nnot bread.' };
  await ask('POST', `/api/v1/items/${list.id}/rows`, { values });
  await server.put('Contracts/bittern.txt', 'seeds for a bittern');
  const page = await openPage(browser, server);
  await signIn(page);
  const rows = page.locator('[data-results] tr');
  const found = rows.filter({ hasText: 'Bird feeders' });
  const end = Date.now() + 20_000;
  do await page.goto('/search?q=bittern+seeds'); while (await rows.count() < 2 && Date.now() < end);
  await page.getByText('2 matches in documents and lists').waitFor();
  await found.getByRole('link', { name: '<i>Hang</i> the bittern feeder', exact: true }).waitFor();
  assert.equal(await found.locator('.passage').textContent(), 'Seeds & <script>window.broken = true</script> nuts, not bread.');
  assert.deepEqual(await found.locator('.passage mark').allTextContents(), ['Seeds']);
  assert.equal(await page.evaluate(() => window.broken), undefined, 'markup is text');
  await picture(page, 'search-rows');
  await assertFits(page);
  await assertAccessible(page);
  const filters = page.getByRole('complementary', { name: 'Narrow the search' });
  await filters.getByRole('link', { name: 'Rows of lists' }).click();
  await page.getByText('1 match in documents and lists').waitFor();
  assert.equal(await page.locator('#search').inputValue(), 'bittern seeds type:row');
  assert.equal(await rows.count(), 1);
  await found.getByRole('link', { name: /^Preview of/ }).click();
  await page.locator('.pane').getByText('Bird feeders').first().waitFor();
  await page.keyboard.press('Escape');
  await found.getByRole('link', { name: '<i>Hang</i> the bittern feeder', exact: true }).click();
  await page.waitForURL('**/Bird%20feeders/1');
  await page.getByRole('link', { name: 'Bird feeders', exact: true }).first().click();
  await page.getByRole('link', { name: 'Search here' }).first().click();
  await page.waitForURL(/\/search/);
  await page.waitForFunction(() => document.activeElement.name === 'q');
  await page.keyboard.type('seeds');
  await page.waitForURL(/seeds/);
  await page.getByText('1 match in documents and lists', { exact: true }).waitFor();
  await page.keyboard.press('Control+k');
  await page.keyboard.type('bittern feed');
  await page.getByRole('option', { name: 'the bittern feeder' }).waitFor();
  await leave(page);
  await page.finish();
});

test('more results are shown where the first ones end', async () => {
  for (let number = 0; number < 60; number++) await server.put(`Waders/dunlin ${number}.txt`, 'a dunlin');
  const page = await openPage(browser, server);
  await signIn(page);
  await page.goto('/search?q=dunlin');
  const rows = page.locator('[data-results] tr');
  assert.equal(await rows.count(), 50);
  await page.getByRole('link', { name: 'Show more' }).click();
  await page.waitForURL(/show=100/);
  assert.equal(await rows.count(), 60);
  assert.equal(await page.evaluate(() => document.activeElement.id), 'result-51');
  await picture(page, 'search-more');
  assert.equal(await page.getByRole('link', { name: 'Show more' }).count(), 0);
  await assertAccessible(page);
  await page.finish();
});

test('results are ordered, narrowed by links, and a query is explained', async () => {
  for (const [name, text] of [['a.txt', 'kingfisher'], ['b.csv', 'kingfisher, two kingfishers'], ['c.csv', 'a kingfisher']]) {
    await server.put(`Birds/${name}`, text);
  }
  const page = await openPage(browser, server);
  await signIn(page);
  const rows = page.locator('tbody tr');
  const end = Date.now() + 20_000;
  do await page.goto('/search?q=kingfisher'); while (await rows.count() < 3 && Date.now() < end);
  await page.getByText('3 matches in documents').waitFor();
  await page.getByRole('link', { name: 'Smallest' }).click();
  await page.waitForURL(/sort=smallest/);
  assert.match(await rows.first().textContent(), /a\.txt/);
  const filters = page.getByRole('complementary', { name: 'Narrow the search' });
  await filters.getByRole('link', { name: 'CSV' }).click();
  await page.getByText('2 matches in documents').waitFor();
  assert.equal(new URL(page.url()).searchParams.get('sort'), 'smallest', 'the order stays');
  assert.equal(await page.locator('#search').inputValue(), 'kingfisher ext:csv');
  await picture(page, 'search-narrowed');
  await assertAccessible(page);
  await filters.getByRole('link', { name: 'CSV' }).click();
  await page.getByText('3 matches in documents').waitFor();
  // A query of several ways is narrowed as a whole.
  await page.goto('/search?q=kingfisher+OR+heron');
  await filters.getByRole('link', { name: 'TXT' }).click();
  assert.equal(await page.locator('#search').inputValue(), '(kingfisher OR heron) ext:txt');
  await page.goto('/search?q=kingfisher+modified:never');
  await page.getByText('“never” is not a date.').waitFor();
  await page.goto('/search?q=kingfischer');
  await page.getByText('Documents with similar words and compounds follow.').waitFor();
  await page.getByText('How to search').click();
  await page.getByText('Documents without the word “draft”.').waitFor();
  await assertAccessible(page);
  await page.finish();
});

test('on a phone the filters are folded above the results', async () => {
  const page = await openPage(browser, server, { viewport: NARROW });
  await signIn(page);
  await page.goto('/search?q=kingfisher');
  const filters = page.getByRole('complementary', { name: 'Narrow the search' });
  const csv = filters.getByRole('link', { name: 'CSV' });
  await csv.waitFor({ state: 'hidden' });
  const [above, below] = await Promise.all([filters.boundingBox(), page.locator('[data-results]').boundingBox()]);
  assert.ok(above.y + above.height <= below.y, 'filters come before the results');
  await filters.getByText('Narrow the search').click();
  await picture(page, 'search-filters-narrow');
  await csv.click();
  await page.getByText('2 matches in documents').waitFor();
  await page.finish();
});

test('the palette says what its results lack, below what was found', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  const lacks = 'What lies in another database cannot be found';
  await page.route('**/search?part=yes*', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: `${await response.text()}<p>${lacks}</p>` });
  });
  await page.keyboard.press('Control+k');
  await page.keyboard.type('contract');
  await page.getByRole('option', { name: 'Contract 2025' }).waitFor();
  await page.getByRole('status').filter({ hasText: lacks }).waitFor();
  // What the page itself knows lacks nothing.
  await page.keyboard.press('Control+a');
  await page.keyboard.press('Delete');
  await page.getByRole('status').filter({ hasText: lacks }).waitFor({ state: 'hidden' });
  await leave(page);
  await page.finish();
});

test('the palette opens what is found, places and actions, by keyboard alone', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  await page.goto('/browse/Documents');
  const chosen = () => page.locator('[role=option][aria-selected]').innerText();

  await page.keyboard.press('Control+k');
  await page.keyboard.type('2026 CONTR');
  // At once: what comes later is opened when it comes.
  await page.keyboard.press('Enter');
  await page.waitForURL('**/Contract%202026.txt');

  await page.keyboard.press('Control+k');
  await page.keyboard.type('administration');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/farm');

  // An action of the page: the dialog for a new folder.
  await page.goto('/browse/Documents');
  await page.keyboard.press('Control+k');
  await page.getByRole('option', { name: 'Upload', exact: true }).waitFor();
  const first = await chosen();
  await page.keyboard.press('ArrowDown');
  assert.notEqual(await chosen(), first);
  await page.keyboard.press('ArrowUp');
  assert.equal(await chosen(), first);
  await page.keyboard.type('new fold');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByLabel('Name').waitFor();
  await leave(page);

  // Ctrl+K closes what it opened; keys are text while somebody types.
  await page.keyboard.press('Control+k');
  const field = page.getByRole('dialog').getByRole('combobox');
  await field.waitFor();
  await page.keyboard.type('?/');
  assert.equal(await field.inputValue(), '?/');
  await page.keyboard.press('Control+k');
  await field.waitFor({ state: 'detached' });
  await page.keyboard.press('/');
  await page.keyboard.type('mlaut');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Ümlaute.txt', exact: true }).waitFor();
  assert.equal(await page.locator('#search').inputValue(), 'mlaut');
  await page.finish();
});

test('the search box works without script', async () => {
  const page = await openPage(browser, server, { javaScriptEnabled: false });
  await signIn(page);
  await page.getByRole('searchbox', { name: 'Search names and texts' }).first().fill('rental');
  await page.getByRole('searchbox', { name: 'Search names and texts' }).first().press('Enter');
  await page.getByRole('link', { name: /Rental contract/ }).first().click();
  await page.getByRole('heading', { name: /Rental contract/ }).waitFor();
  await page.finish();
});
