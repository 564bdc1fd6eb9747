// A farm as one is after a while: people, groups, sites, documents of every kind, names that want to break out of the
// page, versions, drafts, check-outs, links, a recycle bin, jobs, and a document whose content is lost.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmodSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PASSWORD, openPage, signIn } from './rig.mjs';
import { CODE, CSV, HOSTILE_PAGE, MARKDOWN, PARTS, SVG, pdf, png, wav } from './samples.mjs';

/** A name as long as a name can be, of words. */
export const LONG = `${'A name that somebody typed without an end, '.repeat(6).slice(0, 251)}.txt`;
/** A name as long as a name can be, without a place to break it. */
export const UNBROKEN = `${'x'.repeat(251)}.txt`;
/** A name that turns the direction of text, to look like another kind. */
export const TURNED = 'invoice\u202efdp.exe';
/** A name that is markup. */
export const MARKUP = '<img src=x onerror=alert(1)> & "script" \'alert(1)\'.txt';
/** A name in Hebrew. */
export const HEBREW = 'חוזה שכירות 2026.txt';

const path = (...names) => names.map(encodeURIComponent).join('/');

/** Furnishes the farm of a server; returns identifiers and addresses of what is on it. */
export async function furnish(browser, server) {
  const ask = (method, path, body) => server.ask(method, path, body);
  const item = (words) => ask('GET', `/api/v1/items/by-path?path=${encodeURIComponent(words)}`);
  const put = (name, body) => server.put(path(...name.split('/')), body);

  const people = {};
  for (const [login, name] of [['berta', 'Berta Vogel'], ['carl', 'Carl Ångström'], ['long-login-of-a-person-with-many-names', 'Maria-Magdalena von und zu Hohenstein-Wallerstein'], ['markup', '<b>Bold</b> & "quoted"']]) {
    people[login] = await ask('POST', '/api/v1/users', { login, display_name: name, email: `${login}@example.org`, password: PASSWORD });
  }
  await ask('PATCH', `/api/v1/users/${people.carl.id}`, { disabled: true });
  const group = await ask('POST', '/api/v1/groups', { name: 'Sales and marketing', description: 'Who writes to customers' });
  await ask('POST', '/api/v1/groups', { name: '<script>alert(1)<⁄script>', description: '"quoted" & <b>bold</b>' });
  for (const login of ['berta', 'markup']) await server.json('PUT', `/api/v1/groups/${group.id}/members/${people[login].id}`);
  await ask('PUT', `/api/v1/users/${people.berta.id}/profile`, { revision: 0, job_title: 'Head of sales', department: 'Sales', office: 'Room 2.14', phone: '+49 30 1234567', web_address: 'https://example.org/berta', about: 'Writes the offers.\n\nOn Fridays only in the morning.' });
  const markup = '<img src=x onerror=alert(1)> & "quoted"';
  await ask('PUT', `/api/v1/users/${people.markup.id}/profile`, { revision: 0, job_title: markup, department: 'x'.repeat(255), office: markup, phone: markup, web_address: `https://example.org/${'y'.repeat(200)}`, about: `${markup}\n${'z'.repeat(3000)}` });
  const role = await ask('POST', '/api/v1/roles', { name: 'Drop-off', rights: ['view', 'add'] });

  for (const [name, body] of [
    ['Offers/2026/add.rs', CODE], ['Offers/2026/people.csv', CSV], ['Offers/2026/three.pdf', pdf(3)],
    ['Kinds/add.rs', CODE], ['Kinds/minutes.md', MARKDOWN], ['Kinds/people.csv', CSV], ['Kinds/three.pdf', pdf(3)], ['Kinds/broken.pdf', 'no pdf'],
    ['Kinds/picture.png', png(640, 320)], ['Kinds/drawing.svg', SVG], ['Kinds/tone.wav', wav(3)], ['Kinds/Budget.xlsx', 'no sheet'], ['Kinds/unknown.bin', Buffer.alloc(3000, 1)],
    [`Hostile/${LONG}`, 'long'], [`Hostile/${UNBROKEN}`, 'unbroken'], [`Hostile/${TURNED}`, 'turned'], [`Hostile/${MARKUP}`, 'markup'], [`Hostile/${HEBREW}`, 'hebrew'],
    ['Hostile/<b>folder<⁄b>/inside.txt', 'inside'], [`Hostile/${'Folder in folder '.repeat(12).trim()}/and deeper/and deeper still/bottom.txt`, 'bottom'],
    ['Parts.md', PARTS], ['Hostile/page.md', HOSTILE_PAGE],
    ['Plan.txt', 'one\ntwo\nthree\n'], ['Minutes of the meeting.md', MARKDOWN], ['Rental contract for the office on the river, final version with all appendices.pdf', pdf(1)],
    ['Lost.bin', randomBytes(300_000)], ['Held.txt', 'held'], ['Open.docx', ''], ['Gone.txt', 'gone'], ['Away.txt', 'away'], [`Away ${LONG}`.slice(0, 250), 'away'],
  ]) await put(name, body);
  for (let version = 2; version < 6; version += 1) await put('Plan.txt', `one\nversion ${version}\nthree\n${'more\n'.repeat(version)}`);
  await server.api('PUT', `/api/v1/content/Documents/Plan.txt?comment=${encodeURIComponent('<script>alert(1)</script> & a comment that goes on for a while, as comments do')}`, 'one\nlast\n');

  const [site, library, plan, held, open, lost] = await Promise.all(['', 'Documents', 'Documents/Plan.txt', 'Documents/Held.txt', 'Documents/Open.docx', 'Documents/Lost.bin'].map(item));
  const [partsPage, hostilePage] = await Promise.all(['Documents/Parts.md', 'Documents/Hostile/page.md'].map(item));
  const deepest = await item(`Documents/Hostile/${'Folder in folder '.repeat(12).trim()}/and deeper/and deeper still`);
  const columns = [];
  for (const column of [{ name: 'Customer', kind: 'text' }, { name: 'Amount', kind: 'number' }, { name: 'Due', kind: 'date' }, { name: 'State', kind: 'choice', choices: ['new', 'sent', 'won'] }, { name: 'Owner', kind: 'person' }, { name: 'Paid', kind: 'yes-no' }, { name: 'Page', kind: 'link' }]) {
    columns.push(await ask('POST', `/api/v1/items/${library.id}/columns`, column));
  }
  const values = ['Müller & Söhne <b>GmbH</b>', 1234.5, '2026-11-03', 'sent', people.berta.id, true, 'https://example.org/offers?a=1&b=<2>'];
  await ask('PATCH', `/api/v1/items/${plan.id}/values`, { values: Object.fromEntries(columns.map((column, at) => [column.id, values[at]])) });
  await ask('POST', `/api/v1/items/${library.id}/content-types`, { name: 'Invoice' });

  // A library with drafts, where a document must be checked out.
  const drafts = await ask('POST', `/api/v1/items/${site.id}/libraries`, { name: 'Drafts', settings: { versioning: 'major-minor', major_limit: 10 } });
  const answer = await server.api('PUT', '/api/v1/content/Drafts/Draft.md', MARKDOWN);
  assert.ok(answer.ok, await answer.text());
  const draft = await item('Drafts/Draft.md');
  await ask('POST', `/api/v1/items/${draft.id}/submit`, { comment: 'Please look at this before Monday.' });
  const empty = await ask('POST', `/api/v1/items/${site.id}/libraries`, { name: 'Empty' });
  const below = await ask('POST', `/api/v1/items/${site.id}/sites`, { name: 'projects' });
  const sales = await ask('POST', '/api/v1/site-collections', { path: 'sites/sales', title: 'Sales' });
  await ask('PATCH', `/api/v1/site-collections/${sales.id}`, { accent: 'magenta' });
  await ask('POST', '/api/v1/site-collections', { path: 'sites/legal', title: 'Legal, compliance and everything else that nobody else wants to do <b>' });

  for (const { id } of [held, plan]) await server.api('PUT', `/api/v1/items/${id}/check-out`);
  const lock = await server.api('LOCK', '/dav/Documents/Open.docx', '<?xml version="1.0"?><lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype><owner>Berta at her desk</owner></lockinfo>');
  assert.ok(lock.ok, await lock.text());
  const offers = await item('Documents/Offers');
  await ask('POST', `/api/v1/items/${offers.id}/permissions/break`, { copy: true });
  await ask('POST', `/api/v1/items/${offers.id}/permissions/grants`, { principal: group.id, role: role.id });
  for (const name of ['Gone.txt', 'Away.txt', `Away ${LONG}`.slice(0, 250)]) {
    const { id } = await item(`Documents/${name}`);
    await ask('DELETE', `/api/v1/items/${id}`);
  }

  // What only forms do: views, links, following.
  const page = await openPage(browser, server);
  await signIn(page);
  const send = async (address, fields) => {
    await page.goto('/account');
    const form = { form_token: await page.locator('input[name=form_token]').first().inputValue(), ...fields };
    const sent = await page.context().request.post(address, { form, maxRedirects: 0 });
    assert.ok(sent.status() < 400, `${address}: ${sent.status()} ${await sent.text()}`);
    return sent;
  };
  await send(`/items/${site.id}/link-rule`, { allowed: 'yes', days: '30' });
  const made = await send(`/items/${held.id}/links`, { days: '7', password: 'open sesame', uses: '5' });
  const addressIn = async (answer) => /https?:\/\/[^/]+(\/(?:s|new-password)\/[^<\s"]+)/.exec(await answer.text())[1];
  const address = await addressIn(made);
  const links = {
    folder: await addressIn(await send(`/items/${offers.id}/links`, { takes: 'no', days: '7', message: 'Please read\nbefore Friday' })),
    files: await addressIn(await send(`/items/${offers.id}/links`, { takes: 'yes', days: '7', uses: '5', password: 'open sesame' })),
    password: await addressIn(await send(`/farm/users/${people.markup.id}/password-link`, {})),
  };
  await send(`/items/${plan.id}/links`, { days: '7', password: '', uses: '' });
  await send(`/items/${plan.id}/follow`, { follow: 'yes' });
  await send(`/items/${offers.id}/follow`, { follow: 'yes' });
  await send(`/items/${library.id}/views`, { name: 'Won this year', query: 'sort=modified&group=yes', shared: 'yes' });
  await send(`/items/${library.id}/views`, { name: 'A view with a name that is longer than most', query: `cols=modified,${columns.map(({ id }) => id).join(',')}` });
  const search = await ask('POST', '/api/v1/saved-searches', { name: 'Plans of this year', query: 'plan modified:this-year', alert: 'at-once' });
  await page.finish();

  await ask('POST', '/api/v1/farm/stores', { name: 'archive', kind: 'directory', location: 'archive' });
  const ended = async (job) => {
    for (;;) {
      const now = await ask('GET', `/api/v1/farm/jobs/${job.id}`);
      if (!['waiting', 'running'].includes(now.state)) return now;
      // sleep: the interface has no way to wait for a job
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  await server.put('Not a document.docx', 'no document');
  damage(join(server.farm, 'blobs'));
  const check = await ended(await ask('POST', '/api/v1/farm/jobs', { kind: 'check' }));
  await ended(await ask('POST', '/api/v1/farm/jobs', { kind: 'collect', dry_run: true }));
  const faults = await ask('GET', '/api/v1/farm/faults');
  assert.equal(faults.items.length, 1, 'the check finds what was damaged');
  const list = await ask('POST', `/api/v1/items/${site.id}/lists`, { name: 'Tasks & <b>more', title_column: 'Task' });
  await ask('POST', `/api/v1/items/${site.id}/lists`, { name: 'Bare list' });
  for (const [name, kind, choices = []] of [['State', 'choice', ['open', 'done']], ['Due', 'date'], ['Effort', 'number'], ['Owner', 'person'], ['Sure', 'yes-no'], ['Page', 'link'], ['Note', 'note']]) {
    await ask('POST', `/api/v1/items/${list.id}/columns`, { name, kind, choices });
  }
  const filled = { State: 'open', Due: '2026-12-01', Effort: 1234567.25, Owner: people.berta.id, Sure: true, Page: 'https://example.org/a?b=1&c=2', Note: `${MARKUP}\nsecond line\n${'word '.repeat(80)}` };
  const [{ id: row }] = (await ask('POST', `/api/v1/items/${list.id}/changes`, {
    changes: [{ set: { Task: 'Call Anna', ...filled } }, ...[LONG, UNBROKEN, TURNED, MARKUP, HEBREW, '=1+1'].map((title) => ({ set: { Task: title } }))],
  })).outcomes;
  await ask('POST', `/api/v1/items/${list.id}/changes`, { changes: [{ id: row, set: { State: 'done', Task: MARKUP } }] });
  const { items: rows } = await ask('GET', `/api/v1/items/${list.id}/rows`);
  for (const [at, names] of [[0, ['Plan.txt', MARKUP, HEBREW]], [1, [LONG, UNBROKEN, TURNED]]]) {
    for (const name of names) {
      const stored = await server.api('POST', `/api/v1/items/${rows[at].id}/documents?name=${encodeURIComponent(name)}`, 'attached');
      assert.ok(stored.ok, `${name}: ${stored.status}`);
    }
  }
  const templated = await ask('POST', `/api/v1/items/${site.id}/sites`, { name: 'From a template', template: 'team' });
  server.run('site', 'template', 'save', '/Bare list', '--name', 'plans', '--site', '/');
  server.run('site', 'template', 'save', '/Bare list', '--name', 'plans', '--title', 'Plans of the farm, with a title that goes on');
  // A release build has no kit.
  const kit = (await server.api('GET', '/ui-kit')).ok;
  return { empty, deepest, partsPage, hostilePage, people, group, role, site, library, drafts, draft, below, sales, offers, plan, held, open, lost, columns, check, kit, search, list, templated, row: { id: row }, link: address, links };
}

/** Turns a bit below the farm's feet in the one document that is large enough for a file of its own. */
function damage(store) {
  const [folder] = readdirSync(join(store, 'large'));
  const [name] = readdirSync(join(store, 'large', folder));
  const file = join(store, 'large', folder, name);
  const bytes = readFileSync(file);
  bytes[150_000] ^= 1;
  chmodSync(file, 0o600);
  writeFileSync(file, bytes);
}
