// The page of a link, as somebody without an account uses it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openPage, picture, startBrowser, startServer } from './rig.mjs';

let server;
let browser;
let link;
before(async () => {
  server = await startServer();
  browser = await startBrowser();
  await server.put('Offer.txt', 'For your eyes only.');
  const find = async (path) => (await server.api('GET', `/api/v1/items/by-path?path=${path}`)).json();
  const root = await find('Documents');
  const allowed = await server.json('PUT', `/api/v1/site-collections/${root.site_collection}/link-rule`, { most_days: 30 });
  assert.ok(allowed.ok, await allowed.text());
  const made = await server.json('POST', `/api/v1/items/${(await find('Documents/Offer.txt')).id}/links`, { days: 7, password: 'open sesame' });
  assert.ok(made.ok, `${made.status}`);
  link = (await made.json()).path;
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

test('the error of a wrong password goes when the form is sent again', async () => {
  const page = await openPage(browser, server);
  page.expectFault(/40[0139]|422/);
  await page.goto(link);
  await page.getByLabel('Password').fill('wrong');
  await page.getByRole('button', { name: 'Download' }).click();
  await page.getByRole('alert').waitFor();
  await picture(page, 'link-wrong');
  await page.getByLabel('Password').fill('open sesame');
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download' }).click()]);
  assert.equal(download.suggestedFilename(), 'Offer.txt');
  await assert.doesNotReject(page.getByRole('alert').waitFor({ state: 'detached' }));
  await picture(page, 'link-right');
  await page.finish();
});
