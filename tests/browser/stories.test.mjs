// The day of somebody who works with documents: by keyboard alone, without script, and on a phone by touch.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { NARROW, PASSWORD, openPage, picture, signIn, startBrowser, startServer } from './rig.mjs';

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
const exists = async (path) => (await server.api('GET', `/api/v1/items/by-path?path=Documents/${encodeURIComponent(path)}`)).status === 200;

/** Presses Tab until the element has the focus; everything that is passed must be seen to have it. */
async function tabTo(page, target) {
  for (let steps = 0; steps < 80; steps += 1) {
    await page.keyboard.press('Tab');
    const seen = await page.evaluate(() => {
      const { outlineStyle, outlineWidth, borderColor } = getComputedStyle(document.activeElement);
      return document.activeElement === document.body || (outlineStyle !== 'none' && parseFloat(outlineWidth) > 0) || borderColor === 'transparent';
    });
    assert.ok(seen, `the focus is not seen on ${await page.evaluate(() => document.activeElement.outerHTML.slice(0, 200))}`);
    if (await target.first().evaluate((element) => element === document.activeElement)) return;
  }
  assert.fail(`Tab does not lead to ${target}`);
}

/** Presses an arrow key until the entry of an open menu has the focus. */
async function arrowTo(page, name) {
  const entry = page.locator('.menu:popover-open').getByText(name, { exact: true });
  await entry.waitFor();
  for (let steps = 0; steps < 15; steps += 1) {
    if (await entry.evaluate((element) => element.contains(document.activeElement) || element === document.activeElement)) return;
    await page.keyboard.press('ArrowDown');
  }
  assert.fail(`arrow keys do not lead to ${name}`);
}

test('a day by keyboard alone', async () => {
  const page = await openPage(browser, server);
  const press = (...keys) => keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve());
  await page.goto('/browse/Documents');
  await page.keyboard.type('admin');
  await press('Tab');
  await page.keyboard.type(PASSWORD);
  await press('Enter');
  await page.waitForURL('**/browse/Documents');

  // A folder, by the palette; then into it and back.
  await press('Control+k');
  await page.keyboard.type('new folder');
  await press('Enter');
  await page.getByRole('dialog').getByLabel('Name').waitFor();
  await page.keyboard.type('Archive');
  await press('Enter');
  await page.getByRole('link', { name: 'Archive', exact: true }).waitFor();

  // An upload, by its button.
  await page.locator('#upload-files').waitFor({ state: 'attached' });
  // Asked for early: until the browser knows that the chooser is waited for, it would show one of its own.
  const chooser = page.waitForEvent('filechooser');
  await tabTo(page, page.getByRole('link', { name: 'Upload' }));
  await press('Enter');
  await (await chooser).setFiles([file('Plan.txt', 'a plan')]);
  await page.getByRole('link', { name: 'Plan.txt', exact: true }).waitFor();
  await page.getByText('Uploads finished').waitFor({ state: 'hidden' });

  // It is renamed in its row and opened from there.
  const row = page.getByRole('row', { name: 'Plan' });
  await tabTo(page, page.locator('tr[data-id]'));
  await press('End', 'F2');
  await page.locator('.cell-editor input').waitFor();
  await page.keyboard.type('Plan of the year');
  await press('Enter');
  await page.getByRole('link', { name: 'Plan of the year.txt', exact: true }).waitFor();
  await press('Enter');
  await page.getByRole('heading', { name: 'Plan of the year.txt' }).waitFor();
  await page.goBack();
  await row.waitFor();

  // It moves into the folder, by the menu of its row.
  await tabTo(page, page.getByRole('link', { name: 'More actions for Plan of the year.txt' }));
  await press('Enter');
  await arrowTo(page, 'Move');
  await press('Enter');
  await page.getByRole('heading', { name: 'Move “Plan of the year.txt”' }).waitFor();
  await tabTo(page, page.getByRole('dialog').getByRole('link', { name: 'Archive' }));
  await press('Enter');
  await page.getByRole('dialog').getByText('No folders here.').waitFor();
  await tabTo(page, page.getByRole('button', { name: 'Move here', exact: true }));
  await press('Enter');
  await page.getByRole('status').getByText('Archive').waitFor();
  await tabTo(page, page.locator('.item').getByRole('link', { name: 'Archive', exact: true }));
  await press('Enter');
  await page.getByRole('heading', { name: 'Archive', level: 1 }).waitFor();
  assert.ok(await exists('Archive/Plan of the year.txt'));

  // Deleted with Del, and brought back by the note about it.
  await tabTo(page, page.locator('tr[data-id]'));
  await press('Space', 'Delete');
  await page.getByText('Nothing here yet').waitFor();
  assert.ok(!await exists('Archive/Plan of the year.txt'));
  await tabTo(page, page.getByRole('button', { name: 'Undo' }));
  await press('Enter');
  await page.getByRole('link', { name: 'Plan of the year.txt', exact: true }).waitFor();

  await press('?');
  const shortcuts = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  for (const said of ['Open the item in the row', 'Extend the selection']) await shortcuts.getByText(said).waitFor();
  await press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.finish();
});

