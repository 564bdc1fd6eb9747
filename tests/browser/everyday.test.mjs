// What people meet all day: times of their own zone, listings that keep still, new documents, notes that are true.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import zlib from 'node:zlib';
import { NARROW, PASSWORD, WIDE, fillForm, look, openPage, signIn, startBrowser, startServer } from './rig.mjs';

let server;
let browser;
let library;

const ask = (method, path, body) => server.ask(method, path, body);

before(async () => {
  server = await startServer();
  browser = await startBrowser();
  library = await ask('GET', '/api/v1/items/by-path?path=Documents');
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

/** A day as English pages show it. */
const day = (moment, timeZone) => {
  const parts = Object.fromEntries(new Intl.DateTimeFormat('en-GB', { timeZone, day: 'numeric', month: 'short', year: 'numeric' }).formatToParts(moment).map(({ type, value }) => [type, value]));
  return `${parts.day} ${parts.month.slice(0, 3)} ${parts.year}`;
};

test('times are those of the browser until the account has a zone of its own', async () => {
  const page = await openPage(browser, server, { viewport: NARROW, timezoneId: 'Pacific/Auckland' });
  await signIn(page);
  await server.put('zone.txt', 'first');
  // The first page has told the server the zone.
  await page.goto('/browse/Documents/zone.txt');
  assert.equal(await page.locator('html').getAttribute('data-zone'), 'Pacific/Auckland');
  const time = page.locator('.facts time').first();
  const moment = new Date(await time.getAttribute('datetime'));
  assert.match(await time.getAttribute('title'), / NZ[DS]T$/);
  await time.hover();
  const told = new Intl.DateTimeFormat('en', { dateStyle: 'full', timeStyle: 'long', timeZone: 'Pacific/Auckland' }).format(moment);
  assert.equal(await time.getAttribute('title'), told);
  await page.goto(`/items/${library.id}/activity`);
  await page.getByText(day(moment, 'Pacific/Auckland')).first().waitFor();
  await page.goto('/account');
  await page.getByLabel('Time zone').fill('Kiritimati');
  await page.locator('form:has([name=time_zone])').getByRole('button', { name: 'Save' }).click();
  await page.getByText('There is no time zone “Kiritimati”').waitFor();
  await page.getByLabel('Time zone').fill('pacific/kiritimati');
  await look(page, 'everyday/account');
  await page.locator('form:has([name=time_zone])').getByRole('button', { name: 'Save' }).click();
  await page.getByText('Times are shown in Pacific/Kiritimati').waitFor();
  await page.goto('/browse/Documents/zone.txt');
  assert.match(await page.locator('.facts time').first().getAttribute('title'), / \+14$/);
  // A filter by days means those of the zone: the document is of today there, and of no day before.
  const here = moment.toLocaleDateString('sv', { timeZone: 'Pacific/Kiritimati' });
  await page.goto(`/browse/Documents?from=${here}&to=${here}`);
  await page.getByRole('link', { name: 'zone.txt', exact: true }).waitFor();
  const before = new Date(Date.parse(here) - 86_400_000).toISOString().slice(0, 10);
  await page.goto(`/browse/Documents?from=${before}&to=${before}`);
  await page.getByRole('heading', { name: 'Nothing here matches the filter' }).waitFor();
  assert.equal(await page.getByRole('link', { name: 'zone.txt', exact: true }).count(), 0);
  await ask('PUT', '/api/v1/me/preferences', { language: '', theme: 'system' });
  assert.equal((await ask('GET', '/api/v1/me')).preferences.time_zone, 'Pacific/Kiritimati');
  await ask('PUT', '/api/v1/me/preferences', { language: '', theme: 'system', time_zone: '' });
  await page.finish();
});

test('the columns of a long listing stay where they are, and one that is too wide says so', async () => {
  const [from, to] = [{ viewport: { width: 1440, height: 900 } }, 'Wide'];
  const { id } = await ask('POST', `/api/v1/items/${library.site_collection}/libraries`, { name: to });
  const columns = [];
  for (const [name, kind] of [['Project', 'text'], ['Amount', 'number'], ['Due', 'date'], ['State', 'choice'], ['Owner', 'person']]) {
    columns.push(await ask('POST', `/api/v1/items/${id}/columns`, { name, kind, ...(kind === 'choice' ? { choices: ['open', 'done'] } : {}) }));
  }
  for (let n = 0; n < 120; n += 1) {
    const name = `Report ${String(n).padStart(3, '0')}${n > 60 ? ' with a much longer name than all the others before it' : ''}.txt`;
    const made = await server.api('PUT', `/api/v1/content/${to}/${encodeURIComponent(name)}`, 'x'.repeat(n > 60 ? 4_000_000 / 1000 * n : 1));
    assert.ok(made.ok);
    const { id: item } = await made.json();
    if (n > 55) await ask('PATCH', `/api/v1/items/${item}/values`, { values: { [columns[0].id]: 'A project with quite a long name', [columns[1].id]: 1234567.5 } });
    if (n < 2) assert.ok((await server.json('PUT', `/api/v1/items/${item}/check-out`)).ok);
  }
  const page = await openPage(browser, server, from);
  await signIn(page);
  await page.goto(`/browse/${to}`);
  await page.locator('.scroll[data-fits]').waitFor();
  const edges = () => page.evaluate(() => [...document.querySelectorAll('[data-listing] thead th')].map((head) => Math.round(head.getBoundingClientRect().left)));
  const before = await edges();
  await page.mouse.move(700, 600);
  while (await page.locator('[data-listing] tr[data-id]').count() < 120) await page.mouse.wheel(0, 2000);
  assert.deepEqual(await edges(), before);
  await page.setViewportSize({ width: 1000, height: 900 });
  await page.locator('.scroll[data-more]').waitFor();
  const act = await page.evaluate(() => {
    const cell = document.querySelector('[data-listing] tbody td.act').getBoundingClientRect();
    const frame = document.querySelector('.scroll').getBoundingClientRect();
    return Math.round(frame.right - cell.right);
  });
  assert.ok(act <= 2, `the menu of a row is ${act} pixels from the edge`);
  await look(page, 'everyday/wide-listing');
  await page.locator('.scroll').evaluate((frame) => { frame.scrollLeft = frame.scrollWidth; });
  await page.locator('.scroll:not([data-more])').waitFor();
  await page.finish();
});

test('a document without a preview says so', async () => {
  await server.put('disk.iso', Buffer.from([0, 1, 2, 3, 255]));
  await server.put('data.bin', Buffer.from([0, 1, 2, 255, 0]));
  await server.put('photo.heic', Buffer.from([0, 1, 2, 255]));
  const page = await openPage(browser, server);
  await signIn(page);
  for (const name of ['disk.iso', 'data.bin', 'photo.heic']) {
    await page.goto(`/browse/Documents/${name}`);
    await page.getByText('There is no preview for documents of this kind').waitFor();
  }
  await page.finish();
});

test('an archive shows its members, a message what people see of it', async () => {
  // Two files, stored without compression by a program.
  const entry = (name, text, offset) => {
    const [n, t] = [Buffer.from(name), Buffer.from(text)];
    const crc = zlib.crc32(t);
    const local = Buffer.alloc(30);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(20, 4);
    local.writeUInt32LE(crc, 14);
    local.writeUInt32LE(t.length, 18);
    local.writeUInt32LE(t.length, 22);
    local.writeUInt16LE(n.length, 26);
    const central = Buffer.alloc(46);
    central.writeUInt32LE(0x02014b50, 0);
    central.writeUInt16LE(20, 4);
    central.writeUInt16LE(20, 6);
    central.writeUInt32LE(crc, 16);
    central.writeUInt32LE(t.length, 20);
    central.writeUInt32LE(t.length, 24);
    central.writeUInt16LE(n.length, 28);
    central.writeUInt32LE(offset, 42);
    return { local: Buffer.concat([local, n, t]), central: Buffer.concat([central, n]) };
  };
  const one = entry('plans/first.txt', 'one', 0);
  const two = entry('<b>second</b>.txt', 'two two', one.local.length);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(2, 8);
  end.writeUInt16LE(2, 10);
  end.writeUInt32LE(one.central.length + two.central.length, 12);
  end.writeUInt32LE(one.local.length + two.local.length, 16);
  await server.put('plans.zip', Buffer.concat([one.local, two.local, one.central, two.central, end]));
  await server.put('hello.eml', 'From: Jane Doe <jane@example.org>\r\nTo: bob@example.org\r\nSubject: Our offer\r\nDate: Mon, 30 Nov 2026 10:00:00 +0100\r\nContent-Type: text/html\r\n\r\n<p>Hello <b>Bob</b></p><script>alert(1)</script>');
  await server.put('broken.zip', 'no archive at all');
  const page = await openPage(browser, server, { viewport: NARROW });
  await signIn(page);
  await page.goto('/browse/Documents/plans.zip');
  await page.getByText('2 entries').waitFor();
  await page.getByRole('row').filter({ hasText: '<b>second</b>.txt' }).getByText('7 bytes').waitFor();
  await look(page, 'everyday/archive');
  await page.goto('/browse/Documents/hello.eml');
  await page.getByText('Our offer').waitFor();
  await page.getByText('Hello Bob').waitFor();
  await look(page, 'everyday/message');
  await page.goto('/browse/Documents/broken.zip');
  await page.getByText('There is no preview: the document is damaged').first().waitFor();
  await page.finish();
});

test('what was done to a group is said of its member', async () => {
  await ask('POST', '/api/v1/users', { login: 'bob', display_name: 'Bob Reader', password: PASSWORD });
  const { id } = await ask('POST', '/api/v1/groups', { name: 'Readers' });
  const page = await openPage(browser, server);
  await signIn(page);
  await page.goto(`/farm/groups/${id}`);
  await page.locator('main [name=who]').fill('bob');
  await page.keyboard.press('Enter');
  await page.getByText('“bob” is a member now').waitFor();
  await page.locator('main td.act button').first().click();
  await page.getByText('The member was removed from the group').waitFor();
  await page.finish();
});

test('a new document begins blank or with a template of the library', async () => {
  const page = await openPage(browser, server, { viewport: WIDE });
  // LibreOffice makes the preview of the others; a workbook may find no program for that.
  page.expectFault(/422|503/);
  await signIn(page);
  const make = async (name, kind) => {
    await page.goto('/browse/Documents');
    await page.getByRole('link', { name: 'New document' }).click();
    await page.locator('dialog').getByLabel('Name').fill(name);
    await page.locator('dialog').getByLabel(kind).check();
    if (name === 'Letter') await look(page, 'everyday/new-document');
    await page.locator('dialog').getByRole('button', { name: 'Create' }).click();
  };
  await make('Letter', '.docx');
  await page.getByRole('heading', { name: 'Letter.docx' }).waitFor();
  await page.getByRole('button', { name: 'Edit in Word' }).waitFor();
  await make('Sheet.ods', '.ods');
  await page.getByRole('heading', { name: 'Sheet.ods' }).waitFor();
  await make('Notes', '.txt');
  await page.locator('textarea[name=text]').fill('mine');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('heading', { name: 'Notes.txt' }).waitFor();
  const taken = page.locator('dialog .note.bad');
  page.expectFault(/409/);
  await make('Letter', '.docx');
  await taken.waitFor();
  assert.equal(await page.locator('dialog').getByLabel('Name').inputValue(), 'Letter');
  assert.equal(await page.locator('dialog').getByLabel('.docx').isChecked(), true);
  await server.put('Templates/Offer.docx', 'an offer');
  await make('Offer 7', 'Offer.docx');
  await page.getByRole('heading', { name: 'Offer 7.docx' }).waitFor();
  assert.equal(await (await server.api('GET', '/api/v1/content/Documents/Offer%207.docx')).text(), 'an offer');
  await page.finish();
});

test('people get and lose access in one dialog', async () => {
  const account = await ask('POST', '/api/v1/users', { login: 'carl', display_name: 'Carl Colleague', password: PASSWORD });
  await server.put('shared.txt', 'for carl');
  const page = await openPage(browser, server, { viewport: NARROW });
  await signIn(page);
  await page.goto('/browse/Documents/shared.txt');
  await page.getByRole('link', { name: 'Share', exact: true }).click();
  const dialog = page.locator('dialog');
  await dialog.getByLabel('Who', { exact: true }).fill('nobody-at-all');
  page.expectFault(/400|404|409/);
  await dialog.getByRole('button', { name: 'Share', exact: true }).click();
  await dialog.getByRole('alert').waitFor();
  assert.equal(await dialog.getByLabel('Who', { exact: true }).inputValue(), 'nobody-at-all');
  await dialog.getByLabel('Who', { exact: true }).fill('carl');
  await dialog.getByRole('button', { name: 'Share', exact: true }).click();
  await dialog.getByText('carl can open “shared.txt” now.').waitFor();
  await look(page, 'everyday/share');
  await dialog.getByLabel('Role of Carl Colleague', { exact: true }).selectOption({ label: 'Contribute' });
  await dialog.getByRole('button', { name: 'Change the role of Carl Colleague' }).click();
  await dialog.getByText('The role was changed.').waitFor();
  const shared = await ask('GET', '/api/v1/items/by-path?path=Documents%2Fshared.txt');
  const roles = async () => (await ask('GET', `/api/v1/items/${shared.id}/permissions`)).grants.filter((grant) => JSON.stringify(grant).includes(account.id)).length;
  assert.equal(await roles(), 1);
  await dialog.getByRole('button', { name: 'Remove Contribute from Carl Colleague' }).click();
  await dialog.getByText('The role was taken away.').waitFor();
  assert.equal(await roles(), 0);
  await page.finish();
});
