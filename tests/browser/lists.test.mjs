// A list: created from the page of a site, given columns, filled by its form, sorted, changed in place, and one row
// followed through its versions, its deletion and back.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import {
  NARROW, PASSWORD, WIDE, fillForm, look, openPage, signIn, startBrowser, startServer,
} from './rig.mjs';

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

/** Answers the dialog or form of the page, which then goes away. */
async function answer(page, fields, button) {
  await fillForm(page, fields, button);
  await page.locator('#form').waitFor({ state: 'detached' });
}

for (const scheme of ['light', 'dark']) {
  for (const [screen, viewport] of [['wide', WIDE], ['narrow', NARROW]]) {
    test(`a list is made, filled and changed: ${scheme}, ${screen}`, async () => {
      const list = `Tasks ${scheme} ${screen}`;
      const at = (name) => `${scheme}-${screen}-${name}`;
      const page = await openPage(browser, server, { scheme, viewport });
      await signIn(page);
      await page.goto('/browse');
      await page.getByRole('link', { name: 'New list' }).click();
      await answer(page, { Name: list, 'Title column': 'Task' }, 'Create');
      await page.getByRole('heading', { name: list }).waitFor();
      await page.getByText('No rows yet').waitFor();
      await look(page, `lists/${at('empty')}`);
      await page.getByRole('button', { name: 'More' }).first().click();
      await page.getByRole('link', { name: 'List settings' }).click();
      for (const [name, kind] of [['State', 'choice'], ['Due', 'date'], ['Effort', 'number'], ['Note', 'note']]) {
        await page.getByRole('link', { name: 'New column' }).click();
        const fields = { Name: name, 'Kind of value': kind };
        if (kind === 'choice') fields.Choices = 'open\nin work\ndone';
        await answer(page, fields, 'Save');
        await page.getByRole('link', { name, exact: true }).waitFor();
      }
      await look(page, `lists/${at('settings')}`);
      await page.goto(`/browse/${encodeURIComponent(list)}`);
      for (const [task, state, due, effort, note] of [
        ['Call <b>Anna</b> & Bert', 'open', '2026-12-01', '2.5', 'First line\nsecond line'],
        ['Write the offer', 'in work', '2026-11-30', '', ''],
        ['Archive', 'done', '', '1', ''],
      ]) {
        await page.getByRole('link', { name: 'New row' }).click();
        if (task === 'Archive') await look(page, `lists/${at('form')}`);
        await answer(page, { Task: task, State: state, Due: due, Effort: effort, Note: note }, 'Save');
        await page.getByRole('link', { name: task, exact: true }).waitFor();
      }
      const titles = () => page.locator('tbody tr[data-id] .item a').allTextContents();
      assert.deepEqual(await titles(), ['Call <b>Anna</b> & Bert', 'Write the offer', 'Archive']);
      await look(page, `lists/${at('rows')}`);
      if (screen === 'wide') {
        await page.getByRole('link', { name: 'Due', exact: true }).click();
        await page.waitForURL(/sort=/);
        await page.waitForFunction(() => document.querySelector('tbody .item a').textContent === 'Write the offer');
        assert.deepEqual(await titles(), ['Write the offer', 'Call <b>Anna</b> & Bert', 'Archive']);
        await page.getByRole('link', { name: 'Task', exact: true }).click();
        await page.waitForFunction(() => document.querySelector('tbody .item a').textContent === 'Archive');
        const cell = page.getByRole('row', { name: 'Archive' }).locator('td[data-label="Effort"]');
        await cell.locator('[data-cell]').click();
        await cell.locator('#cell-field').fill('7');
        await page.keyboard.press('Enter');
        await page.waitForFunction(() => [...document.querySelectorAll('td[data-label="Effort"]')].some((td) => td.textContent.includes('7')));
      }
      await page.getByRole('link', { name: 'Call <b>Anna</b> & Bert', exact: true }).click();
      await page.getByRole('heading', { name: 'Call <b>Anna</b> & Bert', level: 1 }).waitFor();
      await page.getByRole('link', { name: 'Edit', exact: true }).click();
      await answer(page, { Task: 'Call Anna', State: 'done' }, 'Save');
      await page.getByRole('heading', { name: 'Call Anna', level: 1 }).waitFor();
      await look(page, `lists/${at('row')}`);
      await page.getByRole('button', { name: 'Restore' }).click();
      await page.getByRole('heading', { name: 'Call <b>Anna</b> & Bert', level: 1 }).waitFor();
      await page.getByRole('button', { name: 'More' }).last().click();
      await page.getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('heading', { name: list }).waitFor();
      assert.equal((await titles()).length, 2);
      await page.getByRole('button', { name: 'Undo' }).click();
      await page.getByRole('link', { name: 'Call <b>Anna</b> & Bert', exact: true }).waitFor();
      await page.finish();
    });
  }
}

