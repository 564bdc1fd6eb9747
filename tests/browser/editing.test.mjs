// Editing: a document in an office program by an address of its own, as the program sees it, and a text in the browser.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { NARROW, PASSWORD, WIDE, look, openPage, signIn, startBrowser, startServer } from './rig.mjs';

let server;
let browser;

before(async () => {
  server = await startServer();
  browser = await startBrowser();
  for (const name of ['Plan.docx', 'Räume & Büros.ods', 'Moved.docx', 'Held.docx', 'Live.docx']) {
    await server.put(encodeURIComponent(name), 'first');
  }
  await server.put('run.txt', '\ufeff@echo off\r\nrem first\r\n');
  await server.put('notes.txt', 'first\n');
  await server.put('cells.csv', 'name;text\r\na;"one\ntwo"\r\n');
  const made = await server.json('POST', '/api/v1/users', { login: 'bob', display_name: 'Bob Reader', password: PASSWORD });
  assert.ok(made.ok, await made.text());
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const item = async (name) => (await server.api('GET', `/api/v1/items/by-path?path=${encodeURIComponent(`Documents/${name}`)}`)).json();
const content = async (name) => (await server.api('GET', `/api/v1/content/Documents/${encodeURIComponent(name)}`)).text();

/** Asks for a document in a program; returns the address that the browser was to open, split at the scheme's commands. */
async function askFor(page, name, label) {
  // The content is none that the converter could read.
  page.expectFault(/422/);
  await page.goto(`/browse/Documents/${encodeURIComponent(name)}`);
  await page.getByRole('button', { name: label }).first().click();
  await page.locator('dialog [data-launch]').waitFor();
  const [scheme, rest] = (await page.locator('dialog [data-launch]').getAttribute('data-launch')).split(/:(.*)/s);
  const [, how, address] = /^(\w+)\|u\|(.*)$/.exec(rest);
  return { scheme, how, address };
}

/** A request of the program, which has no cookie and no credentials. */
const ask = (method, address, headers = {}, body = undefined) => fetch(address, { method, headers, body, redirect: 'manual' });
const LOCK = '<?xml version="1.0"?><D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype><D:owner>Word</D:owner></D:lockinfo>';

test('Word opens, locks and saves a document by its address, and the page follows', async () => {
  const page = await openPage(browser, server, { viewport: WIDE });
  await signIn(page);
  const { scheme, how, address } = await askFor(page, 'Live.docx', 'Edit in Word');
  assert.deepEqual([scheme, how], ['ms-word', 'ofe']);
  assert.match(address, new RegExp(`^${server.url}/edit/sre_[0-9a-f]{64}/Live\\.docx$`));
  await look(page, 'editing/word-opens');
  await page.getByRole('button', { name: 'Done' }).click();
  const options = await ask('OPTIONS', address);
  assert.deepEqual([options.status, options.headers.get('dav'), options.headers.get('ms-author-via')], [200, '1, 2, 3', 'DAV']);
  const above = address.slice(0, address.lastIndexOf('/') + 1);
  assert.equal((await ask('OPTIONS', above)).status, 200);
  assert.equal((await ask('PROPFIND', above, { depth: '0' })).status, 207);
  const found = await ask('PROPFIND', address, { depth: '0' });
  const told = await found.text();
  assert.equal(found.status, 207, told);
  assert.ok(told.includes(`<D:href>${new URL(address).pathname}</D:href>`), told);
  assert.ok(!told.includes('/dav/'), told);
  const locked = await ask('LOCK', address, { timeout: 'Second-600', depth: '0' }, LOCK);
  const lock = await locked.text();
  assert.equal(locked.status, 200, lock);
  assert.ok(lock.includes(new URL(address).pathname), lock);
  const token = locked.headers.get('lock-token');
  await page.getByText('Open for editing by Administrator').waitFor();
  assert.equal(await (await ask('GET', address)).text(), 'first');
  assert.equal((await ask('PUT', address, {}, 'lost')).status, 423);
  // Programs encode the name in the address in ways of their own.
  const own = address.replace('Live.docx', '%4Cive%2Edocx');
  const saved = await ask('PUT', address, { if: `<${own}> (${token})` }, 'second');
  assert.equal(saved.status, 204, await saved.text());
  assert.equal((await ask('PUT', address, { if: `<${address.replace('Live', 'Other')}> (${token})` }, 'lost')).status, 412);
  await page.getByText('2.0', { exact: true }).first().waitFor();
  const again = await ask('PUT', address, { if: `(${token})` }, 'third');
  assert.equal(again.status, 204);
  assert.equal((await ask('UNLOCK', address, { 'lock-token': token })).status, 204);
  await page.getByText('Open for editing by Administrator').waitFor({ state: 'detached' });
  assert.equal(await content('Live.docx'), 'third');
  await page.finish();
});

test('the address is for one document, and for what programs do with it', async () => {
  const page = await openPage(browser, server, { viewport: NARROW });
  await signIn(page);
  const { scheme, address } = await askFor(page, 'Räume & Büros.ods', 'Edit in LibreOffice');
  assert.equal(scheme, 'vnd.libreoffice.command');
  await look(page, 'editing/libreoffice-opens');
  assert.equal(await (await ask('GET', address)).text(), 'first');
  for (const method of ['DELETE', 'MOVE', 'COPY', 'MKCOL', 'POST', 'PROPPATCH', 'REPORT', 'SEARCH']) {
    const answer = await ask(method, address, { destination: `${server.url}/dav/Documents/other.ods` });
    assert.equal(answer.status, 405, method);
    assert.match(answer.headers.get('allow'), /LOCK/);
  }
  const secret = new URL(address).pathname.split('/')[2];
  // The name in the address is not looked at, and the secret opens nothing else.
  const other = await ask('PUT', address.replace(/[^/]+$/, 'Plan.docx'), {}, 'second');
  assert.equal(other.status, 204);
  assert.deepEqual([await content('Plan.docx'), await content('Räume & Büros.ods')], ['first', 'second']);
  assert.equal((await ask('GET', `${server.url}/api/v1/me`, { authorization: `Bearer ${secret}` })).status, 401);
  assert.equal((await ask('GET', `${server.url}/dav/Documents/Plan.docx`, { authorization: `Basic ${btoa(`admin:${secret}`)}` })).status, 401);
  for (const wrong of [`sre_${'0'.repeat(64)}`, 'x', `${secret}0`, '..']) {
    assert.equal((await ask('GET', `${server.url}/edit/${wrong}/Plan.docx`)).status, 404, wrong);
  }
  await page.finish();
});

test('a document that was moved while a program has it open is saved where it is', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  const { address } = await askFor(page, 'Moved.docx', 'Edit in Word');
  const { id } = await item('Moved.docx');
  assert.ok((await server.json('PATCH', `/api/v1/items/${id}`, { name: 'Elsewhere.docx' })).ok);
  assert.equal((await ask('PUT', address, {}, 'second')).status, 204);
  assert.equal(await content('Elsewhere.docx'), 'second');
  assert.equal((await server.api('GET', '/api/v1/items/by-path?path=Documents%2FMoved.docx')).status, 404);
  await page.finish();
});

test('with the sessions of a user, the addresses end; a password goes on', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  const { address } = await askFor(page, 'Plan.docx', 'Edit in Word');
  assert.equal((await ask('GET', address)).status, 200);
  // The browser still asks on the first page whether it may open the program.
  const account = await page.context().newPage();
  await account.goto('/account');
  await account.getByRole('button', { name: 'Sign out everywhere' }).click();
  await account.waitForURL(/sign-in/);
  const ended = await ask('GET', address);
  assert.equal(ended.status, 401);
  assert.match(ended.headers.get('www-authenticate'), /Basic/);
  const basic = (login) => ({ authorization: `Basic ${btoa(`${login}:${PASSWORD}`)}` });
  assert.equal(await (await ask('GET', address, basic('admin'))).text(), 'first');
  assert.equal((await ask('GET', address, basic('bob'))).status, 404);
  await page.finish();
});

