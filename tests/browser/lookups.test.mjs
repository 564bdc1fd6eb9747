// Columns that take entries of another list: made, typed in forms and in a grid, filtered, and trimmed for readers.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  NARROW, PASSWORD, WIDE, fillForm, look, openPage, signIn, startBrowser, startServer,
} from './rig.mjs';

let server;
let browser;
let projects;
let secret;
before(async () => {
  server = await startServer();
  browser = await startBrowser();
  await server.json('POST', '/api/v1/users', { login: 'berta', display_name: 'Berta', password: PASSWORD });
  const site = await ask('GET', '/api/v1/items/by-path?path=');
  projects = await ask('POST', `/api/v1/items/${site.id}/lists`, { name: 'Projects', title_column: 'Project' });
  const changes = ['Website', 'Archive', 'Secret', 'Website'].map((title) => ({ set: { Project: title } }));
  const { outcomes } = await ask('POST', `/api/v1/items/${projects.id}/changes`, { atomic: true, changes });
  secret = outcomes[2].id;
  await ask('POST', `/api/v1/items/${secret}/permissions/break`, { copy: false });
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

async function ask(method, path, body) {
  const answer = await server.json(method, path, body);
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${answer.ok ? '' : await answer.clone().text()}`);
  return answer.headers.get('content-type')?.includes('json') ? answer.json() : undefined;
}

/** Makes a list with a lookup column through its settings. */
async function makeTasks(page, name) {
  const site = await ask('GET', '/api/v1/items/by-path?path=');
  const list = await ask('POST', `/api/v1/items/${site.id}/lists`, { name, title_column: 'Task' });
  await page.goto(`/items/${list.id}/settings`);
  await page.getByRole('link', { name: 'New column' }).click();
  await fillForm(page, { Name: 'Project', 'Kind of value': 'lookup', List: 'Projects' }, 'Save');
  await page.getByRole('link', { name: 'Project', exact: true }).waitFor();
  const [, column] = (await ask('GET', `/api/v1/items/${list.id}/columns`)).items;
  assert.equal(column.list, projects.id);
  return { ...list, column: column.id };
}

for (const scheme of ['light', 'dark']) {
  for (const [screen, viewport] of [['wide', WIDE], ['narrow', NARROW]]) {
    test(`entries are chosen in forms: ${scheme}, ${screen}`, async () => {
      const page = await openPage(browser, server, { scheme, viewport });
      page.expectFault(/400/);
      await signIn(page);
      const list = await makeTasks(page, `Tasks ${scheme} ${screen}`);
      await page.goto(`/browse/${encodeURIComponent(list.name)}`);
      await page.getByRole('link', { name: 'New row' }).click();
      await page.locator('#form datalist').waitFor({ state: 'attached' });
      const suggested = await page.locator('#form datalist option').evaluateAll((all) => all.map(({ value }) => value));
      assert.deepEqual(suggested, ['Website (4)', 'Secret (3)', 'Archive (2)', 'Website (1)']);
      await fillForm(page, { Task: 'Design', Project: 'Website' }, 'Save');
      await page.getByText('Several entries are called “Website”').waitFor();
      await look(page, `lookups/${scheme}-${screen}-ambiguous`);
      await fillForm(page, { Project: 'Website (4)' }, 'Save');
      const link = page.locator('tbody').getByRole('link', { name: 'Website', exact: true });
      await link.waitFor();
      await look(page, `lookups/${scheme}-${screen}-listing`);
      await link.click();
      await page.getByRole('heading', { name: 'Website' }).waitFor();
      await page.goto(`/browse/${encodeURIComponent(list.name)}?f-${list.column}=archive`);
      await page.getByText('Nothing here matches the filter').waitFor();
      await page.goto(`/browse/${encodeURIComponent(list.name)}?f-${list.column}=${encodeURIComponent('website (4)')}`);
      await page.getByRole('link', { name: 'Design', exact: true }).click();
      await page.getByRole('link', { name: 'Website', exact: true }).waitFor();
      await look(page, `lookups/${scheme}-${screen}-row`);
      await page.finish();
    });
  }
}

test('a grid suggests and keeps entries', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  const list = await makeTasks(page, 'Grid');
  await ask('POST', `/api/v1/items/${list.id}/changes`, { changes: [{ set: { Task: 'One', Project: secret } }, { set: { Task: 'Two' } }] });
  const open = async (reader) => {
    await reader.goto('/browse/Grid?as=grid');
    await reader.locator('table.alive').waitFor();
  };
  const cell = (reader, row) => reader.locator(`tr[aria-rowindex="${row + 1}"] [aria-colindex="3"]`);
  const saved = (reader) => reader.waitForFunction(() => document.querySelector('[data-state]').textContent === 'Saved');
  await open(page);
  await cell(page, 1).filter({ hasText: 'Secret' }).waitFor();
  await cell(page, 2).click();
  await page.keyboard.press('F2');
  assert.equal(await page.locator('.grid-field').getAttribute('list'), `grid-entries-${list.column}`);
  await page.locator('.grid-field').fill('archive');
  await page.keyboard.press('Enter');
  await saved(page);
  await cell(page, 2).filter({ hasText: 'Archive' }).waitFor();
  // Somebody who may not open an entry sees that there is one, and does not lose it.
  const role = (await ask('GET', '/api/v1/roles')).items.find(({ name }) => name === 'Contribute');
  const berta = (await ask('GET', '/api/v1/users')).items.find(({ login }) => login === 'berta');
  await ask('POST', `/api/v1/items/${list.id}/permissions/break`, { copy: true });
  await ask('POST', `/api/v1/items/${list.id}/permissions/grants`, { principal: berta.id, role: role.id });
  const reader = await openPage(browser, server);
  await signIn(reader, 'berta');
  await open(reader);
  await cell(reader, 1).filter({ hasText: '(not available)' }).waitFor();
  await look(reader, 'lookups/hidden');
  const { items } = await ask('GET', `/api/v1/items/${list.id}/rows`);
  await reader.goto(`/items/${items[0].id}/values`);
  await fillForm(reader, { Task: 'One more' }, 'Save');
  await reader.getByRole('heading', { name: 'One more' }).waitFor();
  const { values } = await ask('GET', `/api/v1/items/${items[0].id}/values`);
  assert.equal(values[list.column], secret);
  await page.finish();
  await reader.finish();
});
