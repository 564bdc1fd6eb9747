// What people do to a listing that it must bear: too many files, a folder into itself, an undo after others have gone on, a
// program that is not there, the longest names. Nothing is lost, and a plain sentence says what happened.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { NARROW, WIDE, assertAccessible, assertFits, openPage, picture, signIn, startBrowser, startServer } from './rig.mjs';

let server;
let browser;
before(async () => {
  server = await startServer();
  browser = await startBrowser();
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const row = (page, name) => page.locator('tr[data-id]').filter({ has: page.locator('.item').getByRole('link', { name, exact: true }) });
const item = (path) => server.ask('GET', `/api/v1/items/by-path?path=${encodeURIComponent(`Documents/${path}`)}`);

const held = (path) => server.count(`Documents/${path}`);

test('50,000 dropped files do not freeze the page, and what is cancelled is not stored', async () => {
  await server.put('drop/first.txt', 'x');
  const page = await openPage(browser, server);
  await signIn(page);
  await page.goto('/browse/Documents/drop');
  await page.evaluate(() => {
    const files = Array.from({ length: 50_000 }, (_, at) => new File(['x'], `${String(at).padStart(5, '0')}.txt`));
    const transfer = new DataTransfer();
    for (const file of files) transfer.items.add(file);
    let last = performance.now();
    window.longest = 0;
    const watch = () => {
      const now = performance.now();
      window.longest = Math.max(window.longest, now - last);
      last = now;
      requestAnimationFrame(watch);
    };
    requestAnimationFrame(watch);
    document.querySelector('[data-upload]').dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));
  });
  const queue = page.locator('#upload-queue');
  // All are taken, and a good part of them is under way or done.
  await queue.getByText(/^Files: [1-9]\d\d of 50,000/).waitFor({ timeout: 30_000 });
  const longest = await page.evaluate(() => window.longest);
  console.log(`# longest pause after a drop of 50,000 files: ${Math.round(longest)} ms`);
  assert.ok(await queue.locator('li').count() < 200, 'rows only for what is under way');
  await assertAccessible(page);
  await picture(page, 'bad-input/many');
  await queue.getByRole('button', { name: 'Cancel all' }).click();
  // The listing is shown anew, with a note.
  await page.getByText(/files were uploaded/).waitFor();
  const stored = await held('drop');
  assert.ok(stored > 1 && stored < 50_000, `${stored} are stored`);
  await page.goto('/browse/Documents/drop');
  await row(page, '00000.txt').waitFor();
  assert.equal(await held('drop'), stored, 'nothing goes on after it was cancelled');
  await page.finish();
});

test('a folder goes neither onto nor into itself', async () => {
  await server.put('self/inner/deep.txt', 'x');
  const page = await openPage(browser, server);
  page.expectFault(/409/);
  await signIn(page);
  await page.goto('/browse/Documents');
  await row(page, 'self').locator('.item a').dragTo(row(page, 'self'));
  assert.equal((await item('self')).path, 'Documents/self');
  await row(page, 'self').focus();
  await page.keyboard.press('Control+x');
  await page.getByText('Cut: 1').or(page.getByText(/1 .*cut/i)).first().waitFor();
  await page.goto('/browse/Documents/self/inner');
  await row(page, 'deep.txt').waitFor();
  await page.keyboard.press('Control+v');
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('alert').waitFor();
  assert.match(await dialog.getByRole('alert').innerText(), /itself|inside/);
  assert.equal((await item('self/inner/deep.txt')).path, 'Documents/self/inner/deep.txt');
  await page.finish();
});

test('an undo after somebody has moved on says so, and moves nothing', async () => {
  await server.put('mine/note.txt', 'x');
  await server.put('yours/x.txt', 'x');
  await server.put('theirs/x.txt', 'x');
  const page = await openPage(browser, server);
  page.expectFault(/409/);
  await signIn(page);
  await page.goto('/browse/Documents/mine');
  await row(page, 'note.txt').focus();
  await page.keyboard.press('Control+x');
  await page.goto('/browse/Documents/yours');
  await row(page, 'x.txt').waitFor();
  await page.keyboard.press('Control+v');
  await page.getByText('Moved to “yours”').waitFor();
  const note = await item('yours/note.txt');
  await server.ask('POST', `/api/v1/items/${note.id}/move`, { to: (await item('theirs')).id });
  await page.keyboard.press('Control+z');
  await page.getByText(/not where it was moved|somewhere else|moved on/).first().waitFor();
  assert.equal((await item('theirs/note.txt')).id, note.id);
  await page.finish();
});

test('a program that does not answer leaves the page, with a sentence about what to do', async () => {
  await server.put('plan.docx', 'no real one');
  const page = await openPage(browser, server, { viewport: NARROW });
  page.expectFault(/422|ms-word|scheme/);
  await signIn(page);
  await page.goto('/browse/Documents/plan.docx');
  await page.getByRole('button', { name: 'Edit in Word' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('If nothing happens, Word is not installed').waitFor();
  await dialog.getByRole('link', { name: 'Download' }).waitFor();
  await dialog.getByRole('button', { name: 'Done' }).click();
  assert.equal(await dialog.count(), 0);
  await page.finish();
});

for (const [script, letter] of [['Latin', 'w'], ['Arabic', 'ض'], ['Chinese', '漢'], ['Thai', 'ก'], ['emoji', '😀'], ['combining', 'é']]) {
  test(`a name of 255 characters is shown, renamed and moved: ${script}`, async () => {
    const [...letters] = letter;
    const name = letter.repeat(Math.floor(251 / letters.length)) + '.txt';
    await server.put(encodeURIComponent(name), 'x');
    await server.put('names/x.txt', 'x');
    for (const viewport of [WIDE, NARROW]) {
      const page = await openPage(browser, server, { viewport });
      await signIn(page);
      await page.goto('/browse/Documents');
      await row(page, name).waitFor();
      await assertFits(page);
      await page.goto(`/browse/Documents/${encodeURIComponent(name)}`);
      await page.getByRole('heading', { level: 1, name }).waitFor();
      await assertFits(page);
      if (viewport === NARROW) await picture(page, `bad-input/name-${script}`);
      await page.finish();
    }
    const found = await item(name);
    const other = letter.repeat(Math.floor(250 / letters.length)) + 'x.txt';
    const page = await openPage(browser, server);
    await signIn(page);
    await page.goto('/browse/Documents');
    await row(page, name).focus();
    await page.keyboard.press('F2');
    await page.locator('.cell-editor input').fill(other);
    await page.keyboard.press('Enter');
    await row(page, other).waitFor();
    assert.equal((await item(other)).id, found.id);
    await row(page, other).locator('.item a').dragTo(row(page, 'names'));
    await page.getByText('Moved to “names”').waitFor();
    assert.equal((await item(`names/${other}`)).id, found.id);
    await page.finish();
  });
}