test('who may not write gets no address, and a reader is offered none', async () => {
  const { items: roles } = await (await server.api('GET', '/api/v1/roles')).json();
  const library = await (await server.api('GET', '/api/v1/items/by-path?path=')).json();
  const users = await (await server.api('GET', '/api/v1/users')).json();
  const bob = users.items.find(({ login }) => login === 'bob');
  const grant = async (name) => {
    const role = roles.find((one) => one.name === name);
    const granted = await server.json('POST', `/api/v1/items/${library.id}/permissions/grants`, { principal: bob.id, role: role.id });
    assert.ok(granted.ok, await granted.text());
  };
  const { id } = await item('Held.docx');
  const page = await openPage(browser, server);
  await grant('Read');
  await signIn(page, 'bob');
  await page.goto('/browse/Documents/Held.docx');
  await page.getByRole('heading', { name: 'Held.docx' }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Edit in Word' }).count(), 0);
  await grant('Contribute');
  await page.reload();
  await page.getByRole('button', { name: 'Edit in Word' }).waitFor();
  // Somebody checks it out meanwhile: the page does not know yet, and the answer says who.
  assert.ok((await server.json('PUT', `/api/v1/items/${id}/check-out`)).ok);
  const listing = await page.context().newPage();
  await listing.goto('/browse/Documents');
  for (const [name, count] of [['Held.docx', 0], ['Plan.docx', 1]]) {
    await listing.getByRole('link', { name: `More actions for ${name}` }).click();
    await listing.locator('.menu.of-row:popover-open').waitFor();
    assert.equal(await listing.getByRole('button', { name: 'Edit in Word' }).count(), count, name);
    await listing.keyboard.press('Escape');
  }
  await listing.close();
  page.expectFault(/422|423/);
  await page.getByRole('button', { name: 'Edit in Word' }).click();
  await page.getByText('is checked out by Administrator').waitFor();
  await page.finish();
});

test('a text is edited in the browser, and its lines end as before', async () => {
  const page = await openPage(browser, server, { viewport: NARROW });
  await signIn(page);
  await page.goto('/browse/Documents/run.txt');
  await page.getByRole('link', { name: 'Edit', exact: true }).click();
  const area = page.locator('textarea[name=text]');
  assert.equal(await area.inputValue(), '@echo off\nrem first\n');
  await area.fill('@echo off\nrem second\n');
  await look(page, 'editing/text');
  await page.keyboard.press('Control+S');
  await page.getByText('rem second').waitFor();
  assert.equal(Buffer.from(await (await server.api('GET', '/api/v1/content/Documents/run.txt')).arrayBuffer()).toString(), '\ufeff@echo off\r\nrem second\r\n');
  await page.goto(`/items/${(await item('notes.txt')).id}/edit`);
  await page.locator('textarea[name=text]').fill('mine\n');
  await server.put('notes.txt', 'theirs\n');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  page.expectFault(/412/);
  await page.getByRole('alert').waitFor();
  assert.equal(await page.locator('textarea[name=text]').inputValue(), 'mine\n');
  assert.equal(await content('notes.txt'), 'theirs\n');
  await page.finish();
});

test('a text that the editor would change is left to other programs', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  const { id, size } = await item('cells.csv');
  page.expectFault(/409/);
  await page.goto(`/items/${id}/edit`);
  await page.getByText('its lines end in several ways').waitFor();
  assert.equal(await page.locator('textarea').count(), 0);
  assert.equal((await item('cells.csv')).size, size);
  await page.finish();
});

