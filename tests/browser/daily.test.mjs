// A day's work: tiles with pictures, comparing office documents, a long upload, roles that end, and fields that follow the hand.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { NARROW, PASSWORD, WIDE, look, openPage, signIn, startBrowser, startServer } from './rig.mjs';
import { png, tiff } from './samples.mjs';

let server;
let browser;
let library;
const ask = (method, path, body) => server.ask(method, path, body);
const item = (path) => ask('GET', `/api/v1/items/by-path?path=${encodeURIComponent(`Documents/${path}`)}`);
const exists = async (path) => (await server.api('GET', `/api/v1/items/by-path?path=${encodeURIComponent(`Documents/${path}`)}`)).status === 200;
const row = (page, name) => page.locator('tr[data-id]').filter({ has: page.locator('.item').getByRole('link', { name, exact: true }) });

before(async () => {
  server = await startServer();
  browser = await startBrowser();
  library = await ask('GET', '/api/v1/items/by-path?path=Documents');
  await ask('POST', '/api/v1/users', { login: 'berta', display_name: 'Bertha Vogel-Müller', password: PASSWORD });
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

for (const [scheme, viewport] of [['light', WIDE], ['dark', NARROW]]) {
  test(`pictures are shown as tiles, and TIFF on its page: ${scheme}`, async () => {
    const page = await openPage(browser, server, { scheme, viewport });
    page.expectFault(/422/);
    await signIn(page);
    const folder = `Tiles-${scheme}`;
    await server.put(`${folder}/red.png`, png(640, 320));
    await server.put(`${folder}/scan.tiff`, tiff(300, 200));
    await server.put(`${folder}/broken.jpg`, 'no picture at all');
    await server.put(`${folder}/notes.txt`, 'words');
    await server.put(`${folder}/Inside/more.txt`, 'words');
    await page.goto(`/browse/Documents/${folder}`);
    await page.getByRole('link', { name: 'Tiles', exact: true }).click();
    await page.waitForURL(/as=tiles/);
    const pictures = page.locator('img.thumbnail');
    // The one of which no picture can be made gives way to the symbol of its kind.
    await page.waitForFunction(() => document.querySelectorAll('img.thumbnail').length === 2);
    await pictures.last().scrollIntoViewIfNeeded();
    await page.waitForFunction(() => [...document.querySelectorAll('img.thumbnail')].every((one) => one.complete && one.naturalWidth > 0));
    assert.equal(await pictures.first().evaluate((one) => one.naturalWidth), 360);
    assert.ok(await row(page, 'broken.jpg').locator('.item > .icon').isVisible());
    await page.evaluate(() => scrollTo(0, 0));
    await look(page, `daily/tiles-${scheme}`);
    // A tile is a row like any other.
    await row(page, 'notes.txt').getByRole('checkbox').check();
    await page.getByText('1 selected').waitFor();
    await row(page, 'notes.txt').getByRole('checkbox').uncheck();
    await page.goto(`/browse/Documents/${folder}/scan.tiff`);
    const shown = page.locator('.preview img');
    await shown.waitFor();
    await page.waitForFunction(() => document.querySelector('.preview img').naturalWidth === 300);
    await page.finish();
  });
}

test('versions of an office document are compared by their text', async () => {
  const documents = new URL('../../crates/search/tests/documents/', import.meta.url);
  const blank = new URL('../../crates/ui/blank/', import.meta.url);
  await server.put('Compared.docx', readFileSync(new URL('document.docx', blank)));
  await server.put('Compared.docx', readFileSync(new URL('text.docx', documents)));
  const page = await openPage(browser, server, { viewport: WIDE });
  await signIn(page);
  const { id } = await item('Compared.docx');
  await page.goto(`/items/${id}/compare?from=1.0`);
  await page.getByText('Only the text is compared').waitFor();
  assert.ok(await page.locator('.diff ins').count() > 0);
  await look(page, 'daily/compare-office');
  await page.goto('/browse/Documents/Compared.docx');
  await page.locator('a[href*="/compare?from=1.0"]').first().waitFor({ state: 'attached' });
  await page.finish();
});

test('hundreds of files are counted, folded and announced, and keep their times', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-many-'));
  mkdirSync(join(folder, 'deep'));
  for (let number = 0; number < 300; number += 1) writeFileSync(join(folder, number % 2 ? 'deep' : '', `file ${number}.txt`), `${number}`);
  await server.put('Many/first.txt', 'first');
  const page = await openPage(browser, server, { viewport: WIDE });
  await signIn(page);
  await page.goto('/browse/Documents/Many');
  await page.getByRole('button', { name: 'More actions', exact: true }).first().click();
  await page.getByRole('button', { name: 'Upload a folder' }).waitFor();
  await page.keyboard.press('Escape');
  // Held until all was looked at.
  let go;
  const held = new Promise((resolve) => { go = resolve; });
  await page.route('**/api/v1/uploads', async (route) => { await held; return route.continue(); });
  await page.evaluate(() => { window.before = true; });
  await page.locator('#upload-folder').setInputFiles(folder);
  const queue = page.locator('#upload-queue');
  await queue.getByText('Files: 0 of 300').waitFor();
  await queue.getByText('Waiting: 298').waitFor();
  assert.ok(await queue.locator('li').count() <= 60, 'what waits has no row');
  await look(page, 'daily/queue');
  await queue.getByRole('button', { name: 'Show or hide the files' }).click();
  assert.ok(!await queue.locator('ul').isVisible());
  assert.ok(await queue.locator('[data-total]').isVisible());
  go();
  await page.waitForFunction(() => !window.before, undefined, { timeout: 120_000 });
  await page.getByText('300 files were uploaded').waitFor();
  const name = folder.split('/').at(-1);
  const stored = await item(`Many/${name}/deep/file 1.txt`);
  assert.ok(Math.abs(Date.parse(stored.modified_at) - Date.now()) < 600_000);
  assert.ok(await exists(`Many/${name}/file 298.txt`));
  rmSync(folder, { recursive: true, force: true });
  // All that waits is cancelled at once.
  const again = new Promise(() => {});
  await page.unroute('**/api/v1/uploads');
  await page.route('**/api/v1/uploads', () => again);
  await page.locator('#upload-files').setInputFiles(Array.from({ length: 40 }, (_, at) => ({ name: `no ${at}.txt`, mimeType: 'text/plain', buffer: Buffer.from('x') })));
  await queue.getByRole('button', { name: 'Cancel all' }).click();
  await page.waitForFunction(() => !document.querySelector('#upload-queue') || document.querySelector('#upload-queue').hidden || /finished/.test(document.querySelector('[data-title]').textContent));
  assert.ok(!await exists('Many/no 39.txt'));
  await page.finish();
});

test('a picture of the clipboard is stored', async () => {
  await server.put('Pasted/first.txt', 'first');
  const page = await openPage(browser, server, { viewport: WIDE });
  await signIn(page);
  await page.goto('/browse/Documents/Pasted');
  await page.evaluate(() => { window.before = true; });
  await page.evaluate((bytes) => {
    const data = new DataTransfer();
    data.items.add(new File([new Uint8Array(bytes)], 'image.png', { type: 'image/png' }));
    document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
  }, [...png(20, 20)]);
  await page.waitForFunction(() => !window.before);
  await page.getByText('One file was uploaded').waitFor();
  await page.getByRole('link', { name: /^Picture \d{4}-\d\d-\d\d \d\d\.\d\d\.\d\d\.png$/ }).waitFor();
  await page.finish();
});

test('a role gets a last day, and people are found by their names', async () => {
  await server.put('Lent/plan.txt', 'plan');
  const { id } = await item('Lent');
  const page = await openPage(browser, server, { viewport: WIDE });
  page.expectFault(/400/);
  await signIn(page);
  await page.goto('/browse/Documents/Lent');
  await page.getByRole('button', { name: 'More actions', exact: true }).first().click();
  await page.getByRole('link', { name: 'Share', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('combobox', { name: 'Who' }).fill('vogel');
  const option = dialog.locator('datalist option[value=berta]');
  await option.waitFor({ state: 'attached' });
  assert.equal(await option.getAttribute('label'), 'Bertha Vogel-Müller');
  await dialog.getByRole('combobox', { name: 'Who' }).fill('berta');
  await dialog.getByLabel('Last day').fill('2020-01-01');
  await dialog.getByRole('button', { name: 'Share', exact: true }).click();
  await dialog.getByRole('alert').waitFor();
  assert.equal(await dialog.getByRole('combobox', { name: 'Who' }).inputValue(), 'berta');
  const day = new Date(Date.now() + 3 * 86_400_000).toISOString().slice(0, 10);
  const lastDay = new RegExp(`^Last day: ${Number(day.slice(8))} \\w+ ${day.slice(0, 4)}$`);
  await dialog.getByLabel('Last day').fill(day);
  await dialog.getByRole('button', { name: 'Share', exact: true }).click();
  await dialog.getByText('berta can open “Lent” now').waitFor();
  await dialog.getByText(lastDay).waitFor();
  await look(page, 'daily/share-until');
  const { grants } = await ask('GET', `/api/v1/items/${id}/permissions`);
  const given = grants.find((grant) => grant.principal.name === 'Bertha Vogel-Müller');
  const left = Date.parse(given.expires_at) - Date.parse(day);
  assert.ok(left > 0 && left <= 38 * 3_600_000, given.expires_at);
  // Another role is given by its choice alone, and has the same end.
  await dialog.getByLabel('Role of Bertha Vogel-Müller').click();
  await dialog.getByLabel('Role of Bertha Vogel-Müller').selectOption({ label: 'Contribute' });
  await dialog.getByText('The role was changed').waitFor();
  await dialog.getByText(lastDay).waitFor();
  await page.keyboard.press('Escape');
  await page.goto(`/items/${id}/permissions`);
  await page.getByText(lastDay).waitFor();
  await look(page, 'daily/permissions-until');
  await page.finish();
});

test('a choice in a cell is saved when it is chosen, a text when one goes elsewhere', async () => {
  const made = await ask('POST', `/api/v1/items/${library.site_collection}/libraries`, { name: 'Cells' });
  for (const [name, kind, more] of [['State', 'choice', { choices: ['open', 'done'] }], ['Remark', 'text', {}]]) {
    await ask('POST', `/api/v1/items/${made.id}/columns`, { name, kind, ...more });
  }
  assert.ok((await server.api('PUT', '/api/v1/content/Cells/a.txt', 'a')).ok);
  const page = await openPage(browser, server, { viewport: WIDE });
  await signIn(page);
  await page.goto('/browse/Cells');
  const cell = (name) => page.locator(`td.cell[data-label="${name}"]`);
  await cell('State').locator('[data-cell]').click();
  await page.locator('.cell-editor select').selectOption('done');
  await cell('State').locator('a[data-cell]').getByText('done').waitFor();
  assert.equal(await page.locator('.cell-editor').count(), 0);
  await cell('Remark').locator('[data-cell]').click();
  await page.locator('.cell-editor .input').fill('looked at');
  await page.getByRole('heading', { name: 'Cells', level: 1 }).click();
  await cell('Remark').locator('a[data-cell]').getByText('looked at').waitFor();
  assert.equal(await page.locator('.cell-editor').count(), 0);
  await page.finish();
});

test('keys work in an empty folder, after ticks, and at once after F2', async () => {
  for (const name of ['one.txt', 'two.txt', 'three.txt']) await server.put(`Keys/${name}`, name);
  const { id } = await item('Keys');
  await ask('POST', `/api/v1/items/${id}/folders`, { name: 'Empty' });
  const page = await openPage(browser, server, { viewport: WIDE });
  await signIn(page);
  await page.goto('/browse/Documents/Keys');
  // Letters that are typed before the server has said anything are not lost.
  let go;
  const held = new Promise((resolve) => { go = resolve; });
  await page.route('**/rename', async (route) => { await held; return route.continue(); });
  await row(page, 'one.txt').focus();
  await page.keyboard.press('F2');
  await page.keyboard.type('Renamed');
  go();
  await page.keyboard.press('Enter');
  await row(page, 'Renamed.txt').waitFor();
  await row(page, 'Renamed.txt').getByRole('link', { name: 'More actions for Renamed.txt' }).waitFor();
  await page.unroute('**/rename');
  // Escape clears the ticks, Shift and a click take the rows between.
  await row(page, 'two.txt').getByRole('checkbox').check();
  await page.keyboard.press('Escape');
  assert.ok(!await row(page, 'two.txt').getByRole('checkbox').isChecked());
  await row(page, 'Renamed.txt').locator('td').nth(3).click();
  await row(page, 'two.txt').locator('td').nth(3).click({ modifiers: ['Shift'] });
  await page.getByText('3 selected').waitFor();
  assert.equal(await page.evaluate(() => String(getSelection())), '');
  await page.keyboard.press('Control+c');
  await page.getByText('copied').waitFor();
  await page.goto('/browse/Documents/Keys/Empty');
  await page.keyboard.press('Control+v');
  await page.getByText('Copied to “Empty”').waitFor();
  assert.ok(await exists('Keys/Empty/two.txt'));
  // All are deleted, and come back to the folder that is empty now.
  await page.keyboard.press('Control+a');
  await page.keyboard.press('Delete');
  await page.getByText('There is nothing in here').or(page.getByRole('heading', { name: /empty/i })).first().waitFor();
  await page.keyboard.press('Control+z');
  await row(page, 'two.txt').waitFor();
  await page.finish();
});

test('the editor offers what was not saved, and not what was', async () => {
  await server.put('edited.txt', 'first\n');
  const { id } = await item('edited.txt');
  const page = await openPage(browser, server, { viewport: WIDE });
  await signIn(page);
  await page.goto(`/items/${id}/edit`);
  const area = page.locator('textarea[name=text]');
  const offer = page.getByRole('button', { name: 'Use that text' });
  await area.fill('second\n');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.waitForURL('**/browse/Documents/edited.txt');
  await server.put('edited.txt', 'theirs\n');
  await page.goto(`/items/${id}/edit`);
  await area.waitFor();
  assert.equal(await area.inputValue(), 'theirs\n');
  assert.ok(!await offer.isVisible(), 'what was saved is no lost text');
  await area.fill('third\n');
  await page.waitForFunction(() => Object.keys(sessionStorage).some((key) => key.startsWith('text:')));
  page.on('dialog', (dialog) => dialog.accept());
  await page.goto(`/items/${id}/edit`);
  await offer.waitFor();
  await offer.click();
  assert.equal(await area.inputValue(), 'third\n');
  // Signing out leaves nothing for whoever signs in next.
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.waitForURL('**/browse/Documents/edited.txt');
  assert.equal(await page.evaluate(() => Object.keys(sessionStorage).filter((key) => key.startsWith('text:')).length), 0);
  await page.finish();
});

test('a link with a password takes files only after the password', async () => {
  await ask('PUT', `/api/v1/site-collections/${library.site_collection}/link-rule`, { most_days: 30 });
  await server.put('Inbox/first.txt', 'first');
  const { id } = await item('Inbox');
  const made = await ask('POST', `/api/v1/items/${id}/links`, { days: 2, takes_uploads: true, most_downloads: 3, password: 'open sesame' });
  const theirs = await openPage(browser, server, { viewport: NARROW });
  theirs.expectFault(/403/);
  await theirs.goto(made.path);
  assert.equal(await theirs.locator('input[type=file]').count(), 0);
  await theirs.getByLabel('Password').fill('wrong');
  await theirs.getByRole('button', { name: 'Open' }).click();
  await theirs.getByRole('alert').waitFor();
  await theirs.getByLabel('Password').fill('open sesame');
  await theirs.getByRole('button', { name: 'Open' }).click();
  await theirs.locator('input[type=file]').setInputFiles([{ name: 'sent.txt', mimeType: 'text/plain', buffer: Buffer.from('sent') }]);
  await look(theirs, 'daily/link-upload');
  await theirs.getByRole('button', { name: 'Send' }).click();
  await theirs.getByText('1 file was sent').waitFor();
  assert.ok(await exists('Inbox/sent.txt'));
  await theirs.finish();
});
