// How things feel in the hand: dialogs that refuse, drops beside the mark, edges that are dragged, cells, the pane that follows,
// what asks and what does not.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { look, openPage, signIn, startBrowser, startServer } from './rig.mjs';

let server;
let browser;
before(async () => {
  server = await startServer();
  browser = await startBrowser();
  for (const name of ['one', 'two', 'three']) await server.put(`box/${name}.txt`, name);
  const library = await (await server.api('GET', '/api/v1/items/by-path?path=Documents')).json();
  for (const name of ['Customer', 'State', 'Place', 'Street', 'Town', 'Land']) {
    await server.json('POST', `/api/v1/items/${library.id}/columns`, { name, kind: 'text' });
  }
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const rowOf = (page, name) => page.locator('tr[data-id]', { hasText: name });

test('what a dialog refuses it says itself, and the way back leads to the listing', async () => {
  const page = await openPage(browser, server);
  page.expectFault(/400/);
  await signIn(page);
  await page.goto('/browse/Documents');
  await page.goto('/browse/Documents/box');
  await page.getByRole('link', { name: 'New folder' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('a/b');
  await page.keyboard.press('Enter');
  await dialog.getByRole('alert').getByText('it contains a slash').waitFor();
  assert.equal(await dialog.getByLabel('Name').inputValue(), 'a/b');
  await dialog.getByLabel('Name').fill('inner');
  await page.keyboard.press('Enter');
  await page.getByRole('status').getByText('inner').waitFor();
  await rowOf(page, 'inner').waitFor();
  await page.goBack();
  await page.waitForURL('**/browse/Documents');
  await page.finish();
});

test('what a dialog makes it makes once, and shows what is shown once', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  await page.goto('/account');
  await page.getByRole('link', { name: 'New token' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('for a script');
  await page.keyboard.press('Enter');
  const secret = await page.locator('#token-secret').innerText();
  const answer = await fetch(`${server.url}/api/v1/me`, { headers: { authorization: `Bearer ${secret}` } });
  assert.equal(answer.status, 200);
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  assert.equal(await page.locator('tr', { hasText: 'for a script' }).count(), 1);
  await page.goto('/account');
  assert.equal(await page.locator('tr', { hasText: 'for a script' }).count(), 1);
  await page.finish();
});

test('the whole page takes what is dropped', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  await page.goto('/browse/Documents/box');
  const files = await page.evaluateHandle(() => {
    const data = new DataTransfer();
    data.items.add(new File(['dropped'], 'dropped.txt'));
    return data;
  });
  await page.dispatchEvent('.topbar', 'dragover', { dataTransfer: files });
  await page.locator('.drop-target.over').waitFor();
  await page.dispatchEvent('.topbar', 'drop', { dataTransfer: files });
  await page.locator('.drop-target:not(.over)').waitFor();
  const stored = () => server.api('GET', '/api/v1/content/Documents/box/dropped.txt');
  await rowOf(page, 'dropped.txt').waitFor();
  assert.equal(await (await stored()).text(), 'dropped');
  await page.finish();
});

test('a column is as wide as its edge is dragged to, also after a reload', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  await page.goto('/browse/Documents/box');
  const width = () => page.locator('thead th[data-col]').nth(1).evaluate((head) => Math.round(head.getBoundingClientRect().width));
  const drag = async (by) => {
    const edge = await page.locator('.grip').nth(1).boundingBox();
    await page.mouse.move(edge.x + 4, edge.y + 8);
    await page.mouse.down();
    await page.mouse.move(edge.x + 4 + by, edge.y + 8, { steps: 3 });
    await page.mouse.up();
  };
  // With the first drag, all columns get the widths that they have.
  await drag(1);
  const before = await width();
  await drag(120);
  assert.equal(await width(), before + 120);
  await drag(-70);
  assert.equal(await width(), before + 50);
  await page.reload();
  assert.equal(await width(), before + 50);
  // Names and boxes stay in sight while the rest is moved.
  const name = page.locator('tr[data-id] > td:nth-child(2)').first();
  const x = (await name.boundingBox()).x;
  await page.locator('.scroll').evaluate((part) => { part.scrollLeft = 500; });
  assert.ok(await page.locator('.scroll').evaluate((part) => part.scrollLeft > 0));
  assert.ok(Math.abs((await name.boundingBox()).x - x) < 2);
  await page.finish();
});

test('a click beside an empty value edits it, and selecting moves no row', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  await page.goto('/browse/Documents/box');
  const cell = rowOf(page, 'one.txt').locator('td[data-label="State"]');
  const box = await cell.boundingBox();
  await page.mouse.click(box.x + box.width - 4, box.y + box.height - 4);
  await cell.locator('#cell-field').fill('new');
  await page.keyboard.press('Enter');
  await cell.getByText('new').waitFor();
  assert.equal(await page.locator('td.pick input:checked').count(), 0);
  const y = (await rowOf(page, 'two.txt').boundingBox()).y;
  await rowOf(page, 'two.txt').getByRole('checkbox').check();
  await page.locator('.selection').waitFor();
  assert.equal((await rowOf(page, 'two.txt').boundingBox()).y, y);
  await page.finish();
});

test('a menu takes the focus at once and not again', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  await server.put('menu/one.txt', 'one');
  await page.goto('/browse/Documents/menu');
  const more = page.getByRole('link', { name: 'More actions for one.txt' });
  const [first, kept] = await more.evaluate(async (link) => {
    link.click();
    const entries = [...document.querySelectorAll('.menu:popover-open a, .menu:popover-open button')];
    const shown = new Promise((resolve) => { entries[0].closest('.menu').addEventListener('toggle', resolve); });
    const at = entries.indexOf(document.activeElement);
    entries[1].focus();
    await shown;
    return [at, entries.indexOf(document.activeElement)];
  });
  assert.equal(first, 0, 'who types ahead is in the menu already');
  assert.equal(kept, 1, 'who has gone on in it stays there');
  await page.finish();
});

test('the arrows lead into the listing, and the pane follows', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  await page.goto('/browse/Documents/box');
  await rowOf(page, 'one.txt').locator('td.act a').click();
  await page.getByRole('link', { name: 'Details' }).click();
  const pane = page.locator('.pane');
  await pane.getByRole('heading', { name: 'one.txt' }).waitFor();
  await rowOf(page, 'three.txt').locator('td.act').click({ position: { x: 2, y: 2 } });
  await pane.getByRole('heading', { name: 'three.txt' }).waitFor();
  await page.reload();
  await page.keyboard.press('ArrowDown');
  assert.ok(await page.evaluate(() => document.activeElement.matches('tr[data-id]')));
  await page.finish();
});