test('where a check-out is required, it comes before the work', async () => {
  const root = await (await server.api('GET', '/api/v1/items/by-path?path=')).json();
  const made = await server.json('POST', `/api/v1/items/${root.id}/libraries`, { name: 'Careful', settings: { require_checkout: true } });
  assert.ok(made.ok, await made.text());
  const page = await openPage(browser, server, { viewport: WIDE });
  page.expectFault(/422/);
  await signIn(page);
  await page.goto('/browse/Careful');
  const add = async (name, kind) => {
    await page.goto(`/items/${(await (await server.api('GET', '/api/v1/items/by-path?path=Careful')).json()).id}/new-document`);
    await page.getByLabel('Name', { exact: true }).fill(name);
    await page.locator(`input[name=kind][value=${kind}]`).check();
    await page.getByRole('button', { name: 'Create', exact: true }).click();
  };
  await add('Minutes', 'txt');
  await page.locator('textarea[name=text]').fill('what was said\n');
  await page.getByRole('button', { name: 'Save working copy' }).click();
  await page.getByText('Checked out by you').first().waitFor();
  await page.getByRole('link', { name: 'Check in' }).first().click();
  await page.locator('dialog').getByRole('button', { name: 'Check in' }).click();
  const edit = page.getByRole('button', { name: 'Check out and edit' });
  await edit.click();
  await page.locator('textarea[name=text]').fill('what was meant\n');
  await page.getByRole('button', { name: 'Save working copy' }).click();
  await page.getByText('what was meant').waitFor();
  await add('Letter', 'docx');
  await page.getByRole('button', { name: 'Edit in Word' }).click();
  await page.getByText('The document is checked out to you').waitFor();
  const launch = await page.locator('[data-launch]').getAttribute('data-launch');
  assert.equal((await ask('PUT', launch.replace('ms-word:ofe|u|', ''), {}, 'letter')).status, 204);
  const held = await (await server.api('GET', '/api/v1/items/by-path?path=Careful%2FLetter.docx')).json();
  assert.ok(held.check_out, JSON.stringify(held));
  await page.finish();
});

test('what the user is doing on a page is not reloaded away', async () => {
  await server.put('watched.txt', 'first\n');
  const { id } = await item('watched.txt');
  const page = await openPage(browser, server);
  await signIn(page);
  await page.goto('/browse/Documents/watched.txt');
  let looks = 0;
  page.on('request', (request) => {
    if (request.url().endsWith(`/items/${id}/state`)) looks += 1;
  });
  const search = page.getByRole('combobox').or(page.getByRole('searchbox')).first();
  await search.fill('half a que');
  await server.put('watched.txt', 'second\n');
  const look = () => page.evaluate(() => {
    document.dispatchEvent(new Event('visibilitychange'));
    return fetch('/favicon.ico').then(() => 0);
  });
  await look();
  assert.equal(looks, 0);
  assert.equal(await search.inputValue(), 'half a que');
  await search.fill('');
  await page.evaluate(() => document.activeElement.blur());
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
  await page.getByText('second').waitFor();
  await page.finish();
});