test('rows go to a workbook and come back from it', async () => {
  const page = await openPage(browser, server, { scheme: 'light', viewport: WIDE });
  await signIn(page);
  await page.goto('/browse');
  await page.getByRole('link', { name: 'New list' }).click();
  await answer(page, { Name: 'Workbook', 'Title column': 'Task' }, 'Create');
  await page.getByRole('heading', { name: 'Workbook' }).waitFor();
  page.expectFault(/422/);
  const menu = async (name) => {
    await page.getByRole('button', { name: 'More' }).first().click();
    return page.getByRole('link', { name });
  };
  const titles = () => page.locator('tbody tr[data-id] .item a').allTextContents();
  // Without a file, the form stays a dialog and sends what was pasted.
  await (await menu('Paste rows')).click();
  await look(page, 'lists/paste');
  await page.locator('#form').getByRole('button', { name: 'Save rows' }).click();
  await page.getByText('Paste rows, or choose a file.').waitFor();
  await answer(page, { Rows: '=1+1\nsecond' }, 'Save rows');
  await page.getByRole('link', { name: '=1+1', exact: true }).waitFor();
  const [download] = await Promise.all([page.waitForEvent('download'), (await menu('Download as Excel workbook')).click()]);
  assert.equal(download.suggestedFilename(), 'Workbook.xlsx');
  const file = await download.path();
  for (const [name, said] of [['wrong.xlsx', 'damaged or encrypted'], ['rows.csv', undefined]]) {
    await page.goto('/browse/Workbook');
    await (await menu('Paste rows')).click();
    const buffer = Buffer.from(said ? 'PK\x03\x04 and nothing more' : 'third\n');
    await page.locator('#f-file').setInputFiles({ name, mimeType: 'application/octet-stream', buffer });
    await page.locator('#form').getByRole('button', { name: 'Save rows' }).click();
    if (said) await page.locator('#form-fault').waitFor();
    else await page.getByRole('link', { name: 'third', exact: true }).waitFor();
    if (said) await look(page, 'lists/wrong-file');
  }
  await (await menu('Paste rows')).click();
  await page.locator('#f-file').setInputFiles(file);
  await Promise.all([page.waitForNavigation(), page.locator('#form').getByRole('button', { name: 'Save rows' }).click()]);
  await page.getByRole('heading', { name: 'Workbook' }).waitFor();
  assert.deepEqual(await titles(), ['=1+1', 'second', 'third']);
  await page.finish();
});

test('a view is filtered by a formula, which is kept when a column is renamed', async () => {
  const ask = (method, path, body) => server.ask(method, path, body);
  const site = await ask('GET', '/api/v1/items/by-path?path=');
  const list = await ask('POST', `/api/v1/items/${site.id}/lists`, { name: 'Formulas', title_column: 'Task' });
  const { id: effort } = await ask('POST', `/api/v1/items/${list.id}/columns`, { name: 'Effort', kind: 'number' });
  const changes = [1, 2, 3].map((hours) => ({ set: { Task: `Task ${hours}`, Effort: hours } }));
  await ask('POST', `/api/v1/items/${list.id}/changes`, { changes });
  const page = await openPage(browser, server);
  await signIn(page);
  const titles = () => page.locator('tbody tr[data-id] .item a').allTextContents();
  const filter = async (formula) => {
    await page.getByRole('link', { name: 'Filter and columns' }).click();
    await fillForm(page, { Formula: formula }, 'Apply');
  };
  await page.goto('/browse/Formulas');
  await filter('[Effort] > 1 and [Effort] < 3');
  await page.getByRole('link', { name: 'Task 3', exact: true }).waitFor({ state: 'detached' });
  assert.deepEqual(await titles(), ['Task 2']);
  await look(page, 'lists/condition');
  await server.json('PUT', `/api/v1/items/${list.id}/columns/${effort}`, { name: 'Hours', kind: 'number' });
  await page.getByRole('link', { name: 'Filter and columns' }).click();
  assert.equal(await page.locator('#form').getByLabel('Formula', { exact: true }).inputValue(), '[Hours] > 1 and [Hours] < 3');
  await fillForm(page, { Formula: '[Hours] >' }, 'Apply');
  await page.getByText('the condition cannot be used').waitFor();
  assert.equal((await titles()).length, 3);
  await page.finish();
});