test('a day without script', async () => {
  const page = await openPage(browser, server, { javaScriptEnabled: false });
  await signIn(page);
  const send = async (button, name, text) => {
    await page.locator('input[type=file]').setInputFiles([file(name, text)]);
    await page.locator('form#form').getByRole('button', { name: button }).click();
  };
  await page.getByRole('link', { name: 'Documents', exact: true }).first().click();
  await page.getByRole('link', { name: 'New folder' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Plain');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('link', { name: 'Plain', exact: true }).click();
  await page.getByRole('link', { name: 'Upload' }).click();
  await send('Upload', 'Report.txt', 'first');
  await page.getByRole('link', { name: 'Report.txt', exact: true }).click();
  await page.getByRole('link', { name: 'Replace' }).first().click();
  await send('Replace', 'Report.txt', 'second');

  // Its versions are listed, downloaded and restored.
  const versions = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Versions' }) });
  await versions.getByRole('link', { name: '2.0' }).waitFor();
  const download = page.waitForEvent('download');
  await versions.getByRole('link', { name: '1.0' }).click();
  assert.equal(readFileSync(await (await download).path(), 'utf8'), 'first');
  await versions.getByRole('button', { name: 'More actions for 1.0' }).click();
  await page.locator('.menu:popover-open').getByRole('button', { name: 'Restore' }).click();
  await versions.getByRole('link', { name: '3.0' }).waitFor();
  assert.equal(await textOf('Plain/Report.txt'), 'first');

  // Deleted, and put back from the recycle bin.
  await page.getByRole('link', { name: 'Plain' }).first().click();
  await page.getByRole('link', { name: 'More actions for Report.txt' }).click();
  await page.locator('main').getByRole('link', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Nothing here yet').waitFor();
  await page.getByRole('link', { name: 'Recycle bin' }).click();
  await page.getByRole('button', { name: 'Restore Report.txt' }).click();
  await page.getByText('The recycle bin is empty').waitFor();
  assert.equal(await textOf('Plain/Report.txt'), 'first');
  await page.finish();
});

test('a day on a phone, by touch', async () => {
  const page = await openPage(browser, server, { viewport: NARROW, hasTouch: true, isMobile: true });
  await page.goto('/browse/Documents');
  await page.getByLabel('Login').fill('admin');
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).tap();
  await page.getByRole('link', { name: 'New folder' }).tap();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('Phone');
  await dialog.getByRole('button', { name: 'Create' }).tap();
  await page.getByRole('link', { name: 'Phone', exact: true }).tap();
  await page.locator('#upload-files').waitFor({ state: 'attached' });
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('link', { name: 'Upload' }).tap();
  await (await chooser).setFiles([file('Photo.txt', 'a photo')]);
  await page.getByRole('link', { name: 'Photo.txt', exact: true }).waitFor();

  await page.getByRole('link', { name: 'More actions for Photo.txt' }).tap();
  await picture(page, 'phone-menu');
  await page.locator('.menu:popover-open').getByText('Rename').tap();
  await dialog.getByLabel('Name').fill('Picture.txt');
  await dialog.getByRole('button', { name: 'Rename' }).tap();
  await page.getByRole('link', { name: 'Picture.txt', exact: true }).tap();
  await page.getByRole('heading', { name: 'Picture.txt' }).waitFor();
  const download = page.waitForEvent('download');
  await page.locator('.head').getByRole('link', { name: 'Download' }).tap();
  assert.equal(readFileSync(await (await download).path(), 'utf8'), 'a photo');
  await page.goBack();

  await page.getByRole('checkbox', { name: 'Select Picture.txt' }).tap();
  await page.locator('.selection').getByRole('button', { name: 'Delete' }).tap();
  await page.getByText('Nothing here yet').waitFor();
  await page.getByRole('button', { name: 'Undo' }).tap();
  await page.getByRole('link', { name: 'Picture.txt', exact: true }).waitFor();

  // The palette has a button, and the places of the site are behind another.
  await page.getByRole('link', { name: 'Search and commands' }).tap();
  await page.getByRole('dialog').getByRole('combobox').fill('picture');
  await page.getByRole('option', { name: 'Picture.txt' }).waitFor();
  await picture(page, 'phone-palette');
  await page.getByRole('option', { name: 'Picture.txt' }).tap();
  await page.getByRole('heading', { name: 'Picture.txt' }).waitFor();
  await page.getByRole('button', { name: 'Menu' }).tap();
  await picture(page, 'phone-places');
  await page.locator('#sidebar').getByRole('link', { name: 'Recycle bin' }).tap();
  await page.getByRole('heading', { name: 'Recycle bin', exact: true }).waitFor();
  await page.finish();
});

test('the back button leads to what was seen before', async () => {
  for (const name of ['one.txt', 'two.txt', 'three.md']) await server.put(`Back/${name}`, name);
  const page = await openPage(browser, server);
  await signIn(page);
  const shown = () => page.locator('tr[data-id] .item > a').allInnerTexts();
  await page.goto('/browse/Documents/Back');
  await page.getByRole('searchbox', { name: 'Filter by name' }).fill('t');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Name: t' }).waitFor();
  await page.getByRole('link', { name: 'Name', exact: true }).click();
  await page.locator('th[aria-sort=descending]').waitFor();
  const sorted = await shown();
  await page.getByRole('checkbox', { name: 'Select two.txt' }).check();
  await page.getByRole('link', { name: 'two.txt', exact: true }).click();
  await page.getByRole('heading', { name: 'two.txt' }).waitFor();
  // The listing comes back as it was left: filtered, sorted, and with what is ticked counted.
  await page.goBack();
  await page.locator('th[aria-sort=descending]').waitFor();
  assert.deepEqual(await shown(), sorted);
  const ticked = await page.locator('td.pick input:checked').count();
  assert.equal(await page.locator('.selection').isVisible(), ticked > 0);
  await page.goBack();
  await page.locator('th[aria-sort=ascending]').waitFor();
  await page.goBack();
  await page.waitForURL((url) => url.search === '');
  assert.equal((await shown()).length, 3);

  // A dialog or the pane that is left and one that has done its work leave no step behind.
  await page.getByRole('link', { name: 'New folder' }).click();
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('link', { name: 'More actions for one.txt' }).click();
  await page.locator('.menu:popover-open').getByText('Details').click();
  await page.getByRole('complementary', { name: 'one.txt' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('complementary').waitFor({ state: 'detached' });
  await page.goBack();
  await page.waitForURL((url) => url.pathname === '/');

  // Who has signed in does not come back to the sign-in.
  const other = await openPage(browser, server);
  await other.goto('/browse/Documents/Back');
  await other.getByLabel('Login').fill('admin');
  await other.getByLabel('Password').fill(PASSWORD);
  await other.getByLabel('Password').press('Enter');
  await other.getByRole('link', { name: 'one.txt', exact: true }).click();
  await other.getByRole('heading', { name: 'one.txt' }).waitFor();
  await other.goBack();
  await other.getByRole('link', { name: 'two.txt', exact: true }).waitFor();
  await other.goBack();
  await other.waitForLoadState();
  assert.equal(await other.locator('input[name=password]').count(), 0, other.url());
  await other.finish();
  await page.finish();
});
