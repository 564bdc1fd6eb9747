// A library of many documents: it goes on by itself, is there again on the way back, and many rows are edited at once.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { NARROW, assertAccessible, assertFits, openPage, picture, signIn, startBrowser, startServer } from './rig.mjs';

const MANY = 130;
let server;
let browser;
before(async () => {
  server = await startServer();
  browser = await startBrowser();
  for (let i = 0; i < MANY; i += 1) await server.put(`many/${String(i).padStart(3, '0')}.txt`, 'x');
  const library = await (await server.api('GET', '/api/v1/items/by-path?path=Documents')).json();
  for (const column of [{ name: 'State', kind: 'choice', choices: ['new', 'won'] }, { name: 'Topic', kind: 'text' }]) {
    await server.json('POST', `/api/v1/items/${library.id}/columns`, column);
  }
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const rows = (page) => page.locator('tr[data-kind=document]');
const nth = (page, n) => page.locator('tr[data-kind=document]', { hasText: `${String(n).padStart(3, '0')}.txt` });

test('a listing goes on when its end comes into sight, and is there again on the way back', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  await page.goto('/browse/Documents/many');
  assert.ok((await rows(page).count()) < MANY);
  await page.getByRole('checkbox', { name: 'Select all' }).check();
  await nth(page, 49).scrollIntoViewIfNeeded();
  await nth(page, 60).waitFor();
  const all = page.getByRole('checkbox', { name: 'Select all' });
  assert.ok(await all.evaluate((box) => box.indeterminate), 'rows that came later are not selected');
  await nth(page, 99).scrollIntoViewIfNeeded();
  await nth(page, MANY - 1).waitFor();
  const names = await page.locator('tr[data-kind=document] .item > a').allInnerTexts();
  assert.deepEqual(names, [...names].sort());
  assert.equal(new Set(names).size, MANY);
  assert.equal(await page.locator('.pager a[rel=next]').count(), 0);
  await assertAccessible(page);
  await nth(page, 120).getByRole('link', { name: '120.txt', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: '120.txt' }).waitFor();
  await page.goBack();
  await nth(page, 120).waitFor();
  await page.waitForFunction(() => scrollY > 1000);
  await page.finish();
});

test('the titles of the columns stay in sight where all columns fit', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  await page.goto('/browse/Documents/many');
  const top = (part) => page.locator(part).first().evaluate((found) => Math.round(found.getBoundingClientRect().top));
  const below = () => page.locator('.topbar').evaluate((bar) => Math.round(bar.getBoundingClientRect().bottom));
  await page.locator('.scroll[data-fits]').waitFor();
  assert.ok((await top('thead th')) > (await below()));
  await nth(page, 49).scrollIntoViewIfNeeded();
  await page.evaluate(() => scrollBy(0, 200));
  assert.ok((await top('.scroll')) < 0, 'the page has moved');
  assert.ok(Math.abs((await top('thead th')) - (await below())) <= 1);
  const seen = await page.locator('thead th').evaluateAll((heads) => heads.map((head) => {
    const { left, top, width, height } = head.getBoundingClientRect();
    return head.contains(document.elementFromPoint(left + width / 2, top + height / 2));
  }));
  assert.ok(seen.every(Boolean), `titles below rows: ${seen}`);
  await page.locator('thead .sort').first().click();
  await page.waitForURL(/sort=/);
  // What was put in the place of the listing is measured again, also when there is no room for it.
  const frame = page.locator('.scroll');
  await page.evaluate(() => { document.querySelector('.scroll').style.width = '300px'; });
  await page.locator('.scroll:not([data-fits])').waitFor();
  assert.ok(await frame.evaluate((part) => part.scrollWidth > part.clientWidth), 'it moves sideways');
  await page.finish();
});

