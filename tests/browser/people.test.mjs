// Profiles and activity: somebody writes a profile with a picture, others find the person and read it; a site and a list
// tell what changed in them.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { NARROW, PASSWORD, WIDE, look, openPage, signIn, startBrowser, startServer } from './rig.mjs';
import { png } from './samples.mjs';

let server;
let browser;
let root;
const ask = (method, path, body) => server.ask(method, path, body);
before(async () => {
  server = await startServer();
  browser = await startBrowser();
  root = (await ask('GET', '/api/v1/items/by-path?path=')).id;
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

for (const scheme of ['light', 'dark']) {
  for (const [screen, viewport] of [['wide', WIDE], ['narrow', NARROW]]) {
    const at = (word) => `people/${scheme}-${screen}-${word}`;
    test(`a profile is written and read by others: ${scheme}, ${screen}`, async () => {
      const login = `${scheme}-${screen}`;
      const name = `Berta ${scheme} ${screen}`;
      const berta = await ask('POST', '/api/v1/users', { login, display_name: name, password: PASSWORD });
      const page = await openPage(browser, server, { scheme, viewport });
      await signIn(page, login, PASSWORD);
      await page.goto('/people/me');
      await page.getByText('This profile is still empty').waitFor();
      await look(page, at('empty'));
      await page.goto('/account/profile');
      await page.getByLabel('Job title').fill('Head of sales');
      await page.getByLabel('Web page').fill('javascript:alert(1)');
      await page.getByLabel('About me').fill('Writes the <b>offers</b>.\n\nNot on Fridays.');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.locator('#form-fault').waitFor();
      assert.equal(await page.getByLabel('Job title').inputValue(), 'Head of sales');
      await look(page, at('refused'));
      await page.getByLabel('Web page').fill('https://example.org/berta');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Head of sales').waitFor();
      assert.ok(await page.getByText('Writes the <b>offers</b>.').isVisible());
      await page.goto('/account');
      await page.locator('#picture-file').setInputFiles({ name: 'me.svg', mimeType: 'image/png', buffer: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>') });
      await page.getByRole('button', { name: 'Upload picture' }).click();
      await page.getByText('neither PNG nor JPEG nor WebP').waitFor();
      await page.goto('/account');
      await page.locator('#picture-file').setInputFiles({ name: 'me.png', mimeType: 'image/png', buffer: png(200, 300) });
      await page.getByRole('button', { name: 'Upload picture' }).click();
      await page.getByAltText('Your picture').waitFor();
      await look(page, at('account'));
      await page.close();
      // Somebody else finds the person by the name.
      const other = await openPage(browser, server, { scheme, viewport });
      await signIn(other);
      await other.goto('/people');
      await other.getByRole('searchbox', { name: 'Login or name' }).fill(name.slice(0, -1));
      await other.keyboard.press('Enter');
      await other.getByRole('link', { name, exact: true }).waitFor();
      await look(other, at('found'));
      await other.getByRole('link', { name, exact: true }).click();
      await other.getByText('Head of sales').waitFor();
      assert.equal(new URL(other.url()).pathname, `/people/${berta.id}`);
      assert.ok(await other.locator('img.portrait').evaluate((image) => image.complete && image.naturalWidth === 200));
      assert.equal(await other.getByRole('link', { name: 'Edit profile' }).count(), 0);
      await look(other, at('person'));
      await other.close();
    });

    test(`a site and a list tell what changed in them: ${scheme}, ${screen}`, async () => {
      const name = `Tasks ${scheme} ${screen}`;
      const list = await ask('POST', `/api/v1/items/${root}/lists`, { name });
      const changes = Array.from({ length: 25 }, (_, number) => ({ set: { Title: `Task ${number}` } }));
      await ask('POST', `/api/v1/items/${list.id}/changes`, { changes });
      await server.put(`Plan ${scheme} ${screen}.txt`, 'plan');
      const page = await openPage(browser, server, { scheme, viewport });
      await signIn(page);
      await page.goto(`/browse/${encodeURIComponent(name)}`);
      await page.locator('[popovertarget="place-menu"]').click();
      await page.locator('#place-menu').getByRole('link', { name: 'Activity' }).click();
      await page.getByText('Added 25 rows').waitFor();
      await look(page, at('list-activity'));
      await page.goto(`/items/${root}/activity`);
      await page.getByRole('link', { name: `Plan ${scheme} ${screen}.txt` }).waitFor();
      assert.ok(await page.getByRole('link', { name, exact: true }).count() >= 1);
      await look(page, at('activity'));
      const feed = await server.api('GET', `/api/v1/items/${list.id}/feed`);
      const text = await feed.text();
      assert.match(feed.headers.get('content-type'), /^application\/atom\+xml/);
      assert.match(text, /<entry>/);
      await page.close();
    });
  }
}
