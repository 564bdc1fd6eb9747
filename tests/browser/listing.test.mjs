// Listings: order, filter, groups, saved views, selection and rename by keyboard, archives; links and following.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import {
  NARROW, WIDE, assertAccessible, assertFits, assertWordsWhole, openPage, picture, signIn, startBrowser, startServer,
} from './rig.mjs';

let server;
let browser;
before(async () => {
  server = await startServer();
  browser = await startBrowser();
  for (const [name, text] of [['Plan A.txt', 'one'], ['plan b.md', 'twotwo'], ['Zebra.pdf', 'x'], ['Ärger.txt', 'yy'], ['Box/inside.txt', 'in']]) {
    await server.put(encodeURIComponent(name).replaceAll('%2F', '/'), text);
  }
  const library = await (await server.api('GET', '/api/v1/items/by-path?path=Documents')).json();
  await server.json('POST', `/api/v1/items/${library.id}/columns`, { name: 'State', kind: 'choice', choices: ['new', 'won'] });
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const names = (page) => page.locator('tr[data-kind=document] .item > a').allInnerTexts();

for (const scheme of ['light', 'dark']) {
  for (const [screen, viewport] of [['wide', WIDE], ['narrow', NARROW]]) {
    test(`a listing is filtered, grouped and saved as a view: ${scheme}, ${screen}`, async () => {
      const page = await openPage(browser, server, { scheme, viewport });
      await signIn(page);
      await page.goto('/browse/Documents');
      await page.getByRole('searchbox', { name: 'Filter by name' }).fill('PLAN');
      await page.keyboard.press('Enter');
      await page.getByRole('link', { name: 'Name: PLAN' }).waitFor();
      assert.deepEqual(await names(page), ['Plan A.txt', 'plan b.md']);
      await page.getByRole('link', { name: 'Name: PLAN' }).click();
      await page.getByRole('link', { name: 'Filter and columns' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Sort by').selectOption({ label: 'Type' });
      await dialog.getByLabel('Show a heading above').check();
      await dialog.getByRole('checkbox', { name: 'Type' }).check();
      await picture(page, `listing-form-${scheme}-${screen}`);
      await assertAccessible(page);
      await dialog.getByRole('button', { name: 'Apply' }).click();
      await page.locator('tr.group').first().waitFor();
      await page.getByRole('link', { name: 'Save view' }).click();
      await dialog.getByLabel('Name').fill(`By type ${scheme} ${screen}`);
      await dialog.getByRole('button', { name: 'Save' }).click();
      await page.locator('.tabs a[aria-current]').getByText(`By type ${scheme} ${screen}`).waitFor();
      // What is changed since says so, and the tab leads back to what was saved.
      const tab = page.locator('.tabs a[aria-current]');
      await page.getByRole('searchbox', { name: 'Filter by name' }).fill('Plan');
      await page.keyboard.press('Enter');
      await tab.getByText('Changed since it was saved').waitFor({ state: 'attached' });
      await tab.click();
      await tab.getByText('Changed since it was saved').waitFor({ state: 'detached' });
      await picture(page, `listing-view-${scheme}-${screen}`);
      await assertFits(page);
      await assertAccessible(page);
      await page.finish();
    });
  }
}

test('rows are selected, renamed and downloaded by keyboard', async () => {
  const page = await openPage(browser, server);
  page.expectFault(/409/);
  await signIn(page);
  await page.goto('/browse/Documents?sort=name');
  const rows = page.locator('tr[data-id]');
  await rows.first().focus();
  await page.keyboard.press('Control+a');
  await page.getByText('5 selected').waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Shift+ArrowDown');
  await page.getByText('2 selected').waitFor();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download as ZIP' }).click();
  const archive = await download;
  assert.equal(archive.suggestedFilename(), 'Documents.zip');
  const bytes = readFileSync(await archive.path());
  assert.equal(bytes.readUInt32LE(0), 0x04034b50);
  assert.ok(bytes.includes('Plan A.txt') && bytes.includes('twotwo'));
  // Who was overtaken is told, and loses nothing.
  const row = page.getByRole('row', { name: 'Zebra.pdf' });
  await row.focus();
  await page.keyboard.press('F2');
  const field = page.locator('.cell-editor input');
  await field.fill('Mine.pdf');
  const zebra = await (await server.api('GET', '/api/v1/items/by-path?path=Documents/Zebra.pdf')).json();
  await server.json('PATCH', `/api/v1/items/${zebra.id}`, { name: 'Theirs.pdf' });
  await field.press('Enter');
  await page.getByRole('alert').getByText('it was renamed to “Theirs.pdf”').waitFor();
  assert.equal(await field.inputValue(), 'Mine.pdf');
  await field.press('Enter');
  await page.getByRole('link', { name: 'Mine.pdf', exact: true }).waitFor();
  assert.equal((await server.api('GET', '/api/v1/items/by-path?path=Documents/Mine.pdf')).status, 200);
  // Another extension has another picture at once.
  const mine = page.getByRole('row', { name: 'Mine.' });
  const drawn = () => mine.locator('.item > :first-child').evaluate((picture) => picture.outerHTML);
  const before = await drawn();
  await mine.focus();
  await page.keyboard.press('F2');
  await field.fill('Mine.xlsx');
  await field.press('Enter');
  await page.getByRole('link', { name: 'Mine.xlsx', exact: true }).waitFor();
  await page.waitForFunction((was) => document.querySelector('tr:has(a[href$="/open"]) .item > :first-child').outerHTML !== was, before);
  await page.finish();
});

test('without script a listing is filtered and its columns are chosen', async () => {
  const page = await openPage(browser, server, { javaScriptEnabled: false, locale: 'de-DE' });
  await signIn(page);
  await page.goto('/browse/Documents');
  await page.getByRole('searchbox', { name: 'Nach Namen filtern' }).fill('ärger');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Name: ärger' }).waitFor();
  assert.deepEqual(await names(page), ['Ärger.txt']);
  await page.getByRole('link', { name: 'Filter und Spalten' }).click();
  await page.getByLabel('Name enthält').fill('');
  await page.getByRole('checkbox', { name: 'Angelegt' }).check();
  await page.getByRole('button', { name: 'Anwenden' }).click();
  await page.getByRole('columnheader', { name: 'Angelegt' }).waitFor();
  await page.finish();
});

test('a document is followed and shared by a link that ends', async () => {
  const page = await openPage(browser, server);
  page.expectFault(/403|404/);
  await signIn(page);
  const site = await (await server.api('GET', '/api/v1/items/by-path?path=')).json();
  await page.goto(`/items/${site.id}/link-rule`);
  await page.getByLabel('Allow links').check();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.goto('/browse/Documents/Plan%20A.txt');
  await page.getByRole('button', { name: 'Follow', exact: true }).click();
  await page.getByRole('button', { name: 'Following' }).waitFor();
  await page.getByRole('link', { name: 'New link' }).click();
  await page.getByLabel('Password').fill('open sesame');
  await page.getByLabel('Maximum downloads').fill('1');
  await page.getByRole('button', { name: 'Make link' }).click();
  const address = await page.locator('#address').innerText();
  await picture(page, 'link-made');
  await assertAccessible(page);
  const guest = await openPage(browser, server);
  guest.expectFault(/403|404/);
  await guest.goto(address);
  await guest.getByRole('heading', { name: 'Plan A.txt' }).waitFor();
  await guest.getByLabel('Password').fill('wrong');
  await guest.getByRole('button', { name: 'Download' }).click();
  await guest.getByRole('alert').waitFor();
  await picture(guest, 'link-opened');
  await assertAccessible(guest);
  await guest.getByLabel('Password').fill('open sesame');
  const download = guest.waitForEvent('download');
  await guest.getByRole('button', { name: 'Download' }).click();
  assert.equal(readFileSync(await (await download).path(), 'utf8'), 'one');
  await guest.goto(address);
  await guest.getByText('This link has ended').waitFor();
  await guest.finish();
  await page.goto('/browse/Documents/Plan%20A.txt');
  await page.getByText('ended').first().waitFor();
  await picture(page, 'document-followed');
  await assertAccessible(page);
  await page.goto('/');
  await page.getByRole('heading', { name: 'Followed documents' }).waitFor();
  await page.getByRole('heading', { name: 'Recent activity' }).waitFor();
  await picture(page, 'home-followed');
  await assertAccessible(page);
  await page.finish();
});

test('on a narrow screen words are not broken while there is another way', async () => {
  await server.put('Held.txt', 'x');
  const held = await (await server.api('GET', '/api/v1/items/by-path?path=Documents/Held.txt')).json();
  assert.ok((await server.api('PUT', `/api/v1/items/${held.id}/check-out`)).ok);
  for (const locale of ['en', 'de']) {
    const page = await openPage(browser, server, { viewport: NARROW, locale });
    await signIn(page);
    for (const path of ['/browse/Documents', `/items/${held.id}`, `/items/${held.id}/permissions`, '/farm', '/farm/users', '/farm/stores', '/farm/policies']) {
      await page.goto(path);
      await page.locator('h1').first().waitFor();
      await assertWordsWhole(page);
      await assertFits(page);
    }
    await picture(page, `words-${locale}`);
    await page.finish();
  }
});