test('a view with totals is saved for all, and its rows are downloaded as CSV', async () => {
  const ask = (method, path, body) => server.ask(method, path, body);
  const site = await ask('GET', '/api/v1/items/by-path?path=');
  const list = await ask('POST', `/api/v1/items/${site.id}/lists`, { name: 'Hours', title_column: 'Task' });
  await ask('POST', `/api/v1/items/${list.id}/columns`, { name: 'Effort', kind: 'number' });
  await ask('POST', `/api/v1/items/${list.id}/changes`, { changes: [2, 3, 40].map((hours) => ({ set: { Task: `Task ${hours}`, Effort: hours } })) });
  const berta = await ask('POST', '/api/v1/users', { login: 'berta', display_name: 'Berta', password: PASSWORD });
  const { items: roles } = await ask('GET', '/api/v1/roles');
  await server.json('POST', `/api/v1/items/${site.id}/permissions/grants`, { principal: berta.id, role: roles.find(({ name }) => name === 'Read').id });
  const page = await openPage(browser, server, { viewport: NARROW });
  await signIn(page);
  await page.goto('/browse/Hours');
  await page.getByRole('link', { name: 'Filter and columns' }).click();
  const form = page.locator('#form');
  await form.getByLabel('Total of Effort').selectOption({ label: 'Sum' });
  await form.getByLabel('Formula', { exact: true }).fill('[Effort] < 10');
  await form.getByRole('button', { name: 'Apply' }).click();
  await page.locator('tfoot').getByText('Sum 5').waitFor();
  await look(page, 'lists/totals');
  await page.getByRole('link', { name: 'Save view' }).click();
  await form.getByLabel('Name', { exact: true }).fill('Small');
  await form.getByLabel('For everyone who may open it').check();
  await form.getByRole('button', { name: 'Save' }).click();
  await page.locator('.tabs a[aria-current]').getByText('Small').waitFor();
  // Somebody else finds it there.
  const other = await openPage(browser, server);
  await signIn(other, 'berta');
  await other.goto('/browse/Hours');
  await other.locator('.tabs').getByRole('link', { name: 'Small' }).click();
  await other.locator('tfoot').getByText('Sum 5').waitFor();
  await other.getByRole('button', { name: 'More' }).first().click();
  const [download] = await Promise.all([other.waitForEvent('download'), other.getByRole('link', { name: /CSV/ }).click()]);
  const text = await readFile(await download.path(), 'utf8');
  assert.ok(text.includes('Task 2') && text.includes('Task 3') && !text.includes('Task 40'), text);
  await page.finish();
  await other.finish();
});

test('what people type is taken as they mean it, in both languages', async () => {
  const ask = (method, path, body) => server.ask(method, path, body);
  const site = await ask('GET', '/api/v1/items/by-path?path=');
  const list = await ask('POST', `/api/v1/items/${site.id}/lists`, { name: 'Prices', title_column: 'Part' });
  for (const [name, kind] of [['Price', 'number'], ['Seller', 'link']]) await ask('POST', `/api/v1/items/${list.id}/columns`, { name, kind });
  const values = async () => (await ask('GET', `/api/v1/items/${list.id}/rows`)).items.map((row) => Object.values(row.values ?? {}));
  const english = await openPage(browser, server, { viewport: WIDE });
  await signIn(english);
  await english.goto(`/items/${list.id}/paste`);
  await fillForm(english, { Rows: 'Part\tPrice\tSeller\nChair\t1,299\tmax@acme.example\nDesk\t1,299.50\twww.acme.example/table' }, 'Save rows');
  await english.getByRole('link', { name: 'Chair', exact: true }).waitFor();
  assert.equal(await english.locator('a[href="mailto:max@acme.example"]').count(), 1);
  assert.equal(await english.locator('a[href="https://www.acme.example/table"]').count(), 1);
  await english.getByRole('link', { name: 'Filter and columns' }).click();
  await english.locator('#form').getByRole('textbox', { name: 'Price', exact: true }).fill('1,000..1,299');
  await english.locator('#form').getByRole('button', { name: 'Apply' }).click();
  await english.getByRole('link', { name: 'Desk', exact: true }).waitFor({ state: 'detached' });
  await english.getByRole('link', { name: 'Save view' }).click();
  await fillForm(english, { Name: 'Cheap', 'For everyone who may open it': true }, 'Save');
  await english.locator('.tabs a[aria-current]').getByText('Cheap').waitFor();
  const german = await openPage(browser, server, { viewport: WIDE, locale: 'de-DE' });
  await signIn(german);
  await german.goto('/browse/Prices');
  await german.locator('.tabs').getByRole('link', { name: 'Cheap' }).click();
  await german.getByRole('link', { name: 'Desk', exact: true }).waitFor({ state: 'detached' });
  assert.deepEqual(await german.locator('tbody tr[data-id] .item a').allTextContents(), ['Chair']);
  await german.getByRole('link', { name: 'Filter und Spalten' }).click();
  assert.equal(await german.locator('#form').getByRole('textbox', { name: 'Price', exact: true }).inputValue(), '1000..1299');
  assert.equal((await values()).length, 2);
  await english.finish();
  await german.finish();
});
