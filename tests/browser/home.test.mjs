// The page that everybody comes to first: on a new farm, with work on it, and for who may see nothing.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  NARROW, PASSWORD, WIDE, assertAccessible, assertFits, openPage, picture, signIn, startBrowser, startServer,
} from './rig.mjs';

let server;
let browser;
before(async () => {
  server = await startServer();
  browser = await startBrowser();
  const made = await server.json('POST', '/api/v1/users', { login: 'berta', display_name: 'Berta', password: PASSWORD });
  assert.ok(made.ok, await made.text());
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

/** Looks at the home page in both themes and on both screens. */
async function look(name, login, check) {
  for (const scheme of ['light', 'dark']) {
    for (const [screen, viewport] of [['wide', WIDE], ['narrow', NARROW]]) {
      const page = await openPage(browser, server, { scheme, viewport });
      await signIn(page, login);
      await check(page);
      await picture(page, `${name}-${scheme}-${screen}`);
      await assertFits(page);
      await assertAccessible(page);
      await page.finish();
    }
  }
}

test('a new farm leads its administrator to the first upload', async () => {
  await look('home-new', 'admin', (page) => page.getByRole('heading', { name: 'Welcome to your new farm' }).waitFor());
  const page = await openPage(browser, server);
  await signIn(page);
  await page.getByRole('link', { name: /Add documents/ }).click();
  await page.getByRole('link', { name: 'Upload' }).first().waitFor();
  await page.finish();
});

test('who may see nothing is told what to do', async () => {
  await look('home-none', 'berta', (page) => page.getByRole('heading', { level: 2 }).first().waitFor());
});

test('recent documents, check-outs and sites are one step away', async () => {
  await server.put('Contracts/Rental contract for the office on the river, final version with all appendices.pdf', 'no pdf');
  for (const name of ['Plan.txt', 'Budget.xlsx', 'Minutes.md']) await server.put(name, name);
  const plan = await (await server.api('GET', '/api/v1/items/by-path?path=Documents/Plan.txt')).json();
  assert.ok((await server.api('PUT', `/api/v1/items/${plan.id}/check-out`)).ok);
  for (const [path, title] of [['sites/sales', 'Sales'], ['sites/legal', 'Legal and compliance']]) {
    const made = await server.json('POST', '/api/v1/site-collections', { path, title });
    assert.ok(made.ok, await made.text());
  }
  await look('home', 'admin', (page) => page.getByRole('heading', { name: 'Checked out by me' }).waitFor());

  const page = await openPage(browser, server, { javaScriptEnabled: false });
  await signIn(page);
  await page.getByRole('region', { name: 'Recent documents' }).getByRole('link', { name: 'Minutes.md' }).click();
  await page.getByRole('heading', { name: 'Minutes', level: 1 }).waitFor();
  await page.getByRole('link', { name: 'Home' }).first().click();
  await page.getByRole('region', { name: 'Sites' }).getByRole('link', { name: 'Sales' }).click();
  await page.getByRole('heading', { name: 'Sales' }).waitFor();
  await page.goto('/');
  await page.getByRole('searchbox').fill('rental');
  await page.getByRole('searchbox').press('Enter');
  await page.getByRole('link', { name: /Rental contract/ }).first().waitFor();
  await page.finish();
});

test('each row of the recycle bin is put back by its own button, also without script', async () => {
  await server.put('Bin/first.txt', 'one');
  await server.put('Bin/second.txt', 'two');
  for (const name of ['first.txt', 'second.txt']) {
    const item = await (await server.api('GET', `/api/v1/items/by-path?path=Documents/Bin/${name}`)).json();
    assert.ok((await server.api('DELETE', `/api/v1/items/${item.id}`)).ok);
  }
  for (const [scheme, viewport] of [['light', WIDE], ['dark', NARROW]]) {
    const page = await openPage(browser, server, { scheme, viewport });
    await signIn(page);
    await page.goto('/browse/Documents');
    const bin = await page.locator('.sidebar a[href^="/bin/"]').getAttribute('href');
    await page.goto(bin);
    await page.getByRole('button', { name: 'Restore first.txt' }).waitFor();
    await picture(page, `bin-${scheme}`);
    await assertFits(page);
    await assertAccessible(page);
    await page.finish();
  }
  const page = await openPage(browser, server, { javaScriptEnabled: false });
  await signIn(page);
  await page.goto('/browse/Documents');
  await page.getByRole('link', { name: 'Site permissions' }).waitFor();
  await page.getByRole('link', { name: 'Recycle bin' }).click();
  await page.getByRole('button', { name: 'Empty the recycle bin' }).waitFor();
  await page.getByRole('button', { name: 'Restore second.txt' }).click();
  await page.getByRole('button', { name: 'Restore second.txt' }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Restore first.txt' }).waitFor();
  await page.goto('/browse/Documents/Bin');
  await page.getByRole('link', { name: 'second.txt' }).first().waitFor();
  assert.equal(await page.getByRole('link', { name: 'first.txt' }).count(), 0);
  await page.finish();
});

test('what cannot be found or read is said in the frame of all pages', async () => {
  const page = await openPage(browser, server);
  page.expectFault(/404|400/);
  await signIn(page);
  for (const [address, words] of [
    ['/nowhere', 'There is nothing here'],
    ['/place?action=move', 'That did not work'],
  ]) {
    await page.goto(address);
    await page.getByRole('heading', { name: words }).waitFor();
    await page.getByRole('button', { name: /^Account of/ }).waitFor();
    assert.equal(await page.getByRole('link', { name: 'Sign in' }).count(), 0);
    await assertAccessible(page);
  }
  await page.finish();
});
