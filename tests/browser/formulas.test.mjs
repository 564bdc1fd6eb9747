// Columns with formulas: a calculated one, a default value, a check and a unique column, in forms and on the page of a row.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  NARROW, WIDE, fillForm, look, openPage, signIn, startBrowser, startServer,
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

for (const [scheme, screen, viewport] of [['light', 'wide', WIDE], ['dark', 'narrow', NARROW]]) {
  test(`columns have formulas: ${scheme}, ${screen}`, async () => {
    const list = `Orders ${scheme}`;
    const at = (name) => `${scheme}-${screen}-${name}`;
    const page = await openPage(browser, server, { scheme, viewport });
    page.expectFault(/status of 4(00|09)/);
    await signIn(page);
    await page.goto('/browse');
    await page.getByRole('link', { name: 'New list' }).click();
    await fillForm(page, { Name: list, 'Title column': 'Order' }, 'Create');
    await page.getByRole('heading', { name: list }).waitFor();
    await page.getByRole('button', { name: 'More' }).first().click();
    await page.getByRole('link', { name: 'List settings' }).click();
    const column = async (name, fields) => {
      await page.getByRole('link', { name: 'New column' }).click();
      await fillForm(page, { Name: name, ...fields }, 'Save');
    };
    for (const [name, fields] of [
      ['Code', { 'No duplicates': true, Description: 'The number on the paper' }],
      ['Price', { 'Kind of value': 'number', Rule: '[Price] > 0', 'Text when the rule is broken': 'The price is more than nothing' }],
      ['Pieces', { 'Kind of value': 'number', 'Default value': '5' }],
      ['Total', { 'Kind of value': 'number', 'Calculated value': '[Price] * [Pieces]' }],
    ]) {
      await column(name, fields);
      await page.getByRole('link', { name, exact: true }).waitFor();
    }
    await look(page, `formulas/${at('settings')}`);
    await column('Wrong', { 'Kind of value': 'number', 'Calculated value': '[Price] * [Peices]' });
    const fault = page.locator('#form').getByRole('alert');
    await fault.waitFor();
    assert.match(await fault.textContent(), /Peices/);
    assert.equal(await page.locator('#form').getByLabel('Kind of value').inputValue(), 'number');
    assert.equal(await page.locator('#form').getByLabel('Calculated value', { exact: true }).inputValue(), '[Price] * [Peices]');
    await look(page, `formulas/${at('wrong-formula')}`);

    await page.goto(`/browse/${encodeURIComponent(list)}`);
    await page.getByRole('link', { name: 'New row' }).click();
    const form = page.locator('#form');
    await form.getByText('The number on the paper').waitFor();
    assert.equal(await form.getByLabel('Pieces', { exact: true }).inputValue(), '5');
    assert.equal(await form.getByLabel('Total', { exact: true }).count(), 0);
    await fillForm(page, { Order: 'Chairs', Code: 'A1', Price: '0' }, 'Save');
    await fault.waitFor();
    assert.match(await fault.textContent(), /The price is more than nothing/);
    await look(page, `formulas/${at('form-refused')}`);
    await fillForm(page, { Price: '2.5' }, 'Save');
    await page.getByRole('link', { name: 'Chairs', exact: true }).click();
    await page.getByRole('heading', { name: 'Chairs', level: 1 }).waitFor();
    await page.getByText('12.5', { exact: true }).first().waitFor();
    await look(page, `formulas/${at('row')}`);

    await page.goto(`/browse/${encodeURIComponent(list)}`);
    await page.getByRole('link', { name: 'New row' }).click();
    await fillForm(page, { Order: 'Tables', Code: 'a1', Price: '1' }, 'Save');
    await fault.waitFor();
    assert.match(await fault.textContent(), /Code/);
    await page.finish();
  });
}

test('columns of libraries refuse duplicates, and those of content types have formulas', async () => {
  const page = await openPage(browser, server, { viewport: NARROW });
  page.expectFault(/status of 4(00|09)/);
  await signIn(page);
  const ask = (method, path, body) => server.ask(method, path, body);
  const library = await (await server.api('GET', '/api/v1/items/by-path?path=Documents')).json();
  await server.put('a.txt', 'a');
  await server.put('Deep/b.txt', 'b');
  await ask('POST', `/api/v1/items/${library.id}/content-types`, { name: 'Invoice' });
  await page.goto(`/items/${library.id}/settings`);
  for (const [name, fields] of [
    ['Number', { 'No duplicates': true }],
    ['Net', { 'Kind of value': 'number', 'Content type': 'Invoice', 'Default value': '100' }],
    ['Gross', { 'Kind of value': 'number', 'Content type': 'Invoice', 'Calculated value': '[Net] * 1.2' }],
  ]) {
    await page.getByRole('link', { name: 'New column' }).click();
    await fillForm(page, { Name: name, ...fields }, 'Save');
    await page.getByRole('link', { name, exact: true }).waitFor();
  }
  await look(page, 'formulas/library-settings');
  for (const [path, number] of [['a.txt', 'R-1'], ['Deep/b.txt', 'r-1']]) {
    const { id } = await (await server.api('GET', `/api/v1/items/by-path?path=${encodeURIComponent(`Documents/${path}`)}`)).json();
    await page.goto(`/items/${id}/values`);
    const form = page.locator('#form');
    await fillForm(page, { Number: number, 'Content type': 'Invoice' }, 'Save');
    if (number === 'r-1') {
      await form.getByRole('alert').getByText('Another item has this value in “Number”').waitFor();
      assert.equal(await form.getByLabel('Content type').locator('option:checked').textContent(), 'Invoice');
      await look(page, 'formulas/duplicate');
    } else {
      await page.getByText('120', { exact: true }).first().waitFor();
      await look(page, 'formulas/invoice');
    }
  }
  // A type whose rule needs a value: the form that is refused has its fields.
  const { id: letter } = await ask('POST', `/api/v1/items/${library.id}/content-types`, { name: 'Letter' });
  await ask('POST', `/api/v1/items/${library.id}/columns`, {
    name: 'Receiver', kind: 'text', content_type: letter, check: 'not blank([Receiver])', message: 'Say to whom',
  });
  await server.put('c.txt', 'c');
  const { id } = await (await server.api('GET', '/api/v1/items/by-path?path=Documents%2Fc.txt')).json();
  await page.goto(`/items/${id}/values`);
  await fillForm(page, { Number: 'L-1', 'Content type': 'Letter' }, 'Save');
  await page.locator('#form').getByRole('alert').getByText('Say to whom').waitFor();
  assert.equal(await page.locator('#form').getByLabel('Number').inputValue(), 'L-1');
  await fillForm(page, { Receiver: 'Anna' }, 'Save');
  await page.getByText('Anna', { exact: true }).first().waitFor();
  await page.finish();
});
