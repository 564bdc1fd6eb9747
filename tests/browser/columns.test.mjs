// Columns of a library: shown and edited in its listing, by mouse, keyboard and without script.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  NARROW, WIDE, assertAccessible, assertFits, openPage, picture, signIn, startBrowser, startServer,
} from './rig.mjs';

let server;
let browser;
before(async () => {
  server = await startServer();
  browser = await startBrowser();
  await server.put('Offer.txt', 'An offer.\n');
  await server.put('A rather long name of a document, final version (2).txt', 'x');
  await server.put('Folder/inside.txt', 'x');
  const library = await (await server.api('GET', '/api/v1/items/by-path?path=Documents')).json();
  for (const column of [
    { name: 'Customer', kind: 'text' },
    { name: 'Amount', kind: 'number' },
    { name: 'Due', kind: 'date' },
    { name: 'State', kind: 'choice', choices: ['new', 'sent', 'won'] },
    { name: 'Owner', kind: 'person' },
    { name: 'Paid', kind: 'yes-no' },
    { name: 'Page', kind: 'link' },
  ]) {
    const answer = await server.json('POST', `/api/v1/items/${library.id}/columns`, column);
    assert.equal(answer.status, 201);
  }
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

/** The cell of a document in a column. */
const cellOf = (page, document, column) =>
  page.getByRole('row', { name: document }).locator(`td[data-label="${column}"]`);

for (const scheme of ['light', 'dark']) {
  for (const [screen, viewport] of [['wide', WIDE], ['narrow', NARROW]]) {
    test(`values are edited in the row: ${scheme}, ${screen}`, async () => {
      const page = await openPage(browser, server, { scheme, viewport });
      page.expectFault(/400/);
      await signIn(page);
      await page.goto('/browse/Documents');
      const cell = (column) => cellOf(page, 'Offer.txt', column);
      const heads = () => page.locator('thead th').evaluateAll((all) => all.slice(2, -1).map((head) => head.offsetLeft));
      const fill = async (column, text) => {
        const before = await heads();
        await cell(column).locator('[data-cell]').click();
        const field = cell(column).locator('#cell-field');
        await field.waitFor();
        if (screen === 'wide') (await heads()).forEach((x, i) => assert.ok(Math.abs(x - before[i]) < 2, `column ${i} stays at ${before[i]}: ${x}`));
        if (await field.evaluate((element) => element.matches('select'))) await field.selectOption(text);
        else await field.fill(text);
        return field;
      };
      for (const [column, text, shown] of [
        ['Customer', 'Müller & Söhne <b>', 'Müller & Söhne <b>'],
        ['Amount', '12,345.5', '12,345.5'],
        ['Due', '2026-11-03', '3 Nov 2026'],
        ['State', 'sent', 'sent'],
        ['Owner', 'admin', 'Administrator'],
        ['Paid', 'yes', 'Yes'],
        ['Page', 'https://example.org/offers', 'example.org/offers'],
      ]) {
        const field = await fill(column, text);
        // A choice is saved as soon as it is chosen.
        if (!['State', 'Paid'].includes(column)) await field.press('Enter');
        await field.waitFor({ state: 'detached' });
        await cell(column).getByText(shown).first().waitFor();
      }
      // What does not fit says which column, and Escape leaves everything as it was.
      const field = await fill('Amount', 'ten');
      await field.press('Enter');
      const alert = cell('Amount').getByRole('alert');
      await alert.getByText('“Amount” must be a number').waitFor();
      await picture(page, `columns-refused-${scheme}-${screen}`);
      await assertFits(page);
      await assertAccessible(page);
      await field.press('Escape');
      await cell('Amount').getByText('12,345.5').waitFor();
      await page.reload();
      assert.match(await cell('Amount').innerText(), /12,345\.5/);
      await picture(page, `columns-${scheme}-${screen}`);
      await assertFits(page);
      await assertAccessible(page);
      await page.finish();
    });
  }
}

test('values are edited without script, and in German', async () => {
  const page = await openPage(browser, server, { javaScriptEnabled: false, locale: 'de-DE' });
  await signIn(page);
  await page.goto('/browse/Documents');
  await cellOf(page, 'A rather long name', 'Amount').locator('a.value').click();
  await page.locator('input[name^=column-]').fill('viele');
  await page.locator('input[name^=column-]').press('Enter');
  await page.getByRole('alert').getByText('„Amount“ muss eine Zahl sein').waitFor();
  await page.locator('input[name^=column-]').fill('98.765,25');
  await page.locator('input[name^=column-]').press('Enter');
  await page.waitForURL('**/browse/Documents');
  await cellOf(page, 'A rather long name', 'Amount').getByText('98.765,25').waitFor();
  page.expectFault(/400/);
  await page.finish();
});

test('a listing is sorted by size in both directions', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  await page.goto('/browse/Documents');
  const names = () => page.locator('tr[data-kind=document] .item a').allInnerTexts();
  await page.getByRole('link', { name: 'Size' }).click();
  await page.locator('th[aria-sort=descending]').getByText('Size', { exact: true }).waitFor();
  assert.equal((await names())[0], 'Offer.txt');
  await page.getByRole('link', { name: 'Size' }).click();
  await page.locator('th[aria-sort=ascending]').getByText('Size', { exact: true }).waitFor();
  assert.equal((await names()).at(-1), 'Offer.txt');
  await page.finish();
});