test('another order or filter comes without the load of a page, and back and forward show what was there', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  await page.goto('/browse/Documents/many');
  await page.evaluate(() => { globalThis.stayed = true; });
  const first = () => page.locator('tr[data-kind=document] .item > a').first().innerText();
  assert.equal(await first(), '000.txt');
  await nth(page, 49).scrollIntoViewIfNeeded();
  await nth(page, 60).waitFor();
  const name = page.getByRole('columnheader', { name: 'Name' }).getByRole('link');
  await name.focus();
  await page.keyboard.press('Enter');
  await nth(page, MANY - 1).waitFor();
  await page.waitForURL(/sort=-?name/);
  assert.equal(await first(), `${MANY - 1}.txt`);
  assert.ok(await name.evaluate((link) => link === document.activeElement), 'the focus is where it was');
  const filter = page.getByRole('searchbox', { name: 'Filter by name' });
  await filter.fill('12');
  await page.keyboard.press('Enter');
  await page.waitForURL(/name=12/);
  await page.waitForFunction(() => document.querySelectorAll('tr[data-kind=document]').length === 12);
  assert.ok(await filter.evaluate((field) => field === document.activeElement && field.value === '12'));
  // What belongs to the rows works on the new ones.
  await page.getByRole('checkbox', { name: 'Select all' }).check();
  assert.equal(await page.locator('td.pick input:checked').count(), 12);
  await page.getByRole('checkbox', { name: 'Select all' }).uncheck();
  await rows(page).first().click({ position: { x: 300, y: 10 } });
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Space');
  assert.equal(await page.locator('td.pick input:checked').count(), 2);
  await assertAccessible(page);
  await page.goBack();
  await page.waitForFunction(() => document.querySelectorAll('tr[data-kind=document]').length >= 50);
  assert.equal(await first(), `${MANY - 1}.txt`);
  await page.goBack();
  await nth(page, 60).waitFor();
  assert.equal(await first(), '000.txt');
  await page.goForward();
  await page.waitForFunction((last) => document.querySelector('tr[data-kind=document] .item > a').innerText === last, `${MANY - 1}.txt`);
  await nth(page, 99).scrollIntoViewIfNeeded();
  await nth(page, 40).waitFor();
  assert.ok(await page.evaluate(() => globalThis.stayed), 'the document is still the same');
  await page.finish();
});

test('another order loses nothing that was ticked or typed, and not the page when the server is away', async () => {
  const page = await openPage(browser, server);
  page.expectFault(/ERR_INTERNET_DISCONNECTED/);
  await signIn(page);
  await page.goto('/browse/Documents/many?sort=name&name=00');
  const sort = (name) => page.getByRole('columnheader', { name }).getByRole('link').click();
  await nth(page, 3).getByRole('checkbox').check();
  await page.getByRole('searchbox', { name: 'Filter by name' }).fill('003');
  await sort('Modified');
  await page.waitForURL(/sort=-?modified/);
  await sort('Name');
  await page.waitForURL(/sort=-?name/);
  assert.equal(await page.getByRole('searchbox', { name: 'Filter by name' }).inputValue(), '003');
  await nth(page, 3).waitFor();
  assert.ok(await nth(page, 3).getByRole('checkbox').isChecked());
  // A name that is being edited stays, and the listing with it.
  await nth(page, 4).focus();
  await page.keyboard.press('F2');
  const name = nth(page, 4).or(page.locator('tr:has(.cell-editor)')).getByRole('textbox');
  await name.fill('typed.txt');
  await sort('Modified');
  await page.getByText('Save or cancel this first.').waitFor();
  assert.equal(await name.inputValue(), 'typed.txt');
  await page.keyboard.press('Escape');
  // Back, and forward before the answer came: what is shown is what the address says.
  const first = () => page.locator('tr[data-kind=document] .item > a').first().innerText();
  await sort('Size');
  await page.waitForURL(/sort=-?size/);
  await page.locator('th[aria-sort]', { hasText: 'Size' }).waitFor();
  await page.route('**/browse/**', async (route) => { await new Promise((done) => { setTimeout(done, 3000); }); await route.continue().catch(() => {}); });
  const asked = page.waitForRequest((request) => request.url().includes('/browse/'));
  await page.evaluate(() => history.back());
  const request = await asked;
  const givenUp = page.waitForEvent('requestfailed', (other) => other === request);
  await page.evaluate(() => history.forward());
  await givenUp;
  await page.waitForFunction(() => /sort=-?size/.test(location.search));
  await page.locator('th[aria-sort]', { hasText: 'Size' }).waitFor();
  await page.unroute('**/browse/**');
  const before = await first();
  await page.context().setOffline(true);
  await sort('Name');
  await page.getByText('The server does not answer. Try again in a moment.').waitFor();
  assert.equal(await first(), before);
  await page.context().setOffline(false);
  await sort('Name');
  await page.waitForURL(/sort=-?name/);
  await page.finish();
});

test('what is ticked stays selected where its row is not shown', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  await page.goto('/browse/Documents/many?sort=name');
  const count = page.locator('[data-count]');
  await nth(page, 3).getByRole('checkbox').check();
  await nth(page, 5).getByRole('checkbox').check();
  await page.getByRole('searchbox', { name: 'Filter by name' }).fill('005');
  await page.keyboard.press('Enter');
  await count.getByText('2 selected, 1 of them not shown here').waitFor();
  const asked = page.waitForRequest((request) => request.url().endsWith('/selection/copy'));
  await page.getByRole('button', { name: 'Copy' }).click();
  assert.equal(new URLSearchParams((await asked).postData()).getAll('ids').length, 2);
  await page.getByRole('dialog').getByRole('heading', { name: 'Copy 2 items' }).waitFor();
  await page.goto('/browse/Documents/many?sort=name');
  await nth(page, 3).focus();
  await page.keyboard.press('Control+a');
  await count.getByText('selected, rows further down are not').waitFor();
  await page.keyboard.press('Escape');
  // With the rows that show it again, a tick is one of theirs; Escape takes all back.
  await nth(page, 3).getByRole('checkbox').check();
  await page.getByRole('searchbox', { name: 'Filter by name' }).fill('nothing has this name');
  await page.keyboard.press('Enter');
  await count.getByText('1 selected, 1 of them not shown here').waitFor();
  await page.getByRole('link', { name: 'Name: nothing has this name' }).click();
  await nth(page, 3).waitFor();
  await count.getByText('1 selected', { exact: true }).waitFor();
  await nth(page, 4).focus();
  await page.keyboard.press('Escape');
  await page.locator('.selection').waitFor({ state: 'hidden' });
  await page.finish();
});