test('deleting does not ask and can be undone; emptying the bin asks', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  await page.goto('/browse/Documents/box');
  await rowOf(page, 'two.txt').locator('td.act a').click();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Undo' }).click();
  await rowOf(page, 'two.txt').waitFor();
  for (const name of ['one.txt', 'two.txt']) await rowOf(page, name).getByRole('checkbox').check();
  await page.locator('.selection').getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Restored: 2 items').waitFor();
  await page.goto('/browse/Documents/box/three.txt');
  await page.locator('[popovertarget=document-menu]').click();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Undo' }).waitFor();
  await page.getByRole('link', { name: 'Recycle bin' }).click();
  await page.getByRole('link', { name: 'Whole site' }).click();
  await page.getByRole('button', { name: 'Empty the recycle bin' }).click();
  const question = page.getByRole('alertdialog');
  assert.match(await question.textContent(), /Permanently remove everything .* including what others deleted/);
  await look(page, 'handling/question');
  // Enter leaves things as they are.
  await page.keyboard.press('Enter');
  await question.waitFor({ state: 'detached' });
  await page.getByText('three.txt', { exact: true }).waitFor();
  // On the site's tab, gone is gone.
  await page.getByRole('checkbox', { name: 'Select three.txt' }).check();
  await page.getByRole('button', { name: 'Remove' }).click();
  await question.getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('heading', { name: 'The recycle bin is empty' }).waitFor();
  await page.finish();
});

test('a link is copied that leads to the document under another name', async () => {
  const page = await openPage(browser, server, { permissions: ['clipboard-read', 'clipboard-write'] });
  await signIn(page);
  await page.goto('/browse/Documents/box');
  await rowOf(page, 'one.txt').locator('td.act a').click();
  await page.getByRole('button', { name: 'Copy link' }).click();
  await page.getByText('The link was copied.').waitFor();
  const address = await page.evaluate(() => navigator.clipboard.readText());
  const item = await (await server.api('GET', '/api/v1/items/by-path?path=Documents/box/one.txt')).json();
  await server.json('PATCH', `/api/v1/items/${item.id}`, { name: 'first.txt' });
  await page.goto(address);
  await page.waitForURL('**/browse/Documents/box/first.txt');
  await page.finish();
});

test('a name that cannot be used is refused in the language of the reader', async () => {
  const page = await openPage(browser, server, { locale: 'de-DE' });
  page.expectFault(/400/);
  await signIn(page);
  await page.goto('/browse/Documents/box');
  await page.locator('#upload-files').setInputFiles({ name: 'ends with a dot.', mimeType: 'text/plain', buffer: Buffer.from('x') });
  await page.locator('.queue').getByText('Dieser Name geht nicht').waitFor();
  await page.finish();
});
