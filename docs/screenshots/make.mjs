// Takes the pictures of README.md: builds a small farm, opens its pages in Chromium and writes
// docs/screenshots/NAME-{light,dark}.png. Run it after a change of the pages:
//
//   ./check browser                    installs what it needs and builds the server
//   node docs/screenshots/make.mjs
import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PASSWORD, openPage, signIn, startBrowser, startServer } from '../../tests/browser/rig.mjs';
import { MARKDOWN, pdf } from '../../tests/browser/samples.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const SCREEN = { width: 1280, height: 720 };

/** Sends JSON as the administrator; returns the answer's JSON. */
async function send(server, method, path, body) {
  const answer = await server.json(method, path, body);
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
  return text ? JSON.parse(text) : undefined;
}

/** Fills the farm with the documents of a small engineering office. */
async function furnish(server) {
  await send(server, 'POST', '/api/v1/users', { login: 'anna', display_name: 'Anna Berger', password: PASSWORD });
  const users = await send(server, 'GET', '/api/v1/users');
  const admin = users.items.find(({ login }) => login === 'admin');
  await send(server, 'PATCH', `/api/v1/users/${admin.id}`, { display_name: 'Clara Weber' });
  const item = (path) => send(server, 'GET', `/api/v1/items/by-path?path=${encodeURIComponent(path)}`);
  const library = await item('Documents');
  const column = async (column) => send(server, 'POST', `/api/v1/items/${library.id}/columns`, column);
  const customer = await column({ name: 'Customer', kind: 'text' });
  const state = await column({ name: 'State', kind: 'choice', choices: ['Draft', 'In review', 'Signed'] });
  for (const folder of ['Contracts/2026/Frame.pdf', 'Drawings/Bridge/Section A.pdf', 'Projects/North quay/Report.pdf']) {
    await server.put(folder.split('/').map(encodeURIComponent).join('/'), pdf(2));
  }
  const documents = [
    ['Annual report 2026.pdf', pdf(14), 'City of Bern', 'In review'],
    ['Minutes of the board.md', MARKDOWN, '', 'Signed'],
    ['Offer for the north quay.pdf', pdf(3), 'Harbour Ltd', 'Draft'],
    ['Price list.csv', `Item,Unit,Price\n${Array.from({ length: 400 }, (_, i) => `Beam ${i},m,${(i * 1.7).toFixed(2)}`).join('\n')}`, '', 'Signed'],
    ['Site plan.txt', 'North quay\nSection A: piles\nSection B: deck\n', 'Harbour Ltd', 'In review'],
  ];
  for (const [name, body, who, where] of documents) {
    await server.put(encodeURIComponent(name), body);
    const { id } = await item(`Documents/${name}`);
    await send(server, 'PATCH', `/api/v1/items/${id}/values`, { values: { [customer.id]: who || null, [state.id]: where } });
  }
  for (const [comment, text] of [
    ['Deck is wider', 'North quay\nSection A: piles, 14 m\nSection B: deck\nSection C: crane track\n'],
    ['Checked with the harbour', 'North quay\nSection A: piles, 14 m\nSection B: deck, 22 m wide\nSection C: crane track\nOpen: drainage\n'],
  ]) {
    const answer = await server.api('PUT', `/api/v1/content/Documents/${encodeURIComponent('Site plan.txt')}?comment=${encodeURIComponent(comment)}`, text);
    assert.ok(answer.ok, await answer.text());
  }
  const offer = await item('Documents/Offer for the north quay.pdf');
  await server.api('PUT', `/api/v1/items/${offer.id}/check-out`);
  await send(server, 'POST', '/api/v1/site-collections', { path: 'sites/harbour', title: 'Harbour' });
  await send(server, 'POST', '/api/v1/farm/stores', { name: 'archive', kind: 'directory', location: 'archive' });
}

const server = await startServer();
const browser = await startBrowser();
try {
  await furnish(server);
  for (const scheme of ['light', 'dark']) {
    const page = await openPage(browser, server, { scheme, viewport: SCREEN });
    await signIn(page);
    for (const [name, address] of [
      ['library', '/browse/Documents'],
      ['document', '/browse/Documents/Site%20plan.txt'],
      ['stores', '/farm/stores'],
    ]) {
      await page.goto(address, { waitUntil: 'networkidle' });
      await page.mouse.move(0, 0);
      await page.screenshot({ path: join(here, `${name}-${scheme}.png`) });
    }
    await page.finish();
  }
} finally {
  await browser.close();
  await server.stop();
}
