// Roles, content types and the log of what happened, for those who manage them; and what others are not shown.
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
  await server.put('Offer.txt', 'An offer.\n');
  const account = await (await server.json('POST', '/api/v1/users', { login: 'berta', password: PASSWORD })).json();
  const site = await (await server.api('GET', '/api/v1/items/by-path?path=')).json();
  const granted = await server.json('POST', `/api/v1/items/${site.id}/permissions/grants`, { principal: account.id, role: '4' });
  assert.ok(granted.ok, await granted.text());
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

for (const [scheme, screen, viewport] of [['light', 'wide', WIDE], ['dark', 'wide', WIDE], ['light', 'narrow', NARROW], ['dark', 'narrow', NARROW]]) {
  test(`roles, settings and the log are there for managers: ${scheme}, ${screen}`, async () => {
    const name = `Drop-off ${scheme} ${screen}`;
    const page = await openPage(browser, server, { scheme, viewport });
    page.expectFault(/409/);
    const look = async (what) => {
      await picture(page, `${what}-${scheme}-${screen}`);
      await assertFits(page);
      await assertAccessible(page);
    };
    await signIn(page);
    await page.goto('/farm/roles/new');
    await page.locator('input[name=name]').fill(name);
    await page.getByLabel('Add', { exact: true }).check();
    await look('role');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL('**/farm/roles');
    await page.getByRole('link', { name, exact: true }).waitFor();
    await look('roles');
    // Granted, it stays, and the page says why.
    const role = (await (await server.api('GET', '/api/v1/roles')).json()).items.find((found) => found.name === name);
    const item = await (await server.api('GET', '/api/v1/items/by-path?path=')).json();
    const person = (await (await server.api('GET', '/api/v1/users')).json()).items.find((user) => user.login === 'admin');
    await server.json('POST', `/api/v1/items/${item.id}/permissions/grants`, { principal: person.id, role: role.id });
    await page.goto(`/farm/roles/${role.id}/delete`);
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('alert').getByText('granted once').waitFor();
    await look('role-in-use');
    const library = await (await server.api('GET', '/api/v1/items/by-path?path=Documents')).json();
    await page.goto(`/items/${library.id}/settings`);
    await page.getByPlaceholder('New content type').fill(`Letter ${scheme} ${screen}`);
    await page.getByRole('button', { name: 'Add' }).click();
    await page.getByText(`Letter ${scheme} ${screen}`).first().waitFor();
    await look('library-settings');
    await page.goto(`/audit/${library.site_collection}`);
    await page.locator('tbody').getByText('Stored a document').first().waitFor();
    await look('audit');
    await page.getByLabel('Action', { exact: true }).selectOption('document.create');
    await page.getByLabel('Who', { exact: true }).fill('admin');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.waitForURL('**action=document.create**');
    assert.equal(await page.locator('tbody tr').count(), 1);
    await page.getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL((url) => url.search === '');
    assert.ok(await page.getByRole('checkbox').isChecked());
    const file = await page.context().request.get(`/audit/${library.site_collection}/export`);
    assert.match(await file.text(), /^time,login,name,action,item,detail\r\n/);
    await page.finish();
  });
}

for (const [scheme, screen, viewport] of [['light', 'wide', WIDE], ['dark', 'wide', WIDE], ['light', 'narrow', NARROW], ['dark', 'narrow', NARROW]]) {
  test(`the audit log of the farm is filtered and leads to what it is about: ${scheme}, ${screen}`, async () => {
    const login = `log-${scheme}-${screen}`;
    const account = await (await server.json('POST', '/api/v1/users', { login, display_name: `Lisa ${scheme} ${screen}`, password: PASSWORD })).json();
    const group = await (await server.json('POST', '/api/v1/groups', { name: `Group ${scheme} ${screen}` })).json();
    assert.ok((await server.json('PUT', `/api/v1/groups/${group.id}/members/${account.id}`)).ok);
    const job = await (await server.json('POST', '/api/v1/farm/jobs', { kind: 'check' })).json();
    const page = await openPage(browser, server, { scheme, viewport });
    const look = async (what) => {
      await picture(page, `${what}-${scheme}-${screen}`);
      await assertFits(page);
      await assertAccessible(page);
    };
    await signIn(page);
    await page.goto('/farm/audit');
    await page.locator('tbody').getByText('Started a job').first().waitFor();
    await look('farm-audit');
    await page.getByLabel('About', { exact: true }).fill(login);
    await page.getByLabel('Who', { exact: true }).fill('admin');
    const today = new Date().toISOString().slice(0, 10);
    await page.getByLabel('From', { exact: true }).fill(today);
    await page.getByRole('button', { name: 'Show' }).click();
    await page.waitForURL('**about=log-**');
    assert.equal(await page.locator('tbody tr').count(), 2);
    await page.getByLabel('Action', { exact: true }).selectOption('account.create');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.waitForURL('**action=account.create**');
    assert.equal(await page.locator('tbody tr').count(), 1);
    const exported = await page.getByRole('link', { name: 'Export as CSV' }).getAttribute('href');
    const file = await (await page.context().request.get(exported)).text();
    assert.equal(file.trimEnd().split('\r\n').length, 2, file);
    await page.getByLabel('Who', { exact: true }).fill('nobody at all');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByRole('alert').waitFor();
    await look('farm-audit-stranger');
    await page.goto(`/farm/audit?about=${login}&action=account.create`);
    await page.locator('tbody').getByRole('link', { name: `Lisa ${scheme} ${screen}` }).filter({ visible: true }).click();
    await page.waitForURL(`**/farm/users/${account.id}`);
    await page.goto(`/farm/jobs/${job.id}`);
    await page.locator('#job-told').getByText('Started a job').waitFor();
    await look('job-told');
    await page.finish();
  });
}

test('who only reads sees nothing that would be refused', async () => {
  for (const viewport of [WIDE, NARROW]) {
    const page = await openPage(browser, server, { viewport });
    await signIn(page, 'berta');
    await page.goto('/browse/Documents');
    await page.locator('#account-menu').waitFor({ state: 'attached' });
    for (const address of ['/farm', '/audit/', '/settings', '/upload', '/new-folder', '/permissions', '/rename']) {
      assert.equal(await page.locator(`a[href*="${address}"]`).count(), 0, address);
    }
    await page.locator('a[data-menu]').first().click();
    const menu = page.locator('.menu.of-row');
    await menu.getByRole('link', { name: 'Download' }).waitFor();
    for (const action of ['Rename', 'Replace', 'Move', 'Delete']) {
      assert.equal(await menu.getByRole('link', { name: action }).count(), 0, action);
    }
    await page.finish();
  }
});
