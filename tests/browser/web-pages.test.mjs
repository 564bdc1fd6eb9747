// Pages: a new one, written with the tools of the editor, with parts and a picture, previewed, saved, saved by two at once, and
// made the home page of its site.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  NARROW, PASSWORD, WIDE, fillForm, look, openPage, signIn, startBrowser, startServer,
} from './rig.mjs';
import { png } from './samples.mjs';

let server;
let browser;
before(async () => {
  server = await startServer();
  browser = await startBrowser();
  await server.json('POST', '/api/v1/users', { login: 'berta', display_name: 'Berta', password: PASSWORD });
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const editor = (page) => page.getByRole('textbox', { name: 'Text', exact: true });
const tool = (page, name) => page.getByRole('toolbar').getByRole('button', { name, exact: true });
const article = (page) => page.locator('article.page');

/** Makes a page in the library Documents, and stays in its editor. */
async function newPage(page, title) {
  await page.goto('/browse/Documents');
  await page.getByRole('link', { name: 'New page' }).click();
  await fillForm(page, { Title: title }, 'Create and edit');
  await page.getByRole('heading', { name: `Edit ${title}.md` }).waitFor();
}

async function stored(path) {
  return (await server.api('GET', `/api/v1/content/Documents/${encodeURIComponent(path)}`)).text();
}

for (const scheme of ['light', 'dark']) {
  for (const [screen, viewport] of [['wide', WIDE], ['narrow', NARROW]]) {
    test(`a page is written and read: ${scheme}, ${screen}`, async () => {
      const title = `Moving ${scheme} ${screen}`;
      const at = (name) => `${scheme}-${screen}-${name}`;
      await server.put(`plan-${scheme}-${screen}.png`, png(640, 320));
      const page = await openPage(browser, server, { scheme, viewport });
      await signIn(page);
      await newPage(page, title);
      assert.equal(await editor(page).inputValue(), `+++\ntitle = "${title}"\n+++\n\n`);
      await editor(page).press('Control+End');
      await tool(page, 'Heading').click();
      await page.keyboard.type('When');
      await page.keyboard.press('Enter');
      await page.keyboard.press('Enter');
      await page.keyboard.press('Control+b');
      await page.keyboard.type('On Friday');
      await page.keyboard.press('Control+b');
      await page.keyboard.press('End');
      await page.keyboard.press('Enter');
      await page.keyboard.press('Enter');
      await tool(page, 'Bulleted list').click();
      await page.keyboard.type('boxes');
      await page.keyboard.press('Enter');
      await page.keyboard.type('keys');
      await page.keyboard.press('Enter');
      await page.keyboard.press('Enter');
      await page.keyboard.type(`\n![The plan](plan-${scheme}-${screen}.png)\n\n[Everything](.)\n`);
      await tool(page, 'Insert part').click();
      await page.getByRole('button', { name: /^Documents/ }).click();
      const text = await editor(page).inputValue();
      assert.ok(text.includes('## When\n\n**On Friday**\n\n- boxes\n- keys\n'), text);
      assert.ok(text.includes('```part-documents\nfrom = "Documents"\nlimit = 5\n```\n'), text);
      if (screen === 'narrow') await tool(page, 'Preview').click();
      await page.locator('[data-seen] h2', { hasText: 'When' }).waitFor();
      await page.locator('[data-seen]').getByRole('link', { name: `${title}.md` }).waitFor();
      await look(page, `web-pages/${at('editor')}`);
      await page.keyboard.press('Control+s');
      await page.getByRole('heading', { name: title, level: 1 }).waitFor();
      await article(page).getByRole('heading', { name: 'When', level: 2 }).waitFor();
      const picture = article(page).getByRole('img', { name: 'The plan' });
      await picture.scrollIntoViewIfNeeded();
      await page.waitForFunction((image) => image.complete && image.naturalWidth > 0, await picture.elementHandle());
      assert.equal(await article(page).getByRole('link', { name: 'Everything' }).getAttribute('href'), '/browse/Documents');
      await look(page, `web-pages/${at('page')}`);
      assert.equal(await stored(`${title}.md`), text);
      await page.finish();
    });
  }
}

test('all parts are shown to those who may see what they name', async () => {
  await server.put('parts.md', [
    '# Parts', '```part-contents\n```', '## Searching', '```part-search\n```', '## People', '```part-people\npeople = ["admin", "berta", "nobody"]\n```',
    '## Recent', '```part-recent\nlimit = 3\n```', '## Found', '```part-query\nquery = "type:md"\ntitle = "Markdown"\n```',
    '## Wrong', '```part-list\nfrom = "Nowhere"\n```', '```part-list\nfrom = "Documents"\n```', '```part-clock\n```', '```part-documents\nfrom = 7\n```',
    '```part-recent\nlimt = 7\n```',
    '<script>document.title = "taken"</script>', '![x](https://example.org/x.png)',
  ].join('\n\n'));
  const page = await openPage(browser, server);
  await signIn(page);
  await page.goto('/browse/Documents/parts.md');
  await page.getByRole('heading', { name: 'Parts', level: 1 }).waitFor();
  assert.deepEqual(await page.getByRole('navigation', { name: 'Contents' }).getByRole('link').allTextContents(), ['Searching', 'People', 'Recent', 'Found', 'Wrong']);
  assert.deepEqual(await page.locator('.people strong').allTextContents(), ['Administrator', 'Berta']);
  assert.deepEqual(await page.locator('.note.part').allTextContents(), [
    'The part “list” cannot be shown. There is nothing at the path in from, or you may not see it.',
    'The part “list” cannot be shown. In from must be the path of a list.',
    'The part “clock” cannot be shown. There is no part called “clock”.',
    'The part “documents” cannot be shown. Its settings cannot be read: invalid type: integer `7`, expected a string',
    'The part “recent” cannot be shown. There is no setting called “limt”.',
  ]);
  await page.getByText('Not found, or not unique: nobody').waitFor();
  // The index follows by itself.
  const found = page.locator('.part', { hasText: 'Markdown' }).getByRole('link', { name: 'parts.md' });
  for (const deadline = Date.now() + 30_000; !await found.count(); await page.reload()) {
    assert.ok(Date.now() < deadline, 'the search does not find the page');
  }
  await look(page, 'web-pages/parts');
  await page.getByRole('searchbox', { name: 'Search' }).last().fill('parts');
  await page.locator('form.part').getByRole('button', { name: 'Search' }).click();
  await page.waitForURL(/\/search\?/);
  await page.finish();
});

test('a part shows groups, widths and totals as the view of its list does', async () => {
  const ask = (method, path, body) => server.ask(method, `/api/v1/items/${path}`, body);
  const root = (await (await server.api('GET', '/api/v1/items/by-path?path=')).json()).id;
  const list = await ask('POST', `${root}/lists`, { name: 'Costs', title_column: 'Cost' });
  const state = await ask('POST', `${list.id}/columns`, { name: 'State', kind: 'choice', choices: ['open', 'paid'] });
  const sum = await ask('POST', `${list.id}/columns`, { name: 'Sum', kind: 'number' });
  const due = await ask('POST', `${list.id}/columns`, { name: 'Due', kind: 'date' });
  const columns = (await (await server.api('GET', `/api/v1/items/${list.id}/columns`)).json()).items;
  const title = columns.find(({ role }) => role === 'title').id;
  for (const [name, of, number] of [['Rent', 'paid', 1200.5], ['Light', 'open', 40], ['Water', 'open', 60]]) {
    await ask('POST', `${list.id}/rows`, { values: { [title]: name, [state.id]: of, [sum.id]: number } });
  }
  const page = await openPage(browser, server);
  await signIn(page);
  const query = `sort=${state.id}&group=yes&cols=${sum.id}:200,${state.id}:160&totals=${sum.id}:sum`;
  await page.goto(`/browse/Costs?${query}`);
  await page.getByRole('link', { name: 'Save view' }).click();
  await fillForm(page, { Name: 'By state' }, 'Save');
  await page.locator('.tabs a[aria-current]').getByText('By state').waitFor();
  // A condition that cannot be met in this language is said, and does not pass for the whole list.
  await page.goto(`/browse/Costs?sort=name&f-${due.id}=sometime`);
  await page.getByRole('link', { name: 'Save view' }).click();
  await fillForm(page, { Name: 'Odd' }, 'Save');
  await page.locator('.tabs a[aria-current]').getByText('Odd').waitFor();
  await server.put('costs.md', '```part-list\nfrom = "Costs"\nview = "by state"\n```\n\n```part-list\nfrom = "Costs"\nview = "Odd"\n```\n');
  await page.goto('/browse/Documents/costs.md');
  const part = page.locator('.part').first();
  assert.deepEqual(await part.locator('tr.group').allTextContents(), ['open', 'paid']);
  assert.match(await part.locator('tfoot').textContent(), /Totals\s*Sum 1,300\.5/);
  assert.deepEqual(await part.locator('thead th').allTextContents(), ['Cost', 'Sum', 'State']);
  await page.locator('.part').nth(1).locator('.note').getByText('sometime').waitFor();
  await look(page, 'web-pages/groups-and-totals');
  await part.getByRole('link', { name: 'Costs' }).click();
  await page.waitForURL(/view=/);
  await page.finish();
});

test('two people save one page', async () => {
  await server.put('Two.md', 'first\n');
  const page = await openPage(browser, server);
  page.expectFault(/Failed to load resource/);
  await signIn(page);
  await page.goto('/browse/Documents/Two.md');
  await page.getByRole('link', { name: 'Edit' }).click();
  await editor(page).fill('mine\n');
  await server.put('Two.md', 'theirs\n');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Somebody else has saved this document').waitFor();
  assert.equal(await editor(page).inputValue(), 'mine\n');
  assert.equal(await stored('Two.md'), 'theirs\n');
  await look(page, 'web-pages/overtaken');
  await page.getByRole('button', { name: 'Replace with my version' }).click();
  await article(page).getByText('mine').waitFor();
  assert.equal(await stored('Two.md'), 'mine\n');
  await page.finish();
});

test('a page is the home page of its site', async () => {
  await server.put('Welcome.md', '# Welcome\n\nHello.\n');
  const page = await openPage(browser, server);
  await signIn(page);
  await page.goto('/browse/Documents/Welcome.md');
  await page.getByRole('button', { name: 'More' }).first().click();
  await page.getByRole('button', { name: /^Make this the home page of/ }).click();
  await page.waitForURL((url) => url.pathname === '/browse');
  await article(page).getByText('Hello.').waitFor();
  await look(page, 'web-pages/home');
  await page.getByRole('link', { name: 'All contents' }).click();
  await page.locator('#main').getByRole('heading', { name: 'Libraries' }).waitFor();
  await page.getByRole('link', { name: 'Home page' }).click();
  await article(page).getByText('Hello.').waitFor();
  await page.getByRole('button', { name: 'More' }).first().click();
  await page.getByRole('button', { name: 'No longer use as home page' }).click();
  await page.locator('#main').getByRole('heading', { name: 'Libraries' }).waitFor();
  await page.finish();
});

test('a draft is submitted, rejected, changed and approved', async () => {
  const [berta, roles] = [(await (await server.api('GET', '/api/v1/users')).json()).items.find(({ login }) => login === 'berta'), (await (await server.api('GET', '/api/v1/roles')).json()).items];
  const site = await (await server.api('GET', '/api/v1/items/by-path?path=')).json();
  const made = await server.json('POST', `/api/v1/items/${site.id}/libraries`, { name: 'News', settings: { versioning: 'major-minor', require_approval: true } });
  const library = await made.json();
  await server.json('POST', `/api/v1/items/${library.id}/permissions/break`, { copy: true });
  await server.json('POST', `/api/v1/items/${library.id}/permissions/grants`, { principal: berta.id, role: roles.find(({ name }) => name === 'Contribute').id });
  const author = await openPage(browser, server);
  await signIn(author, 'berta');
  await author.goto('/browse/News');
  await author.getByRole('link', { name: 'New page' }).click();
  await fillForm(author, { Title: 'Opening hours' }, 'Create and edit');
  await editor(author).press('Control+End');
  await author.keyboard.type('From nine.');
  await author.getByRole('button', { name: 'Save draft' }).click();
  await author.getByRole('link', { name: 'Submit for approval' }).click();
  await fillForm(author, { Comment: 'Please look' }, 'Submit for approval');
  await author.getByText('Berta has submitted this draft for approval.').waitFor();
  await look(author, 'web-pages/submitted');
  const decider = await openPage(browser, server);
  await signIn(decider);
  const waiting = decider.getByRole('region', { name: 'Waiting for your approval' });
  await waiting.getByRole('link', { name: 'Opening hours.md' }).click();
  await decider.getByText('Please look').waitFor();
  await look(decider, 'web-pages/to-decide');
  await decider.getByRole('link', { name: 'Reject' }).click();
  await fillForm(decider, { Reason: 'Until when?' }, 'Reject');
  await decider.getByText('Administrator has rejected this draft.').waitFor();
  await author.reload();
  await author.getByText('Until when?').waitFor();
  assert.ok((await server.api('PUT', '/api/v1/content/News/door.png', png(9, 9))).ok);
  await author.getByRole('link', { name: 'Edit' }).click();
  await editor(author).press('Control+End');
  await author.keyboard.type(' Until five.\n\n![The door](door.png)');
  await author.keyboard.press('Control+s');
  await author.getByRole('link', { name: 'Submit for approval' }).click();
  await fillForm(author, {}, 'Submit for approval');
  await author.getByText('Berta has submitted this draft for approval.').waitFor();
  await decider.reload();
  await article(decider).getByText('From nine. Until five.').waitFor();
  // The picture is still a draft, which both are told.
  for (const page of [author, decider]) {
    await page.getByText('because they are drafts').getByRole('link', { name: 'door.png' }).waitFor();
    await look(page, 'web-pages/draft-picture');
  }
  await decider.locator('.note', { hasText: 'because they are drafts' }).getByRole('button', { name: 'Publish' }).click();
  await decider.getByRole('status').getByText('Published').waitFor();
  assert.equal(await decider.getByText('because they are drafts').count(), 0);
  await decider.getByRole('textbox', { name: 'Comment on approval' }).fill('Well said');
  await decider.getByRole('button', { name: 'Approve and publish' }).click();
  await decider.getByText('1.0').first().waitFor();
  assert.equal(await decider.locator('.badge', { hasText: 'Draft' }).count(), 0);
  await author.reload();
  assert.equal(await author.getByText('has submitted').count(), 0);
  const page = await (await server.api('GET', '/api/v1/items/by-path?path=News%2FOpening%20hours.md')).json();
  const versions = await (await server.api('GET', `/api/v1/items/${page.id}/versions`)).json();
  assert.ok(versions.items.some(({ comment }) => comment === 'Well said'), JSON.stringify(versions));
  await author.finish();
  await decider.finish();
});

test('the preview is no part of the form, and marks are told apart', async () => {
  await server.put('Box.md', '```part-search\n```\n');
  const page = await openPage(browser, server);
  await signIn(page);
  await page.goto('/browse/Documents/Box.md');
  await page.getByRole('link', { name: 'Edit' }).click();
  await page.locator('[data-seen] form').waitFor();
  await editor(page).press('Control+End');
  await page.keyboard.type('\n**x**');
  await editor(page).evaluate((area) => area.setSelectionRange(area.value.length - 3, area.value.length - 2));
  await page.keyboard.press('Control+i');
  assert.ok((await editor(page).inputValue()).endsWith('\n***x***'));
  await page.keyboard.press('Control+b');
  assert.ok((await editor(page).inputValue()).endsWith('\n*x*'));
  await tool(page, 'Insert part').click();
  await page.getByRole('button', { name: /^List/ }).click();
  await page.keyboard.type('Mine');
  assert.ok((await editor(page).inputValue()).includes('```part-list\nfrom = "Mine"\nlimit = 5\n```\n'));
  const asked = page.waitForEvent('dialog');
  const leaving = page.locator('[data-seen]').getByRole('button', { name: 'Search' }).click({ noWaitAfter: true });
  await (await asked).dismiss();
  await leaving;
  assert.equal(await stored('Box.md'), '```part-search\n```\n');
  await page.getByLabel('Comment').press('Enter');
  await page.waitForURL(/Box\.md/);
  assert.ok((await stored('Box.md')).includes('*x*'));
  await page.finish();
});

test('a text outlives its session', async () => {
  await server.put('Long.md', 'text\n');
  const page = await openPage(browser, server);
  page.expectFault(/Failed to load resource/);
  await signIn(page);
  await page.goto('/browse/Documents/Long.md');
  await page.getByRole('link', { name: 'Edit' }).click();
  const long = 'a word and another one\n'.repeat(3000);
  // As pasting does; typing so much takes the browser long.
  await editor(page).evaluate((area, text) => { area.value = text; area.dispatchEvent(new Event('input')); }, long);
  await page.context().clearCookies();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.waitForLoadState();
  assert.equal(await stored('Long.md'), 'text\n');
  await signIn(page);
  await page.goto('/browse/Documents/Long.md');
  await page.getByRole('link', { name: 'Edit' }).click();
  assert.equal(await editor(page).inputValue(), 'text\n');
  await look(page, 'web-pages/kept');
  await page.getByRole('button', { name: 'Use that text' }).click();
  assert.equal(await editor(page).inputValue(), long);
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await article(page).waitFor();
  assert.equal(await stored('Long.md'), long);
  await page.getByRole('link', { name: 'Edit' }).click();
  await editor(page).waitFor();
  assert.equal(await page.locator('[data-kept]').isVisible(), false);
  await page.finish();
});

test('what was typed is not lost by leaving, and no script is needed', async () => {
  await server.put('Leave.md', 'text\n');
  const page = await openPage(browser, server);
  await signIn(page);
  await page.goto('/browse/Documents/Leave.md');
  await page.getByRole('link', { name: 'Edit' }).click();
  await editor(page).fill('changed\n');
  // What was typed before the script came counts too.
  await page.getByRole('toolbar').waitFor();
  const asked = page.waitForEvent('dialog');
  const leaving = page.getByRole('link', { name: 'Home', exact: true }).click({ noWaitAfter: true });
  const dialog = await asked;
  assert.equal(dialog.type(), 'beforeunload');
  await dialog.dismiss();
  await leaving;
  assert.equal(await editor(page).inputValue(), 'changed\n');
  await page.finish();
  const plain = await openPage(browser, server, { javaScriptEnabled: false });
  await signIn(plain);
  await plain.goto('/browse/Documents/Leave.md');
  await plain.getByRole('link', { name: 'Edit' }).click();
  await editor(plain).fill('plain\n');
  await plain.getByRole('button', { name: 'Save', exact: true }).click();
  await article(plain).getByText('plain').waitFor();
  await plain.finish();
});

test('links and pictures are found by name, stored beside the page, and pasted', async () => {
  await server.put('Floor plan (new).png', png(64, 32));
  await server.put('Moving checklist.txt', 'x');
  const page = await openPage(browser, server);
  await signIn(page);
  await newPage(page, 'Picked');
  await editor(page).fill('See the list.');
  const select = (word) => editor(page).evaluate((area, text) => {
    const at = area.value.indexOf(text);
    area.focus();
    area.setSelectionRange(at, at + text.length);
  }, word);
  const field = page.getByRole('combobox', { name: 'Link to' });
  // By keyboard: the selected text is looked for, and stays as the label.
  await select('the list');
  await page.keyboard.press('Control+k');
  await field.fill('checklist');
  await page.getByRole('option', { name: /Moving checklist\.txt/ }).waitFor();
  await look(page, 'web-pages/picker');
  const enter = async (box) => {
    await page.keyboard.press('Enter');
    await box.waitFor({ state: 'detached' });
    await page.waitForFunction(() => document.activeElement.name === 'text');
  };
  await enter(field);
  assert.equal(await editor(page).inputValue(), 'See [the list](Moving%20checklist.txt).');
  // An address, and leaving without a choice.
  await page.keyboard.press('Control+End');
  await tool(page, 'Link').click();
  await field.fill('https://example.org/a');
  await enter(field);
  await page.keyboard.type('there');
  await page.keyboard.press('Control+End');
  await tool(page, 'Link').click();
  await page.keyboard.press('Escape');
  await field.waitFor({ state: 'detached' });
  assert.ok((await editor(page).inputValue()).endsWith('.[there](https://example.org/a)'));
  assert.ok(await editor(page).evaluate((area) => area === document.activeElement));
  // Pictures only, with parentheses in the name.
  await editor(page).fill('');
  await tool(page, 'Picture').click();
  const pictures = page.getByRole('combobox', { name: 'Picture' });
  await pictures.fill('floor plan');
  await page.getByRole('option', { name: /Floor plan/ }).waitFor();
  await enter(pictures);
  assert.equal(await editor(page).inputValue(), '![Floor plan (new).png](Floor%20plan%20%28new%29.png)');
  // Stored from the picker, then pasted under the same name.
  await tool(page, 'Picture').click();
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Upload a picture' }).click();
  await (await chooser).setFiles({ name: 'sofa.png', mimeType: 'image/png', buffer: png(8, 8) });
  await page.waitForFunction(() => document.querySelector('textarea[name=text]').value.endsWith('![sofa.png](sofa.png)'));
  await editor(page).evaluate((area, bytes) => {
    const data = new DataTransfer();
    data.items.add(new File([new Uint8Array(bytes)], 'sofa.png', { type: 'image/png' }));
    area.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
  }, [...png(9, 9)]);
  await page.waitForFunction(() => document.querySelector('textarea[name=text]').value.endsWith('![sofa (2).png](sofa%20%282%29.png)'));
  const dropped = await editor(page).evaluate((area) => {
    const data = new DataTransfer();
    data.items.add(new File(['x'], 'notes.txt', { type: 'text/plain' }));
    const drag = (name) => area.dispatchEvent(new DragEvent(name, { dataTransfer: data, bubbles: true, cancelable: true }));
    return [drag('dragover'), drag('drop')];
  });
  // Both are taken, so that the browser does not open the file.
  assert.deepEqual(dropped, [false, false]);
  await page.waitForFunction(() => document.querySelector('textarea[name=text]').value.includes('[notes.txt](notes.txt)'));
  await page.keyboard.press('Control+s');
  await page.getByRole('heading', { name: 'Picked', level: 1 }).waitFor();
  for (const name of ['Floor plan (new).png', 'sofa.png', 'sofa (2).png']) {
    const picture = article(page).getByRole('img', { name, exact: true });
    await page.waitForFunction((image) => image.complete && image.naturalWidth > 0, await picture.elementHandle());
  }
  await page.finish();
});
