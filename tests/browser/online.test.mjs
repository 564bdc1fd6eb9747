// Editing in the browser in the editor of an office server: one of our own, which speaks WOPI to the server.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { NARROW, WIDE, assertAccessible, assertFits, openPage, picture, signIn, startBrowser, startServer } from './rig.mjs';

let server;
let browser;
let office;
let url;
const opened = [];

const PAGE = `<!doctype html><title>Editor</title><button id="save">Save</button> <button id="close">Close</button>
<script>
const say = (MessageId, Values = {}) => parent.postMessage(JSON.stringify({ MessageId, Values }), '*');
addEventListener('message', (event) => { document.title = JSON.parse(event.data).MessageId; });
document.getElementById('save').onclick = async () => { await fetch('/save', { method: 'POST' }); document.body.append('saved'); };
document.getElementById('close').onclick = () => say('UI_Close');
say('App_LoadingStatus', { Status: 'Frame_Ready' });
</script>`;

/** A request to the server as the office server sends it. */
const wopi = ({ source, token }, method, path, fields, body) =>
  fetch(`${source}${path}?access_token=${token}`, { method, body, headers: fields });

before(async () => {
  office = createServer(async (request, answer) => {
    const address = new URL(request.url, url);
    if (address.pathname === '/hosting/discovery') {
      const action = `<action ext="docx" name="edit" urlsrc="${url}/editor?"/>`;
      return answer.end(`<wopi-discovery><net-zone><app name="writer">${action}</app></net-zone></wopi-discovery>`);
    }
    if (address.pathname === '/editor') {
      let body = '';
      for await (const part of request) body += part;
      const fields = new URLSearchParams(body);
      const one = { source: address.searchParams.get('WOPISrc'), token: fields.get('access_token'), language: address.searchParams.get('lang'), until: Number(fields.get('access_token_ttl')) };
      one.info = await (await wopi(one, 'GET', '', {})).json();
      await wopi(one, 'POST', '', { 'x-wopi-override': 'LOCK', 'x-wopi-lock': 'ours' });
      opened.push(one);
      answer.setHeader('content-type', 'text/html');
      return answer.end(PAGE);
    }
    if (address.pathname === '/save') {
      const stored = await wopi(opened.at(-1), 'POST', '/contents', { 'x-wopi-override': 'PUT', 'x-wopi-lock': 'ours' }, 'edited');
      answer.statusCode = stored.status;
      return answer.end();
    }
    answer.statusCode = 404;
    return answer.end();
  });
  await new Promise((resolve) => office.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${office.address().port}`;
  server = await startServer({ STRONGROOM_OFFICE_URL: url });
  browser = await startBrowser();
  await server.put('plan.docx', 'first');
  await server.put('notes.txt', 'text');
});
after(async () => {
  await browser?.close();
  await server?.stop();
  office?.close();
});

/** Opens the page of a document; the server learns at the first page what the office server edits. */
async function pageOf(page, name) {
  await page.goto(`/browse/Documents/${name}`);
  await assert.doesNotReject(async () => {
    for (let tries = 0; tries < 50; tries += 1) {
      if (await page.getByRole('button', { name: 'Edit in the browser' }).count()) return;
      await page.reload();
    }
    throw new Error('the office server is not known');
  });
}

for (const [scheme, viewport] of [['light', WIDE], ['dark', NARROW]]) {
  test(`a document is edited in the page, saved and left: ${scheme}`, async () => {
    const page = await openPage(browser, server, { scheme, viewport });
    page.expectFault(new RegExp(`the page asks ${url}/(editor|save|favicon)`));
    page.expectFault(/404|422/);
    await signIn(page);
    await pageOf(page, 'plan.docx');
    await page.getByRole('button', { name: 'Edit in the browser' }).click();
    const editor = page.frameLocator('iframe[name=editor]');
    await editor.getByRole('button', { name: 'Save' }).waitFor();
    await page.waitForFunction(() => document.title.startsWith('plan.docx'));
    assert.equal(await page.frame({ name: 'editor' }).title(), 'Host_PostmessageReady');
    await assertFits(page);
    await assertAccessible(page);
    await picture(page, `online/${scheme}`);
    const { info, language, until } = opened.at(-1);
    assert.equal(info.BaseFileName, 'plan.docx');
    assert.equal(info.UserFriendlyName, 'Administrator');
    assert.equal(language, 'en');
    assert.ok(until > Date.now() && until < Date.now() + 25 * 3600 * 1000);
    await editor.getByRole('button', { name: 'Save' }).click();
    await editor.getByText('saved').waitFor();
    const stored = await server.api('GET', '/api/v1/content/Documents/plan.docx');
    assert.equal(await stored.text(), 'edited');
    await editor.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('heading', { level: 1, name: 'plan.docx' }).waitFor();
    await page.getByText('Open for editing by Administrator').waitFor();
    await wopi(opened.at(-1), 'POST', '', { 'x-wopi-override': 'UNLOCK', 'x-wopi-lock': 'ours' });
    await page.finish();
  });
}

test('what the office server does not edit is not offered, and its menu is that of the kind', async () => {
  const page = await openPage(browser, server);
  page.expectFault(/422/);
  await signIn(page);
  await pageOf(page, 'plan.docx');
  await page.goto('/browse/Documents');
  await page.getByRole('link', { name: 'More actions for notes.txt' }).click();
  assert.equal(await page.locator('.menu.of-row').getByRole('button', { name: 'Edit in the browser' }).count(), 0);
  await page.keyboard.press('Escape');
  await page.getByRole('link', { name: 'More actions for plan.docx' }).click();
  await page.locator('.menu.of-row').getByRole('button', { name: 'Edit in the browser' }).waitFor();
  await page.finish();
});
