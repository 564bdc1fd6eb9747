// Attachments of a row: files are added with and without script, seen in the list, previewed, renamed, deleted and
// restored; who may only read the row sees them and no buttons.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  NARROW, PASSWORD, WIDE, fillForm, look, openPage, signIn, startBrowser, startServer,
} from './rig.mjs';

let server;
let browser;
let root;
const ask = (method, path, body) => server.ask(method, path, body);
before(async () => {
  server = await startServer();
  browser = await startBrowser();
  root = (await ask('GET', '/api/v1/items/by-path?path=')).id;
  const berta = await ask('POST', '/api/v1/users', { login: 'berta', display_name: 'Berta', password: PASSWORD });
  const { items: roles } = await ask('GET', '/api/v1/roles');
  const role = roles.find(({ name }) => name === 'Read').id;
  await ask('POST', `/api/v1/items/${root}/permissions/grants`, { principal: berta.id, role });
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const file = (name, text) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });
const attached = async (list) => {
  const { items } = await ask('GET', `/api/v1/items/by-path/children?path=${encodeURIComponent(`${list}/1`)}`);
  return items.map(({ name }) => name);
};

/** A list with two rows, the first of which is the one that the tests work with. */
async function makeList(name) {
  const list = await ask('POST', `/api/v1/items/${root}/lists`, { name });
  const changes = ['Call Anna', 'Write the offer'].map((Title) => ({ set: { Title } }));
  await ask('POST', `/api/v1/items/${list.id}/changes`, { changes });
  return list;
}

for (const scheme of ['light', 'dark']) {
  for (const [screen, viewport] of [['wide', WIDE], ['narrow', NARROW]]) {
    test(`files are attached, seen, renamed, deleted and restored: ${scheme}, ${screen}`, async () => {
      const name = `Tasks ${scheme} ${screen}`;
      const at = (word) => `attachments/${scheme}-${screen}-${word}`;
      await makeList(name);
      const page = await openPage(browser, server, { scheme, viewport });
      await signIn(page);
      await page.goto(`/browse/${encodeURIComponent(name)}/1`);
      await page.getByText('Nothing is attached.').waitFor();
      await look(page, at('none'));
      await page.locator('#upload-files').setInputFiles([file('Plan.txt', 'the plan'), file('Offer.txt', 'the offer')]);
      const attachments = page.locator('#attachments');
      await attachments.getByRole('link', { name: 'Offer.txt', exact: true }).waitFor();
      await attachments.getByRole('link', { name: 'Plan.txt', exact: true }).waitFor();
      assert.deepEqual(await attached(name), ['Offer.txt', 'Plan.txt']);
      await look(page, at('two'));
      await attachments.getByRole('link', { name: 'More actions for Plan.txt' }).click();
      await page.locator('.menu.of-row').getByRole('link', { name: 'Rename' }).click();
      await fillForm(page, { Name: 'Draft.txt' }, 'Rename');
      await attachments.getByRole('link', { name: 'Draft.txt', exact: true }).click();
      await page.getByRole('heading', { name: 'Draft.txt', level: 1 }).waitFor();
      await page.getByText('the plan').waitFor();
      await look(page, at('document'));
      // The way back is called as the row is.
      await page.getByRole('navigation').getByRole('link', { name: 'Call Anna', exact: true }).click();
      await attachments.getByRole('link', { name: 'More actions for Draft.txt' }).click();
      await page.locator('.menu.of-row').getByRole('button', { name: 'Delete' }).click();
      await attachments.getByRole('link', { name: 'Draft.txt', exact: true }).waitFor({ state: 'detached' });
      assert.deepEqual(await attached(name), ['Offer.txt']);
      await page.getByRole('button', { name: 'Undo' }).click();
      await attachments.getByRole('link', { name: 'Draft.txt', exact: true }).waitFor();
      await page.goto(`/browse/${encodeURIComponent(name)}`);
      const row = page.getByRole('row', { name: 'Call Anna' });
      await row.getByTitle('2 attachments').waitFor();
      assert.equal(await page.locator('.clips').count(), 1, 'a row without attachments has no paper clip');
      await look(page, at('list'));
      await page.goto(`/browse/${encodeURIComponent(name)}?as=grid`);
      await page.locator('.grid.alive').getByTitle('Attachments: 2').waitFor();
      await look(page, at('grid'));
      await page.finish();
    });
  }
}

test('without script files are attached by a form, several at once', async () => {
  await makeList('Plain');
  const page = await openPage(browser, server, { javaScriptEnabled: false, locale: 'de-DE' });
  await signIn(page);
  await page.goto('/browse/Plain/1');
  await page.getByRole('link', { name: 'Dateien anhängen' }).click();
  await page.locator('input[type=file]').setInputFiles([file('a.txt', 'a'), file('b.txt', 'b')]);
  await page.getByRole('button', { name: 'Hochladen' }).click();
  await page.waitForURL('**/browse/Plain/1');
  assert.deepEqual(await attached('Plain'), ['a.txt', 'b.txt']);
  await page.locator('#attachments').getByRole('link', { name: 'a.txt', exact: true }).click();
  await page.getByRole('heading', { name: 'a.txt', level: 1 }).waitFor();
  await page.finish();
});

test('who may only read sees attachments and no buttons, and a list may take none', async () => {
  const list = await makeList('Read');
  const stored = await server.api('PUT', '/api/v1/content/Read/1/note.txt', 'a note');
  assert.ok(stored.ok);
  const page = await openPage(browser, server);
  await signIn(page, 'berta');
  await page.goto('/browse/Read/1');
  const attachments = page.locator('#attachments');
  await attachments.getByRole('link', { name: 'More actions for note.txt' }).click();
  const menu = page.locator('.menu.of-row');
  await menu.getByRole('link', { name: 'Download' }).waitFor();
  for (const word of ['Rename', 'Delete', 'Replace', 'Move']) {
    assert.equal(await menu.getByText(word, { exact: false }).count(), 0, word);
  }
  assert.equal(await page.getByRole('link', { name: 'Attach files' }).count(), 0);
  await page.goto('/browse/Read/2');
  await page.getByRole('heading', { name: 'Write the offer', level: 1 }).waitFor();
  assert.equal(await attachments.count(), 0, 'a row without attachments says nothing of them to a reader');
  await page.finish();

  const admin = await openPage(browser, server);
  await signIn(admin);
  await admin.goto(`/items/${list.id}/settings`);
  await admin.getByRole('checkbox', { name: 'Attachments' }).uncheck();
  await admin.getByRole('button', { name: 'Save' }).first().click();
  await admin.goto('/browse/Read/1');
  await admin.locator('#attachments').getByRole('link', { name: 'note.txt', exact: true }).waitFor();
  assert.equal(await admin.getByRole('link', { name: 'Attach files' }).count(), 0);
  const refused = await server.api('PUT', '/api/v1/content/Read/1/other.txt', 'x');
  assert.deepEqual([refused.status, (await refused.json()).code], [409, 'attachments_off']);
  await admin.finish();
});
