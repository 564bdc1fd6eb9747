// How many clicks everyday acts take, counted where the pointer goes down. What is typed is not counted.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { PASSWORD, WIDE, openPage, signIn, startBrowser, startServer } from './rig.mjs';

let server;
let browser;
let page;
before(async () => {
  server = await startServer();
  browser = await startBrowser();
  await server.ask('POST', '/api/v1/users', { login: 'berta', display_name: 'Berta Vogel', password: PASSWORD });
  const library = await server.ask('GET', '/api/v1/items/by-path?path=Documents');
  await server.ask('POST', `/api/v1/items/${library.id}/columns`, { name: 'State', kind: 'choice', choices: ['open', 'done'] });
  await server.put('plan.txt', 'first');
  await server.put('plan.txt', 'second');
  await server.put('Archive/old.txt', 'old');
  page = await openPage(browser, server, { viewport: WIDE });
  await page.addInitScript(() => addEventListener('pointerdown', () => { sessionStorage.clicks = Number(sessionStorage.clicks ?? 0) + 1; }, true));
  await signIn(page);
});
after(async () => {
  await page?.finish();
  await browser?.close();
  await server?.stop();
});

/** Counts the clicks of an act that begins at an address. */
async function clicks(address, act) {
  await page.goto(address);
  await page.evaluate(() => { sessionStorage.clicks = 0; });
  await act();
  return page.evaluate(() => Number(sessionStorage.clicks));
}

const row = (name) => page.locator('tr[data-id]').filter({ has: page.locator('.item').getByRole('link', { name, exact: true }) });
const dialog = () => page.getByRole('dialog');

test('everyday acts take few clicks', async () => {
  const counted = {};
  counted['share a document, from its page'] = await clicks('/browse/Documents/plan.txt', async () => {
    await page.getByRole('link', { name: 'Share', exact: true }).click();
    await dialog().getByRole('combobox', { name: 'Who' }).fill('berta');
    await dialog().getByRole('button', { name: 'Share', exact: true }).click();
    await dialog().getByText('berta can open').waitFor();
  });
  counted['edit a choice in a listing'] = await clicks('/browse/Documents', async () => {
    await row('plan.txt').locator('td.cell [data-cell]').click();
    // The list of a field belongs to the browser, outside of the page: choosing in it is one more.
    await page.locator('.cell-editor select').selectOption('done');
    await row('plan.txt').locator('a[data-cell]').getByText('done').waitFor();
  }) + 1;
  counted['add a column of text'] = await clicks('/browse/Documents', async () => {
    await page.getByRole('link', { name: 'Add a column' }).click();
    await dialog().getByLabel('Name', { exact: true }).fill('Remark');
    await dialog().getByRole('button', { name: 'Save' }).click();
    await page.getByRole('link', { name: 'Remark', exact: true }).waitFor();
  });
  counted['move a document by its menu'] = await clicks('/browse/Documents', async () => {
    await row('plan.txt').getByRole('link', { name: 'More actions for plan.txt' }).click();
    await page.locator('.menu.of-row').getByRole('link', { name: 'Move', exact: true }).click();
    const place = dialog().locator('.places li', { has: page.getByRole('link', { name: 'Archive', exact: true }) }).first();
    await place.getByRole('button', { name: 'Move here: Archive' }).click();
    await page.getByText('Moved to “Archive”').waitFor();
  });
  counted['take the move back'] = await clicks('/browse/Documents', async () => {
    await page.keyboard.press('Control+z');
    await page.getByText('Moved back').waitFor();
  });
  counted['move a document by dragging it'] = await clicks('/browse/Documents', async () => {
    await row('plan.txt').locator('.item a').dragTo(row('Archive'));
    await page.getByText('Moved to “Archive”').waitFor();
  });
  counted['restore a version, from the page of the document'] = await clicks('/browse/Documents/Archive/plan.txt', async () => {
    await page.getByRole('button', { name: 'More actions for 1.0' }).click();
    await page.locator('.menu:popover-open').getByRole('button', { name: 'Restore', exact: true }).click();
    await page.getByText('Restored as version').waitFor();
  });
  console.log(JSON.stringify(counted, undefined, 2));
  const most = [2, 2, 2, 3, 0, 1, 2];
  Object.entries(counted).forEach(([act, count], at) => assert.ok(count <= most[at], `${act}: ${count}`));
});