test('Delete without a tick deletes the row that has the focus', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  await server.put('few/a.txt', 'a');
  await server.put('few/b.txt', 'b');
  await page.goto('/browse/Documents/few');
  await page.locator('tr', { hasText: 'b.txt' }).focus();
  await page.keyboard.press('Delete');
  await page.getByRole('button', { name: 'Undo' }).waitFor();
  assert.deepEqual(await page.locator('tr[data-kind=document] .item > a').allInnerTexts(), ['a.txt']);
  await page.finish();
});

test('Delete deletes the rows that the mouse ticked, wherever the focus is', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  const names = ['a.txt', 'b.txt', 'c.txt', 'd.txt', 'e.txt', 'f.txt'];
  for (const name of names) await server.put(`ticked/${name}`, name);
  await page.goto('/browse/Documents/ticked?sort=name');
  const row = (name) => page.locator('tr', { hasText: name });
  const box = (name) => row(name).getByRole('checkbox');
  const left = async (...expected) => {
    await page.getByRole('button', { name: 'Undo' }).waitFor();
    assert.deepEqual(await page.locator('tr[data-kind=document] .item > a').allInnerTexts(), expected);
    await page.getByRole('button', { name: 'Close' }).click();
  };
  // The focus is in the box that was clicked last.
  await box('a.txt').click();
  await box('c.txt').click();
  await page.keyboard.press('Delete');
  await left('b.txt', 'd.txt', 'e.txt', 'f.txt');
  // It is on a row that is not ticked.
  await box('d.txt').click();
  await row('f.txt').focus();
  await page.keyboard.press('Delete');
  await left('b.txt', 'e.txt', 'f.txt');
  // It is on no row.
  await box('e.txt').click();
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('Delete');
  await left('b.txt', 'f.txt');
  // It is in the box above the rows.
  await page.getByRole('checkbox', { name: 'Select all' }).click();
  await page.keyboard.press('Delete');
  await page.getByText('Nothing here yet').waitFor();
  await page.finish();
});

test('without script a link leads to the next page', async () => {
  const page = await openPage(browser, server, { javaScriptEnabled: false });
  await signIn(page);
  await page.goto('/browse/Documents/many');
  const first = await rows(page).count();
  await page.getByRole('link', { name: 'Next', exact: true }).click();
  await nth(page, first).waitFor();
  assert.equal(await nth(page, 0).count(), 0);
  await page.finish();
});

test('columns of several documents are edited at once', async () => {
  const page = await openPage(browser, server, { viewport: NARROW });
  page.expectFault(/status of 400/);
  await signIn(page);
  await page.goto('/browse/Documents/many');
  for (const n of [0, 1, 2]) await nth(page, n).getByRole('checkbox').check();
  await page.getByRole('button', { name: 'Edit columns' }).click();
  await page.getByRole('heading', { name: 'Edit columns of 3 items' }).waitFor();
  await assertFits(page);
  await assertAccessible(page);
  await picture(page, 'several-columns');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('alert').getByText('Nothing is filled in').waitFor();
  await page.getByRole('combobox', { name: 'State' }).selectOption('won');
  await page.getByRole('textbox', { name: 'Topic' }).fill('tenders');
  await page.getByRole('button', { name: 'Save' }).click();
  await nth(page, 0).waitFor();
  const values = async (n) => {
    const item = await (await server.api('GET', `/api/v1/items/by-path?path=Documents/many/${String(n).padStart(3, '0')}.txt`)).json();
    return Object.values((await (await server.api('GET', `/api/v1/items/${item.id}/values`)).json()).values).sort();
  };
  for (const n of [0, 1, 2]) assert.deepEqual(await values(n), ['tenders', 'won']);
  assert.deepEqual(await values(3), []);
  for (const n of [1, 2]) await nth(page, n).getByRole('checkbox').check();
  await page.getByRole('button', { name: 'Edit columns' }).click();
  await page.getByRole('group', { name: 'Clear these columns' }).getByLabel('Topic').check();
  await page.getByRole('button', { name: 'Save' }).click();
  await nth(page, 0).waitFor();
  assert.deepEqual(await values(0), ['tenders', 'won']);
  assert.deepEqual(await values(1), ['won']);
  await page.finish();
});
