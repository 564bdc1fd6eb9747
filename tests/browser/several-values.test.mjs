// Columns that take several values: made in settings, ticked and typed in forms, shown in listings, edited in a grid.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  NARROW, PASSWORD, WIDE, fillForm, look, openPage, signIn, startBrowser, startServer,
} from './rig.mjs';

let server;
let browser;
let projects;
before(async () => {
  server = await startServer();
  browser = await startBrowser();
  await server.json('POST', '/api/v1/users', { login: 'berta', display_name: 'Berta', password: PASSWORD });
  const site = await ask('GET', '/api/v1/items/by-path?path=');
  projects = await ask('POST', `/api/v1/items/${site.id}/lists`, { name: 'Projects', title_column: 'Project' });
  const changes = ['Website', 'Archive; old', 'Secret'].map((title) => ({ set: { Project: title } }));
  const { outcomes } = await ask('POST', `/api/v1/items/${projects.id}/changes`, { atomic: true, changes });
  await ask('POST', `/api/v1/items/${outcomes[2].id}/permissions/break`, { copy: false });
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

/** Makes a list with a column of several choices, through its settings, and one of several projects. */
async function makeTasks(page, name) {
  const site = await ask('GET', '/api/v1/items/by-path?path=');
  const list = await ask('POST', `/api/v1/items/${site.id}/lists`, { name, title_column: 'Task' });
  await page.goto(`/items/${list.id}/settings`);
  await page.getByRole('link', { name: 'New column' }).click();
  await page.getByLabel('Multiple values').check();
  await fillForm(page, { Name: 'Colours', 'Kind of value': 'choice', Choices: 'red\n<b>green</b>\nblue' }, 'Save');
  await page.getByRole('link', { name: 'Colours', exact: true }).waitFor();
  const project = { name: 'Projects', kind: 'lookup', list: projects.id, multiple: true };
  await ask('POST', `/api/v1/items/${list.id}/columns`, project);
  const [, colours, entries] = (await ask('GET', `/api/v1/items/${list.id}/columns`)).items;
  assert.deepEqual([colours.multiple, entries.multiple], [true, true]);
  return { ...list, colours: colours.id, entries: entries.id };
}

for (const scheme of ['light', 'dark']) {
  for (const [screen, viewport] of [['wide', WIDE], ['narrow', NARROW]]) {
    test(`values are ticked and typed in forms: ${scheme}, ${screen}`, async () => {
      const page = await openPage(browser, server, { scheme, viewport });
      await signIn(page);
      const list = await makeTasks(page, `Tasks ${scheme} ${screen}`);
      await page.goto(`/browse/${encodeURIComponent(list.name)}`);
      await page.getByRole('link', { name: 'New row' }).click();
      await page.getByLabel('red').check();
      await page.getByLabel('<b>green</b>').check();
      await look(page, `several-values/${scheme}-${screen}-form`);
      await fillForm(page, { Task: 'Paint', Projects: 'website; "archive; old"' }, 'Save');
      const rows = page.locator('tbody');
      await rows.getByRole('link', { name: 'Website', exact: true }).waitFor();
      await rows.getByText('red; <b>green</b>').waitFor();
      await look(page, `several-values/${scheme}-${screen}-listing`);
      await page.goto(`/browse/${encodeURIComponent(list.name)}?f-${list.colours}=blue`);
      await page.getByText('Nothing here matches the filter').waitFor();
      await page.goto(`/browse/${encodeURIComponent(list.name)}?f-${list.entries}=${encodeURIComponent('archive; old')}`);
      await page.getByRole('link', { name: 'Paint', exact: true }).click();
      await page.getByRole('link', { name: 'Archive; old', exact: true }).waitFor();
      await look(page, `several-values/${scheme}-${screen}-row`);
      await page.getByRole('link', { name: 'Website', exact: true }).click();
      await page.getByRole('heading', { name: 'Website' }).waitFor();
      await page.finish();
    });
  }
}

test('a grid has several values as one text', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  const list = await makeTasks(page, 'Grid');
  const { items } = await ask('GET', `/api/v1/items/${projects.id}/rows`);
  const [website, archive, secret] = items.map(({ id }) => id);
  const sets = [{ Task: 'One', Colours: ['blue', 'red'], Projects: [website, secret] }, { Task: 'Two' }];
  await ask('POST', `/api/v1/items/${list.id}/changes`, { changes: sets.map((set) => ({ set })) });
  const open = async (reader) => {
    await reader.goto('/browse/Grid?as=grid');
    await reader.locator('table.alive').waitFor();
  };
  const cell = (reader, row, column) => reader.locator(`tr[aria-rowindex="${row + 1}"] [aria-colindex="${column}"]`);
  const saved = (reader) => reader.waitForFunction(() => document.querySelector('[data-state]').textContent === 'Saved');
  await open(page);
  await cell(page, 1, 3).filter({ hasText: 'blue; red' }).waitFor();
  await cell(page, 2, 3).click();
  await page.keyboard.press('F2');
  await page.locator('.grid-field').fill('Red; ');
  const suggested = await page.locator(`#grid-values-${list.colours} option`).evaluateAll((all) => all.map(({ value }) => value));
  assert.deepEqual(suggested, ['Red; red', 'Red; <b>green</b>', 'Red; blue']);
  await page.locator('.grid-field').fill('Red; <b>green</b>');
  await page.keyboard.press('Enter');
  await saved(page);
  await cell(page, 2, 3).filter({ hasText: 'red; <b>green</b>' }).waitFor();
  await cell(page, 2, 4).click();
  await page.keyboard.press('F2');
  await page.locator('.grid-field').fill('"archive; old"; Website (1)');
  await page.keyboard.press('Enter');
  await saved(page);
  await cell(page, 2, 4).filter({ hasText: 'Archive; old; Website' }).waitFor();
  await look(page, 'several-values/grid');
  const rows = async () => (await ask('GET', `/api/v1/items/${list.id}/rows`)).items;
  assert.deepEqual((await rows())[1].values[list.entries], [archive, website]);
  // An entry that somebody may not open stays beside those that they see and change.
  const role = (await ask('GET', '/api/v1/roles')).items.find(({ name }) => name === 'Contribute');
  const berta = (await ask('GET', '/api/v1/users')).items.find(({ login }) => login === 'berta');
  for (const { id } of [list, projects]) {
    await ask('POST', `/api/v1/items/${id}/permissions/break`, { copy: true });
    await ask('POST', `/api/v1/items/${id}/permissions/grants`, { principal: berta.id, role: role.id });
  }
  const reader = await openPage(browser, server);
  await signIn(reader, 'berta');
  await open(reader);
  await cell(reader, 1, 4).filter({ hasText: 'Website; (not available)' }).waitFor();
  await cell(reader, 1, 4).click();
  await reader.keyboard.press('F2');
  assert.equal(await reader.locator('.grid-field').inputValue(), `Website (1); id:${secret}`);
  await reader.locator('.grid-field').fill(`id:${secret}; #2`);
  await reader.keyboard.press('Enter');
  await saved(reader);
  assert.deepEqual((await rows())[0].values[list.entries], [secret, archive]);
  await page.finish();
  await reader.finish();
});
