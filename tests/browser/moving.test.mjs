// Moving and copying in a dialog: by walking, by a search for the name, into recent places and new folders, and back again.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  NARROW, WIDE, look, openPage, signIn, startBrowser, startServer,
} from './rig.mjs';

let server;
let browser;
before(async () => {
  server = await startServer();
  browser = await startBrowser();
  for (const name of ['one.txt', 'two.txt', 'three.txt', 'Plans/2025/old.txt', 'Plans/2026/new.txt', 'Else/other.txt']) await server.put(name, name);
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const exists = async (path) => (await server.api('GET', `/api/v1/items/by-path?path=${encodeURIComponent(`Documents/${path}`)}`)).status === 200;
const dialog = (page) => page.getByRole('dialog');
const places = (page) => dialog(page).locator('.places');
const row = (page, name) => page.locator('tr[data-id]').filter({ has: page.locator('.item').getByRole('link', { name, exact: true }) });

async function choose(page, name, what) {
  await row(page, name).getByRole('link', { name: `More actions for ${name}` }).click();
  await page.locator('.menu.of-row').getByRole('link', { name: what, exact: true }).click();
  await dialog(page).getByRole('button', { name: `${what} here`, exact: true }).waitFor();
}

for (const [scheme, screen, viewport] of [['light', 'wide', WIDE], ['dark', 'narrow', NARROW]]) {
  test(`a document moves to where its folder is found, and back: ${scheme}, ${screen}`, async () => {
    const page = await openPage(browser, server, { scheme, viewport });
    await signIn(page);
    await page.goto('/browse/Documents');
    await choose(page, 'one.txt', 'Move');
    // It is here already.
    assert.ok(await dialog(page).getByRole('button', { name: 'Move here', exact: true }).isDisabled());
    await places(page).getByText('Where you worked lately').waitFor();
    await look(page, `moving/${scheme}-${screen}-dialog`);
    await dialog(page).getByRole('searchbox').fill('2026');
    await page.keyboard.press('Enter');
    // The folder may also stand among the recent places, which go once the search has answered.
    await places(page).getByText('Where you worked lately').waitFor({ state: 'detached' });
    await places(page).getByRole('link', { name: /2026/ }).waitFor();
    assert.deepEqual(await places(page).getByRole('link').allTextContents(), ['2026Documents / Plans']);
    await look(page, `moving/${scheme}-${screen}-found`);
    await places(page).getByRole('link').click();
    await dialog(page).getByText('No folders here.').waitFor();
    await dialog(page).getByRole('button', { name: 'Move here', exact: true }).click();
    await page.getByText('Moved to “2026”').waitFor();
    // One stays where one was.
    assert.equal(new URL(page.url()).pathname, '/browse/Documents');
    await row(page, 'two.txt').waitFor();
    assert.ok(await exists('Plans/2026/one.txt'));
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Moved back').waitFor();
    await row(page, 'one.txt').waitFor();
    assert.ok(await exists('one.txt') && !await exists('Plans/2026/one.txt'));
    await page.finish();
  });
}

test('several are copied into a new folder, and what is refused is said in the dialog', async () => {
  const page = await openPage(browser, server, { viewport: WIDE });
  page.expectFault(/409/);
  await signIn(page);
  await page.goto('/browse/Documents');
  for (const name of ['two.txt', 'three.txt']) await row(page, name).getByRole('checkbox').check();
  await page.locator('.selection').getByRole('button', { name: 'Copy' }).click();
  await dialog(page).getByRole('heading', { name: 'Copy 2 items' }).waitFor();
  await places(page).getByRole('link', { name: 'Plans', exact: true }).click();
  await places(page).getByRole('link', { name: '2025', exact: true }).waitFor();
  await dialog(page).getByText('New folder').click();
  const name = dialog(page).getByRole('textbox', { name: 'Name of the folder' });
  await name.fill('2025');
  await page.keyboard.press('Enter');
  await dialog(page).getByRole('alert').waitFor();
  await dialog(page).getByText('New folder').click();
  await name.fill('2027');
  await page.keyboard.press('Enter');
  await dialog(page).getByText('No folders here.').waitFor();
  await dialog(page).getByRole('button', { name: 'Copy here', exact: true }).click();
  await page.getByText('Copied to “2027”').waitFor();
  assert.ok(await exists('Plans/2027/two.txt') && await exists('Plans/2027/three.txt') && await exists('two.txt'));
  // A name that is taken there.
  await server.put('Else/two.txt', 'another');
  await choose(page, 'two.txt', 'Move');
  await places(page).getByRole('link', { name: 'Else', exact: true }).first().click();
  await dialog(page).getByText('No folders here.').waitFor();
  await dialog(page).getByRole('button', { name: 'Move here', exact: true }).click();
  await dialog(page).getByRole('alert').waitFor();
  await page.keyboard.press('Escape');
  assert.ok(await exists('two.txt'));
  await page.finish();
});

test('without script, it is a page', async () => {
  const page = await openPage(browser, server, { javaScriptEnabled: false });
  await signIn(page);
  const { id } = await (await server.api('GET', '/api/v1/items/by-path?path=Documents%2Fthree.txt')).json();
  await page.goto(`/place?action=move&ids=${id}&next=/browse/Documents`);
  await page.getByRole('searchbox', { name: 'Find a folder or library' }).fill('2025');
  await page.locator('#form').getByRole('button', { name: 'Search' }).click();
  await page.locator('.places').getByRole('link', { name: /2025/ }).click();
  await page.getByRole('button', { name: 'Move here', exact: true }).click();
  await page.waitForURL('**/browse/Documents');
  await page.getByText('Moved to “2025”').waitFor();
  assert.ok(await exists('Plans/2025/three.txt'));
  await page.finish();
});

test('rows are dragged onto folders, breadcrumbs and libraries, and Ctrl+Z brings them back', async () => {
  const root = (await (await server.api('GET', '/api/v1/items/by-path?path=')).json()).id;
  await server.json('POST', `/api/v1/items/${root}/libraries`, { name: 'Contracts' });
  for (const name of ['Hand/in.txt', 'Hand/with.txt', 'Hand/Box/x.txt']) await server.put(name, name);
  const page = await openPage(browser, server, { viewport: WIDE });
  await signIn(page);
  await page.goto('/browse/Documents/Hand');
  for (const name of ['in.txt', 'with.txt']) await row(page, name).getByRole('checkbox').check();
  await row(page, 'in.txt').locator('.item a').dragTo(row(page, 'Box'));
  await page.getByText('Moved to “Box”').waitFor();
  assert.ok(await exists('Hand/Box/in.txt') && await exists('Hand/Box/with.txt'));
  await page.goto('/browse/Documents/Hand/Box');
  await row(page, 'in.txt').locator('.item a').dragTo(page.locator('.crumbs').getByRole('link', { name: 'Documents' }));
  await page.getByText('Moved to “Documents”').waitFor();
  assert.ok(await exists('in.txt'));
  await row(page, 'with.txt').locator('.item a').dragTo(page.locator('.sidebar').getByRole('link', { name: 'Contracts' }));
  await page.getByText('Moved to “Contracts”').waitFor();
  // The latest comes back first, wherever one is.
  await page.goto('/browse/Documents');
  await page.keyboard.press('Control+z');
  await page.getByText('Moved back').waitFor();
  assert.ok(await exists('Hand/Box/with.txt') && await exists('in.txt'));
  await page.keyboard.press('Control+z');
  await row(page, 'in.txt').waitFor({ state: 'detached' });
  assert.ok(await exists('Hand/Box/in.txt'));
  // With Ctrl, it is a copy.
  await page.goto('/browse/Documents/Hand');
  await page.keyboard.down('Control');
  await row(page, 'Box').locator('.item a').dragTo(page.locator('.crumbs').getByRole('link', { name: 'Documents' }));
  await page.keyboard.up('Control');
  await page.getByText('Copied to “Documents”').waitFor();
  assert.ok(await exists('Box/in.txt') && await exists('Hand/Box/in.txt'));
  await page.finish();
});

test('rows are cut, copied and pasted, opened by a double click, and have a menu at the right button', async () => {
  for (const name of ['Keys/a.txt', 'Keys/b.txt', 'Keys/To/x.txt']) await server.put(name, name);
  const page = await openPage(browser, server, { viewport: WIDE });
  await signIn(page);
  await page.goto('/browse/Documents/Keys');
  await row(page, 'a.txt').focus();
  await page.keyboard.press('Control+c');
  await page.getByText('Copied: 1.').waitFor();
  await page.goto('/browse/Documents/Keys/To');
  await row(page, 'x.txt').waitFor();
  await page.keyboard.press('Control+v');
  await page.getByText('Copied to “To”').waitFor();
  await page.goto('/browse/Documents/Keys');
  await row(page, 'b.txt').getByRole('checkbox').check();
  await page.keyboard.press('Control+x');
  await page.getByText('Cut: 1.').waitFor();
  await row(page, 'To').locator('td').last().dblclick({ position: { x: 2, y: 2 } });
  await page.waitForURL('**/Keys/To');
  await row(page, 'x.txt').waitFor();
  await page.keyboard.press('Control+v');
  await page.getByText('Moved to “To”').waitFor();
  assert.ok(await exists('Keys/To/a.txt') && await exists('Keys/To/b.txt') && !await exists('Keys/b.txt'));
  // What was cut is pasted once.
  await page.keyboard.press('Control+v');
  await row(page, 'a.txt').click({ button: 'right' });
  const menu = page.locator('.menu.of-row');
  await menu.getByRole('link', { name: 'Rename' }).waitFor();
  await look(page, 'moving/right-button');
  await menu.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Undo' }).waitFor();
  await page.finish();
});
