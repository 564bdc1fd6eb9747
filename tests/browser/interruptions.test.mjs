// What comes in between: sessions that end, servers that are started again, somebody who was faster, refusals. Nothing that was
// typed or chosen is lost, and each page says what happened and what to do.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { PASSWORD, WIDE, NARROW, assertAccessible, assertFits, openPage, picture, signIn, startBrowser, startServer } from './rig.mjs';

let server;
let browser;
let library;
const item = async (path) => (await server.api('GET', `/api/v1/items/by-path?path=Documents/${path}`)).json();
before(async () => {
  server = await startServer();
  browser = await startBrowser();
  await server.put('Plan.txt', 'one');
  library = await (await server.api('GET', '/api/v1/items/by-path?path=Documents')).json();
  await server.json('POST', `/api/v1/items/${library.id}/columns`, { name: 'Customer', kind: 'text' });
  const berta = await (await server.json('POST', '/api/v1/users', { login: 'berta', display_name: 'Berta', password: PASSWORD })).json();
  const site = await (await server.api('GET', '/api/v1/items/by-path?path=')).json();
  const roles = (await (await server.api('GET', '/api/v1/roles')).json()).items;
  const role = roles.find(({ name }) => name === 'Contribute').id;
  await server.json('POST', `/api/v1/items/${site.id}/permissions/grants`, { principal: berta.id, role });
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const cell = (page) => page.getByRole('row', { name: 'Plan.txt' }).locator('td[data-label="Customer"]');

/** Opens the value of Plan.txt and types. */
async function type(page, text) {
  await cell(page).locator('[data-cell]').click();
  const field = cell(page).locator('#cell-field');
  await field.fill(text);
  return field;
}

/** Signs in in another tab of the same browser, as somebody whose session has ended does. */
async function signInElsewhere(page) {
  const other = await page.context().newPage();
  await signIn(other);
  await other.close();
}

test('a session that ends while somebody edits a row loses nothing', async () => {
  const page = await openPage(browser, server);
  page.expectFault(/401|403/);
  await signIn(page);
  await page.goto('/browse/Documents');
  const field = await type(page, 'Müller & Söhne');
  await page.context().clearCookies();
  await field.press('Enter');
  await cell(page).getByRole('alert').getByText('Your session has ended').waitFor();
  await picture(page, 'session-ended-in-a-row');
  assert.equal(await field.inputValue(), 'Müller & Söhne');
  await signInElsewhere(page);
  await field.press('Enter');
  await field.waitFor({ state: 'detached' });
  await cell(page).getByText('Müller & Söhne').waitFor();

  // The same for a name.
  const row = page.getByRole('row', { name: 'Plan.txt' });
  await row.focus();
  await page.keyboard.press('F2');
  const name = page.locator('.cell-editor input');
  await name.fill('Plan of Berta.txt');
  await page.context().clearCookies();
  await name.press('Enter');
  await page.getByRole('alert').getByText('Your session has ended').waitFor();
  assert.equal(await name.inputValue(), 'Plan of Berta.txt');
  await signInElsewhere(page);
  await name.press('Enter');
  await page.getByRole('link', { name: 'Plan of Berta.txt', exact: true }).waitFor();
  await server.json('PATCH', `/api/v1/items/${(await item('Plan%20of%20Berta.txt')).id}`, { name: 'Plan.txt' });
  await page.finish();
});

test('a session that ends during an upload holds it until somebody is signed in again', async () => {
  const page = await openPage(browser, server);
  page.expectFault(/401|net::/);
  await signIn(page);
  await page.goto('/browse/Documents');
  await page.context().clearCookies();
  await page.evaluate(() => { window.before = true; });
  await page.locator('#upload-files').setInputFiles([{ name: 'Late.txt', mimeType: 'text/plain', buffer: Buffer.from('late') }]);
  const queue = page.locator('#upload-queue');
  await queue.getByText('Your session has ended').waitFor();
  await picture(page, 'session-ended-in-an-upload');
  await assertAccessible(page);
  await signInElsewhere(page);
  await page.waitForFunction(() => !window.before, undefined, { timeout: 40_000 });
  await page.getByRole('link', { name: 'Late.txt', exact: true }).waitFor();
  await page.finish();
});

test('who is overtaken is told by whom what was changed, and decides', async () => {
  const page = await openPage(browser, server);
  page.expectFault(/409/);
  await signIn(page);
  await page.goto('/browse/Documents');
  const field = await type(page, 'Mine');
  const other = await openPage(browser, server);
  await signIn(other, 'berta');
  await other.goto('/browse/Documents');
  await (await type(other, 'Theirs')).press('Enter');
  await cell(other).getByText('Theirs').waitFor();
  await other.finish();
  await field.press('Enter');
  await cell(page).getByRole('alert').getByText('Theirs').waitFor();
  await picture(page, 'overtaken-in-a-row');
  assert.equal(await field.inputValue(), 'Mine');
  await field.press('Enter');
  await cell(page).getByText('Mine').waitFor();
  await page.finish();
});

test('a server that is started again is gone for a moment only', async () => {
  const page = await openPage(browser, server);
  page.expectFault(/net::|Failed to fetch|50\d/);
  await signIn(page);
  await page.goto('/browse/Documents');
  const field = await type(page, 'After the restart');
  await server.pause();
  await field.press('Enter');
  await cell(page).getByRole('alert').getByText('The server does not answer').waitFor();
  assert.equal(await field.inputValue(), 'After the restart');
  await page.evaluate(() => { window.before = true; });
  await page.locator('#upload-files').setInputFiles([{ name: 'Meanwhile.txt', mimeType: 'text/plain', buffer: Buffer.from('x') }]);
  await page.locator('#upload-queue').getByText('No connection; trying again').waitFor();
  await server.resume();
  await field.press('Enter');
  await cell(page).getByText('After the restart').waitFor();
  await page.waitForFunction(() => !window.before, undefined, { timeout: 40_000 });
  await page.getByRole('link', { name: 'Meanwhile.txt', exact: true }).waitFor();
  await page.finish();
});

test('refusals say what happened and what to do, with the number of the request', async () => {
  await server.put('Held.txt', 'held');
  const held = await item('Held.txt');
  assert.ok((await server.api('PUT', `/api/v1/items/${held.id}/check-out`)).ok);
  const plan = await item('Plan.txt');
  for (const [scheme, viewport] of [['light', WIDE], ['dark', NARROW]]) {
    const page = await openPage(browser, server, { scheme, viewport, reducedMotion: 'reduce' });
    page.expectFault(/40\d|413|423/);
    await signIn(page, 'berta');
    // As a page that was opened before would send it.
    const send = async (address, fields) => {
      await page.goto('/account');
      const answer = page.waitForResponse((response) => response.request().isNavigationRequest() && response.request().method() === 'POST');
      await page.evaluate(([action, all]) => {
        const form = Object.assign(document.createElement('form'), { method: 'post', action });
        const token = document.querySelector('[name=form_token]').value;
        for (const [name, value] of Object.entries({ form_token: token, ...all })) form.append(Object.assign(document.createElement('input'), { type: 'hidden', name, value }));
        document.body.append(form);
        form.submit();
      }, [address, fields]);
      return (await answer).status();
    };
    for (const [status, address, fields, words] of [
      [403, `/items/${library.id}/permissions/own`, {}, /right/],
      [404, `/items/1/rename`, { name: 'x' }, /nothing|no such/],
      [409, `/items/${plan.id}/publish`, {}, /draft/],
      [423, `/items/${held.id}/check-out`, {}, /checked out/],
      [413, `/items/${plan.id}/rename`, { name: 'x'.repeat(3_000_000) }, /larger/],
    ]) {
      assert.equal(await send(address, fields), status, address);
      await page.locator('main h1').waitFor();
      const said = await page.locator('main').innerText();
      assert.match(said, words);
      assert.match(said, new RegExp(`Status ${status}\\s· Reference [0-9a-f]{16,}`));
      await page.getByRole('button', { name: /^Account of/ }).waitFor();
      await picture(page, `refused-${status}-${scheme}`);
      await assertFits(page);
      await assertAccessible(page);
    }
    await page.finish();
  }
});
