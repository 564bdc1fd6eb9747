// Finding one's place: options of columns at their titles, pinned places, what was shared, and what changed since.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { NARROW, PASSWORD, WIDE, look, openPage, signIn, startBrowser, startServer } from './rig.mjs';

let server;
let browser;
let library;

const ask = (method, path, body) => server.ask(method, path, body);

before(async () => {
  server = await startServer();
  browser = await startBrowser();
  library = await ask('GET', '/api/v1/items/by-path?path=Documents');
  await ask('POST', '/api/v1/users', { login: 'bob', display_name: 'Bob Reader', password: PASSWORD });
  await ask('POST', `/api/v1/items/${library.id}/columns`, { name: 'State', kind: 'choice', choices: ['open', 'done'] });
  for (const name of ['alpha.txt', 'beta.txt', 'gamma.md']) await server.put(name, name);
  const { id } = await ask('GET', '/api/v1/items/by-path?path=Documents/alpha.txt');
  const { items: columns } = await ask('GET', `/api/v1/items/${library.id}/columns`);
  await ask('PATCH', `/api/v1/items/${id}/values`, { values: { [columns[0].id]: 'done' } });
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const titles = (page) => page.locator('thead th[data-col]').evaluateAll((heads) => heads.map((head) => head.firstElementChild.textContent.trim()));

/** Chooses an entry of the menu at the title of a column. */
async function choose(page, column, entry) {
  await page.locator('thead th').filter({ hasText: column }).first().hover();
  await page.getByRole('button', { name: `Options of the column ${column}` }).click();
  await page.locator('th .menu:popover-open').getByRole('link', { name: entry, exact: true }).click();
}

test('the menu at the title of a column sorts, groups, filters, moves and hides it', async () => {
  const page = await openPage(browser, server, { viewport: WIDE });
  await signIn(page);
  await page.goto('/browse/Documents');
  const colours = await page.locator('.choice-tone').evaluateAll((all) => all.map((one) => one.dataset.accent));
  assert.deepEqual(colours, ['blue']);
  assert.deepEqual(await titles(page), ['State', 'Modified', 'By', 'Size']);
  await page.locator('thead th').filter({ hasText: 'Modified' }).hover();
  await page.getByRole('button', { name: 'Options of the column Modified' }).click();
  await page.locator('th .menu:popover-open').waitFor();
  await look(page, 'places/column-menu');
  await page.keyboard.press('Escape');
  await choose(page, 'Size', 'Sort descending');
  await page.locator('th[data-col=size][aria-sort=descending]').waitFor();
  await choose(page, 'Size', 'Move towards the start');
  await page.waitForFunction(() => [...document.querySelectorAll('thead th[data-col]')].findIndex((head) => head.dataset.col === 'size') === 2);
  await choose(page, 'By', 'Hide this column');
  await page.locator('th[data-col=by]').waitFor({ state: 'detached' });
  assert.deepEqual(await titles(page), ['State', 'Modified', 'Size']);
  await choose(page, 'State', 'Group by this column');
  await page.locator('tr.group').filter({ hasText: 'done' }).waitFor();
  await choose(page, 'State', 'Do not group');
  await page.locator('tr.group').first().waitFor({ state: 'detached' });
  await choose(page, 'State', 'Filter…');
  await page.locator('dialog').getByLabel('State').selectOption('done');
  await page.locator('dialog').getByRole('button', { name: 'Apply' }).click();
  await page.locator('.chip').filter({ hasText: 'State: done' }).waitFor();
  assert.equal(await page.locator('tr[data-id]').count(), 1);
  assert.deepEqual(await titles(page), ['State', 'Modified', 'Size']);
  await choose(page, 'State', 'Remove the filter');
  await page.locator('.chip').waitFor({ state: 'detached' });
  assert.equal(await page.locator('tr[data-id]').count(), 3);
  await page.finish();
});

test('the titles of columns are dragged into another order', async () => {
  const page = await openPage(browser, server, { viewport: WIDE });
  await signIn(page);
  await page.goto('/browse/Documents');
  await page.locator('th[data-col=size]').dragTo(page.locator('th[data-col=modified]'), { targetPosition: { x: 4, y: 10 } });
  await page.waitForURL(/cols=/);
  await page.waitForFunction(() => [...document.querySelectorAll('thead th[data-col]')].findIndex((head) => head.dataset.col === 'size') === 1);
  assert.deepEqual(await titles(page), ['State', 'Size', 'Modified', 'By']);
  await page.finish();
});

test('a column is added where the columns are, and is shown at once', async () => {
  const page = await openPage(browser, server, { viewport: WIDE });
  await signIn(page);
  await page.goto('/browse/Documents?sort=name&cols=modified,by');
  await page.getByRole('link', { name: 'Add a column' }).click();
  await page.locator('dialog').getByLabel('Name', { exact: true }).fill('Amount');
  await page.locator('dialog').getByLabel('Kind of value').selectOption('number');
  await page.locator('dialog').getByRole('button', { name: 'Save' }).click();
  await page.locator('th').filter({ hasText: 'Amount' }).waitFor();
  assert.deepEqual(await titles(page), ['Modified', 'By', 'Amount']);
  await choose(page, 'Amount', 'Change the column…');
  await page.locator('dialog').getByLabel('Name', { exact: true }).fill('Sum');
  await page.locator('dialog').getByRole('button', { name: 'Save' }).click();
  await page.locator('th').filter({ hasText: 'Sum' }).waitFor();
  await page.finish();
});

test('pinned places are on the home page and in the side bar', async () => {
  await ask('POST', `/api/v1/items/${library.id}/folders`, { name: 'Offers' });
  const page = await openPage(browser, server, { viewport: WIDE });
  await signIn(page);
  await page.goto('/browse/Documents/Offers');
  await page.getByRole('button', { name: 'More actions', exact: true }).first().click();
  await page.getByRole('button', { name: 'Pin to home and side bar' }).click();
  await page.getByText('“Offers” is pinned').waitFor();
  await page.locator('.sidebar').getByRole('link', { name: 'Offers' }).waitFor();
  await page.goto('/browse/Documents');
  await page.locator('.sidebar').getByRole('link', { name: 'Offers' }).click();
  await page.waitForURL('**/browse/Documents/Offers');
  await page.goto('/');
  await page.getByRole('region', { name: 'Pinned' }).or(page.locator('section:has(#pinned)')).getByRole('link', { name: 'Offers' }).click();
  await page.getByRole('button', { name: 'More actions', exact: true }).first().click();
  await page.getByRole('button', { name: 'Unpin' }).click();
  await page.getByText('“Offers” is no longer pinned').waitFor();
  assert.deepEqual((await ask('GET', '/api/v1/me/home')).pinned, []);
  await page.finish();
});

test('what was shared is found by both sides', async () => {
  const page = await openPage(browser, server, { viewport: NARROW });
  await signIn(page);
  await page.goto('/shared');
  await page.getByText('You have shared nothing yet.').waitFor();
  await page.goto('/browse/Documents/beta.txt');
  await page.getByRole('link', { name: 'Share', exact: true }).click();
  await page.locator('dialog').getByLabel('Who', { exact: true }).fill('bob');
  await page.locator('dialog').getByRole('button', { name: 'Share', exact: true }).click();
  await page.getByText('bob can open “beta.txt” now.').waitFor();
  await page.goto('/shared');
  await page.locator('section:has(#by-me)').getByRole('row').filter({ hasText: 'beta.txt' }).getByText('Bob Reader').filter({ visible: true }).waitFor();
  await look(page, 'places/shared');
  const theirs = await openPage(browser, server, { viewport: WIDE });
  await signIn(theirs, 'bob');
  await theirs.locator('section:has(#shared)').getByRole('link', { name: 'beta.txt' }).waitFor();
  await look(theirs, 'places/home-of-a-guest');
  await theirs.getByRole('link', { name: 'Everything shared' }).click();
  const row = theirs.locator('section:has(#with-me)').getByRole('row').filter({ hasText: 'beta.txt' });
  await row.getByText('Administrator').filter({ visible: true }).waitFor();
  assert.equal((await ask('GET', '/api/v1/me/shared-with-me')).items.length, 0);
  await theirs.finish();
  await page.finish();
});

test('activity says what one person added together, and leads to what changed since', async () => {
  await ask('POST', `/api/v1/items/${library.id}/folders`, { name: 'Batch' });
  for (const name of ['one.txt', 'two.txt', 'three.txt']) await server.put(`Batch/${name}`, name);
  const page = await openPage(browser, server, { viewport: WIDE });
  await signIn(page);
  const told = page.locator('section:has(#told)').getByRole('listitem').filter({ hasText: 'Batch' });
  await told.getByText('Added 3 documents').waitFor();
  // The search finds a document once it is indexed.
  const until = Date.now() + 30_000;
  while (!(await ask('GET', '/api/v1/search?q=three.txt+modified:today')).items.length) assert.ok(Date.now() < until);
  await page.goto(`/items/${library.id}/activity`);
  await page.getByText('Added 3 documents').first().waitFor();
  await page.getByLabel('Changed from').fill('2026-01-01');
  await page.getByLabel('Changed by').fill('admin');
  await page.getByRole('button', { name: 'Show changed documents' }).click();
  await page.waitForURL(/search\?q=in/);
  await page.getByRole('link', { name: 'three.txt' }).first().waitFor();
  await page.goto(`/items/${library.id}/changed?from=2020-01-01&to=2020-02-01`);
  await page.getByText('Nothing').first().waitFor();
  await page.finish();
});

/** Makes a link in the dialog for sharing and returns its address. */
async function makeLink(page, address, { takes = false, password = '', message = '' } = {}) {
  await page.goto(address);
  const link = page.locator('dialog details summary').filter({ hasText: 'Link for people without an account' });
  await page.getByRole('button', { name: 'More actions', exact: true }).first().click();
  await page.locator('.menu:popover-open').getByRole('link', { name: 'Share', exact: true }).click();
  await link.click();
  if (takes) await page.locator('dialog').getByLabel('Send files').check();
  if (password) await page.locator('dialog').getByLabel('Password').fill(password);
  if (message) await page.locator('dialog').getByLabel('Message').fill(message);
  await look(page, `places/share-folder${takes ? '-takes' : ''}`);
  await page.locator('dialog').getByRole('button', { name: 'Make link' }).click();
  return page.locator('#address').innerText();
}

test('a folder is given and files are taken by links', async () => {
  await ask('PUT', `/api/v1/site-collections/${library.site_collection}/link-rule`, { most_days: 30 });
  await ask('POST', `/api/v1/items/${library.id}/folders`, { name: 'Bids' });
  await server.put('Bids/deep/offer.txt', 'our offer');
  const page = await openPage(browser, server, { viewport: WIDE });
  await signIn(page);
  const gives = await makeLink(page, '/browse/Documents/Bids', { password: 'open sesame', message: 'Please read\nby Friday' });
  const stranger = await openPage(browser, server, { viewport: NARROW });
  stranger.expectFault(/403/);
  await stranger.goto(gives);
  await stranger.getByText('by Friday').waitFor();
  await stranger.getByLabel('Password').fill('wrong password');
  await stranger.getByRole('button', { name: 'Open' }).click();
  await stranger.getByRole('alert').waitFor();
  await stranger.getByLabel('Password').fill('open sesame');
  await stranger.getByRole('button', { name: 'Open' }).click();
  await look(stranger, 'places/link-folder');
  await stranger.getByRole('button', { name: 'deep' }).click();
  const [given] = await Promise.all([stranger.waitForEvent('download'), stranger.getByRole('button', { name: 'offer.txt' }).click()]);
  assert.equal(given.suggestedFilename(), 'offer.txt');
  await stranger.getByRole('button', { name: 'Bids' }).click();
  await stranger.getByRole('button', { name: 'deep' }).waitFor();
  const takes = await makeLink(page, '/browse/Documents/Bids', { takes: true });
  await stranger.goto(takes);
  await look(stranger, 'places/link-upload');
  await stranger.getByLabel('Your name').fill('Jane Bidder');
  await stranger.getByLabel('Files').setInputFiles([{ name: 'bid.txt', mimeType: 'text/plain', buffer: Buffer.from('a bid') }, { name: 'offer.txt', mimeType: 'text/plain', buffer: Buffer.from('another') }]);
  await stranger.getByRole('button', { name: 'Send files' }).click();
  await stranger.getByText('2 files were sent.').waitFor();
  assert.equal(await (await server.api('GET', '/api/v1/content/Documents/Bids/bid.txt')).text(), 'a bid');
  await page.goto('/browse/Documents/Bids/bid.txt');
  await page.getByText('Sent by Jane Bidder through a link').first().waitFor();
  await stranger.finish();
  await page.finish();
});

test('a picture is seen on the page of its link', async () => {
  const dot = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
  await server.put('dot.png', dot);
  const { id } = await ask('GET', '/api/v1/items/by-path?path=Documents/dot.png');
  const { path } = await ask('POST', `/api/v1/items/${id}/links`, { days: 1, message: 'Look at this' });
  const stranger = await openPage(browser, server, { viewport: NARROW });
  await stranger.goto(path);
  await stranger.waitForFunction(() => document.querySelector('.preview img')?.naturalWidth === 1);
  await look(stranger, 'places/link-picture');
  await stranger.finish();
});

test('a new user sets the password by a link', async () => {
  const page = await openPage(browser, server, { viewport: WIDE });
  await signIn(page);
  await page.goto('/farm/users/new');
  await page.getByLabel('Login').fill('newcomer');
  await page.getByRole('button', { name: 'Save' }).click();
  const address = await page.locator('#address').innerText();
  await look(page, 'places/password-link');
  const theirs = await openPage(browser, server, { viewport: NARROW });
  theirs.expectFault(/400|404/);
  await theirs.goto(address);
  await theirs.getByLabel('New password', { exact: true }).fill('a good new password');
  await theirs.getByLabel('New password again').fill('something else');
  await theirs.getByRole('button', { name: 'Save' }).click();
  await theirs.getByRole('alert').waitFor();
  await look(theirs, 'places/new-password');
  await theirs.getByLabel('New password', { exact: true }).fill('a good new password');
  await theirs.getByLabel('New password again').fill('a good new password');
  await theirs.getByRole('button', { name: 'Save' }).click();
  await theirs.getByText('The password of newcomer is set').waitFor();
  await theirs.getByLabel('Login').fill('newcomer');
  await theirs.getByLabel('Password').fill('a good new password');
  await theirs.getByRole('button', { name: 'Sign in' }).click();
  await theirs.getByRole('heading', { name: 'Home' }).waitFor({ state: 'attached' });
  await theirs.goto(address);
  await theirs.getByText('This link has ended or was used already').waitFor();
  await theirs.finish();
  await page.finish();
});
