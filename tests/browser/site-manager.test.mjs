// The site manager: figures that are counted in the background, the tree of a site, and moves and copies to another site,
// of folders and documents, of whole libraries and lists with their rows, and of sites.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  NARROW, PASSWORD, WIDE, fillForm, look, openPage, signIn, startBrowser, startServer,
} from './rig.mjs';

let server;
let browser;
let root;

const ask = (method, path, body) => server.ask(method, path, body);

const item = (path) => ask('GET', `/api/v1/items/by-path?path=${encodeURIComponent(path)}`);

before(async () => {
  server = await startServer();
  browser = await startBrowser();
  root = (await item('')).id;
  const team = await ask('POST', `/api/v1/items/${root}/sites`, { name: 'Team' });
  await ask('POST', `/api/v1/items/${team.id}/libraries`, { name: 'Papers' });
  await ask('POST', `/api/v1/items/${team.id}/libraries`, { name: 'Archive' });
  for (const [name, bytes] of [['Small/a.txt', 1_000], ['Large/b.bin', 300_000], ['Large/inner/c.bin', 700_000], ['Secret/d.bin', 123_456]]) {
    await server.put(name, Buffer.alloc(bytes, 1));
  }
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const tree = (page) => page.locator('.tree li');
/** Names and sizes in the tree. */
const lines = (page) => tree(page).evaluateAll((all) => all.map((li) => {
  const [name, size] = ['span[dir]', '.number'].map((part) => li.querySelector(part).textContent.replace('\u00a0', ' '));
  return `${name}: ${size}`;
}));

async function count(page) {
  await page.getByRole('button', { name: 'Count again' }).click();
  await page.getByText('Everything is being counted again').waitFor();
  await page.locator('#manager:not([data-refresh])').waitFor();
}

for (const scheme of ['light', 'dark']) {
  for (const [screen, viewport] of [['wide', WIDE], ['narrow', NARROW]]) {
    test(`an administrator finds what is large: ${scheme}, ${screen}`, async () => {
      const page = await openPage(browser, server, { scheme, viewport });
      await signIn(page);
      await page.goto(`/items/${root}/site-settings`);
      await page.locator('main').getByRole('link', { name: 'Site manager' }).click();
      await page.getByRole('heading', { name: /^Site manager: / }).waitFor();
      await count(page);
      await page.locator('.tree').getByRole('link', { name: 'Documents' }).click();
      await page.getByRole('heading', { name: 'Site manager: Documents' }).waitFor();
      // The largest first, and by name.
      assert.deepEqual((await lines(page)).filter((line) => /Large|Secret|Small/.test(line)), ['Large: 977 KiB', 'Secret: 121 KiB', 'Small: 1,000 bytes']);
      await look(page, `site-manager/${scheme}-${screen}-library`);
      await page.getByRole('link', { name: 'By name' }).click();
      await page.waitForURL(/sort=name/);
      assert.deepEqual((await lines(page)).filter((line) => /Large|Secret|Small/.test(line)).map((line) => line.split(':')[0]), ['Large', 'Secret', 'Small']);
      // By keyboard into a folder, one level deeper.
      await page.locator('.tree').getByRole('link', { name: 'Large' }).focus();
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Site manager: Large' }).waitFor();
      assert.ok((await lines(page)).some((line) => line.startsWith('inner: 684 KiB')));
      assert.equal(await page.locator('.tree a[aria-current]').count(), 1);
      await page.finish();
    });
  }
}

test('figures and names of what one may not manage are in no part of the page', async () => {
  const secret = await item('Documents/Secret');
  const berta = await ask('POST', '/api/v1/users', { login: 'berta', display_name: 'Berta Vogel', email: 'berta@example.org', password: PASSWORD });
  const role = await ask('POST', '/api/v1/roles', { name: 'Managers', rights: ['view', 'manage-site'] });
  await ask('POST', `/api/v1/items/${root}/permissions/grants`, { principal: berta.id, role: role.id });
  await ask('POST', `/api/v1/items/${secret.id}/permissions/break`, { copy: false });
  const page = await openPage(browser, server, { viewport: WIDE });
  await signIn(page, 'berta');
  await page.goto(`/items/${(await item('Documents')).id}/manage`);
  // The figures above what has just become hidden are gone at once, and come back without it.
  await page.locator('#manager:not([data-refresh])').waitFor();
  const all = await lines(page);
  assert.ok(all.some((line) => line.startsWith('Large: 977 KiB')), all.join());
  assert.ok(all.some((line) => line.startsWith('Documents: 978 KiB')), all.join());
  assert.ok(!(await page.content()).includes('Secret'));
  await page.finish();
});

test('what is ticked moves and is copied to another site, and a library as a whole', async () => {
  const page = await openPage(browser, server, { viewport: WIDE });
  await signIn(page);
  const documents = (await item('Documents')).id;
  const choose = async (...names) => {
    for (const name of names) await page.locator('.places').getByRole('link', { name, exact: true }).click();
  };
  await page.goto(`/items/${documents}/manage`);
  await page.getByRole('checkbox', { name: 'Select Small' }).check();
  await page.getByRole('button', { name: 'Copy to…' }).click();
  await page.locator('#form .crumbs a').first().click();
  await choose('Team', 'Papers');
  await page.getByRole('button', { name: 'Copy here', exact: true }).click();
  await page.getByText('Copied to “Papers”').waitFor();
  assert.match(page.url(), new RegExp(`/items/${documents}/manage$`));
  // All of them, with a tick in the head.
  await page.getByRole('checkbox', { name: 'Select all' }).check();
  await page.getByRole('button', { name: 'Move to…' }).click();
  await page.locator('#form .crumbs a').first().click();
  await choose('Team', 'Archive');
  await page.getByRole('button', { name: 'Move here', exact: true }).click();
  await page.getByText('Moved to “Archive”').waitFor();
  await page.getByText('There is nothing in here.').waitFor();
  await item('Team/Archive/Large/inner/c.bin');
  await item('Team/Papers/Small/a.txt');

  const team = (await item('Team')).id;
  await page.goto(`/items/${team}/manage`);
  await page.getByRole('checkbox', { name: 'Select Archive' }).check();
  await page.getByRole('button', { name: 'Move to…' }).click();
  // It is here already.
  assert.ok(await page.getByRole('button', { name: 'Move here', exact: true }).isDisabled());
  await page.locator('#form .crumbs a').first().click();
  await look(page, 'site-manager/place-of-a-library');
  await page.getByRole('button', { name: 'Move here', exact: true }).click();
  await page.getByText(/Moved to “/).waitFor();
  await item('Archive/Large/b.bin');
  await page.finish();
});

test('a site and a library are copied whole, and a site moves into another one', async () => {
  const page = await openPage(browser, server, { viewport: WIDE });
  await signIn(page);
  await page.goto(`/items/${root}/manage`);
  for (const name of ['Team', 'Archive']) await page.getByRole('checkbox', { name: `Select ${name}` }).check();
  await page.getByRole('button', { name: 'Copy to…' }).click();
  await page.getByRole('heading', { name: 'Copy 2 items' }).waitFor();
  await page.getByRole('button', { name: 'Copy here', exact: true }).click();
  await page.getByText(/Copied to “/).waitFor();
  await item('Team (2)/Papers/Small/a.txt');
  await item('Archive (2)/Large/inner/c.bin');
  await page.getByRole('checkbox', { name: 'Select Team (2)' }).check();
  await page.getByRole('button', { name: 'Move to…' }).click();
  await page.getByRole('heading', { name: /^Move / }).waitFor();
  // A site goes into sites only, and not into itself.
  assert.deepEqual(await page.locator('.places').getByRole('link').allTextContents(), ['Team']);
  await page.locator('.places').getByRole('link', { name: 'Team', exact: true }).click();
  await look(page, 'site-manager/place-of-a-site');
  await page.getByRole('button', { name: 'Move here', exact: true }).click();
  await page.getByText('Moved to “Team”').waitFor();
  await item('Team/Team (2)/Papers/Small/a.txt');
  await page.finish();
});

test('rows go to another list, and what has no place there is said', async () => {
  const [tasks, done] = await Promise.all(['Tasks', 'Done'].map((name) => ask('POST', `/api/v1/items/${root}/lists`, { name, title_column: 'Task' })));
  await ask('POST', `/api/v1/items/${tasks.id}/columns`, { name: 'Remark', kind: 'text' });
  const changes = [{ set: { Task: 'Plain' } }, { set: { Task: 'Remarked', Remark: 'kept' } }];
  await ask('POST', `/api/v1/items/${tasks.id}/changes`, { atomic: true, changes });
  const page = await openPage(browser, server, { viewport: NARROW });
  await signIn(page);
  await page.goto('/browse/Tasks');
  await page.getByRole('checkbox', { name: 'Select all' }).check();
  await page.getByRole('button', { name: 'Move', exact: true }).click();
  await page.getByRole('heading', { name: 'Move 2 items' }).waitFor();
  await page.locator('.places').getByRole('link', { name: 'Done', exact: true }).click();
  await page.getByText('The rows go into this list.').waitFor();
  await look(page, 'site-manager/place-of-rows');
  await page.getByRole('button', { name: 'Move here', exact: true }).click();
  await page.getByText(/1\/2, “/).waitFor();
  await page.getByText('has no column of the same name and kind').waitFor();
  const titles = async (list) => (await ask('GET', `/api/v1/items/${list.id}/rows`)).items.map((row) => row.title);
  assert.deepEqual([await titles(tasks), await titles(done)], [['Remarked'], ['Plain']]);
  await page.goto('/browse/Tasks');
  await page.getByRole('checkbox', { name: 'Select Remarked' }).check();
  await page.getByRole('button', { name: 'Copy', exact: true }).click();
  await page.locator('.places').getByRole('link', { name: 'Done', exact: true }).click();
  await page.getByRole('button', { name: 'Copy here', exact: true }).click();
  await page.getByText('Copied to “Done”').waitFor();
  assert.deepEqual(await titles(done), ['Plain', 'Remarked']);
  await page.finish();
});

test('a list and a site are renamed and deleted from their settings, and come back', async () => {
  const site = await ask('POST', `/api/v1/items/${root}/sites`, { name: 'Old' });
  const list = await ask('POST', `/api/v1/items/${site.id}/lists`, { name: 'Things', title_column: 'Thing' });
  const page = await openPage(browser, server, { viewport: NARROW });
  await signIn(page);
  await page.goto(`/items/${list.id}/settings`);
  await look(page, 'site-manager/list-settings');
  await page.locator('main').getByRole('link', { name: 'Rename' }).click();
  await fillForm(page, { Name: 'Goods' }, 'Rename');
  await page.getByText('Renamed to “Goods”').waitFor();
  await item('Old/Goods');
  await page.locator('main').getByRole('link', { name: 'Delete', exact: true }).click();
  await fillForm(page, {}, 'Delete');
  await page.getByRole('heading', { name: 'Old' }).waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText(/restored/i).first().waitFor();
  await item('Old/Goods');
  await page.goto(`/items/${site.id}/site-settings`);
  await look(page, 'site-manager/site-settings');
  await page.locator('main').getByRole('link', { name: 'Rename' }).click();
  await fillForm(page, { Name: 'New' }, 'Rename');
  await page.getByText('Renamed to “New”').waitFor();
  await item('New/Goods');
  await page.locator('main').getByRole('link', { name: 'Delete', exact: true }).click();
  await fillForm(page, {}, 'Delete');
  await page.getByText('“New” is in the recycle bin').first().waitFor();
  assert.equal((await server.api('GET', '/api/v1/items/by-path?path=New')).status, 404);
  await page.finish();
});

test('what is ticked in the site manager is deleted, and comes back', async () => {
  const site = await ask('POST', `/api/v1/items/${root}/sites`, { name: 'Spare' });
  for (const name of ['First', 'Second', 'Third']) await ask('POST', `/api/v1/items/${site.id}/libraries`, { name });
  const page = await openPage(browser, server, { viewport: WIDE });
  await signIn(page);
  await page.goto(`/items/${site.id}/manage`);
  for (const name of ['First', 'Third']) await page.getByRole('checkbox', { name: `Select ${name}` }).check();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('button', { name: 'Undo' }).waitFor();
  assert.match(page.url(), new RegExp(`/items/${site.id}/manage$`));
  assert.equal(await page.locator('main table').getByRole('link', { name: 'First', exact: true }).count(), 0);
  await item('Spare/Second');
  for (const name of ['First', 'Third']) {
    assert.equal((await server.api('GET', `/api/v1/items/by-path?path=Spare%2F${name}`)).status, 404);
  }
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText(/restored/i).first().waitFor();
  await item('Spare/First');
  await item('Spare/Third');
  await page.finish();
});

test('a refused move leads back to the choice of the place', async () => {
  await ask('POST', `/api/v1/items/${root}/sites`, { name: 'Goal' });
  const goal = await item('Goal');
  await ask('POST', `/api/v1/items/${goal.id}/libraries`, { name: 'Papers' });
  await ask('POST', `/api/v1/items/${root}/libraries`, { name: 'Papers' });
  const page = await openPage(browser, server, { viewport: WIDE });
  await signIn(page);
  page.expectFault(/409/);
  await page.goto(`/items/${root}/manage`);
  await page.getByRole('checkbox', { name: 'Select Papers' }).check();
  await page.getByRole('button', { name: 'Move to…' }).click();
  await page.locator('.places').getByRole('link', { name: 'Goal', exact: true }).click();
  await page.getByRole('button', { name: 'Move here', exact: true }).click();
  await page.getByRole('alert').getByText('“Papers”').waitFor();
  await page.getByRole('heading', { name: 'Move “Papers”' }).waitFor();
  await page.locator('#form .crumbs a').first().click();
  await page.locator('.places').getByRole('link', { name: 'Team', exact: true }).waitFor();
  await page.finish();
});
