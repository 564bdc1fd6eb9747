// What the page of a document shows of it: pictures, PDF, text, code, Markdown, tables, sound; nothing of it runs.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import {
  NARROW, WIDE, assertAccessible, assertFits, look, openPage, picture, signIn, startBrowser, startServer,
} from './rig.mjs';
import { CODE, CSV, MARKDOWN, SVG, pdf, png, wav } from './samples.mjs';

let server;
let browser;
before(async () => {
  server = await startServer();
  browser = await startBrowser();
  const files = {
    'add.rs': CODE, 'minutes.md': MARKDOWN, 'people.csv': CSV, 'three.pdf': pdf(3), 'long.pdf': pdf(60), 'picture.png': png(640, 320),
    'drawing.svg': SVG, 'tone.wav': wav(20), 'broken.pdf': 'no pdf', 'trap.html': '<script>document.title = "ran"</script>',
  };
  for (const name of ['text.docx', 'slides.pptx', 'table.xlsx']) files[name] = readFileSync(new URL(`../../crates/search/tests/documents/${name}`, import.meta.url));
  for (const [name, body] of Object.entries(files)) await server.put(name, body);
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

/** The number of pixels of the first page of a PDF document that are not white. */
const drawn = (page) => page.locator('.pages canvas').first().evaluate((canvas) => {
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return data.filter((value, index) => index % 4 === 0 && data[index + 3] && value < 200).length;
});

for (const scheme of ['light', 'dark']) {
  for (const [screen, viewport] of [['wide', WIDE], ['narrow', NARROW]]) {
    test(`previews are readable and accessible: ${scheme}, ${screen}`, async () => {
      const page = await openPage(browser, server, { scheme, viewport });
      page.expectFault(/status of 422/);
      await signIn(page);
      for (const name of ['add.rs', 'minutes.md', 'people.csv', 'three.pdf', 'picture.png', 'drawing.svg', 'tone.wav', 'text.docx', 'slides.pptx', 'table.xlsx']) {
        // Markdown is shown as a page; its preview is on the page about it.
        await page.goto(`/browse/Documents/${name}${name.endsWith('md') ? '?details' : ''}`);
        await page.locator('.preview').first().waitFor();
        if (name.endsWith('pdf')) {
          await page.locator('.pages canvas').first().waitFor();
          await page.waitForFunction(() => document.querySelector('.pages canvas').dataset.done);
        }
        if (name.endsWith('rs')) await page.locator('.code[data-done]').waitFor();
        // Pages where the converter reads the format, else the text.
        if (/docx|pptx|xlsx/.test(name)) await page.waitForFunction(() => document.querySelector('.pages canvas')?.dataset.done || document.querySelector('[data-text][open]'));
        await picture(page, `preview-${name.split('.').pop()}-${scheme}-${screen}`);
        await assertFits(page);
        await assertAccessible(page);
        assert.notEqual(await page.title(), 'ran');
      }
      await page.finish();
    });
  }
}

test('pictures, PDF and sound are drawn and played under our policy', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  for (const name of ['picture.png', 'drawing.svg']) {
    await page.goto(`/browse/Documents/${name}`);
    await page.waitForFunction(() => document.querySelector('.preview img').naturalWidth >= 400);
  }
  await page.goto('/browse/Documents/three.pdf');
  await page.waitForFunction(() => document.querySelector('.pages canvas')?.dataset.done);
  assert.ok(await drawn(page) > 10_000);
  assert.equal(await page.getByRole('img', { name: /^Page \d of 3$/ }).count(), 3);
  // Pages far away are not kept in memory, and come back.
  await page.goto('/browse/Documents/long.pdf');
  const page1 = page.locator('.pages canvas').first();
  await page.waitForFunction(() => document.querySelector('.pages canvas')?.dataset.done);
  await page.locator('.pages canvas').last().scrollIntoViewIfNeeded();
  await page.waitForFunction(() => document.querySelector('.paper:last-child canvas').dataset.done && !document.querySelector('.pages canvas').dataset.drawn);
  await page1.scrollIntoViewIfNeeded();
  await page.waitForFunction(() => document.querySelector('.pages canvas').dataset.done);
  await page.goto('/browse/Documents/broken.pdf');
  await page.getByText('This PDF document cannot be displayed here.').waitFor();
  await page.goto('/browse/Documents/tone.wav');
  const at = await page.locator('audio').evaluate((audio) => new Promise((resolve, reject) => {
    audio.addEventListener('seeked', () => resolve(audio.currentTime));
    audio.addEventListener('error', () => reject(new Error(audio.error.message)));
    if (audio.readyState) audio.currentTime = 15;
    else audio.addEventListener('loadedmetadata', () => { audio.currentTime = 15; });
  }));
  assert.equal(at, 15);
  await page.goto('/browse/Documents/trap.html');
  await page.getByText('document.title').waitFor();
  assert.notEqual(await page.title(), 'ran');
  await page.finish();
});

test('words are found in a PDF, pages are counted and zoomed, and so are pictures', async () => {
  const page = await openPage(browser, server, { viewport: WIDE });
  await signIn(page);
  await page.goto('/browse/Documents/three.pdf');
  await page.waitForFunction(() => document.querySelector('.pages canvas')?.dataset.done);
  const tools = page.locator('.pdf-tools');
  const found = tools.locator('[data-found]').last();
  await tools.getByRole('searchbox', { name: 'Find in the document' }).fill('PÂGE');
  await found.getByText('1 of 3', { exact: true }).waitFor();
  assert.equal(await page.locator('.pages mark').count(), 3);
  await page.keyboard.press('Enter');
  await found.getByText('2 of 3', { exact: true }).waitFor();
  await page.keyboard.press('Shift+Enter');
  await found.getByText('1 of 3', { exact: true }).waitFor();
  // The mark lies on the word.
  const mark = await page.locator('.pages mark[data-here]').first().boundingBox();
  const paper = await page.locator('.paper').first().boundingBox();
  assert.ok(Math.abs((mark.x - paper.x) / paper.width - 72 / 595) < 0.02, JSON.stringify({ mark, paper }));
  assert.ok(mark.y > paper.y && mark.y < paper.y + paper.height / 4, JSON.stringify({ mark, paper }));
  await look(page, 'previews/pdf-find');
  await tools.getByRole('searchbox').fill('nowhere to be found');
  await found.getByText('Not found').waitFor();
  await tools.getByRole('textbox', { name: 'Page' }).fill('3');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelector('.paper:last-child canvas').dataset.done);
  await tools.getByRole('button', { name: 'Larger' }).click();
  await tools.getByText('125 %').waitFor();
  await page.waitForFunction((before) => document.querySelector('.paper:last-child canvas').dataset.done && document.querySelector('.paper').clientWidth > before, paper.width * 1.2);
  await tools.getByRole('button', { name: 'Smaller' }).click();
  await tools.getByText('100 %').waitFor();
  await page.goto('/browse/Documents/picture.png');
  const frame = page.locator('a.picture');
  await page.waitForFunction(() => document.querySelector('.preview img').naturalWidth === 640);
  await frame.click();
  await page.locator('a.picture.zoomed').waitFor();
  assert.equal(await frame.locator('img').evaluate((picture) => picture.width), 640);
  assert.ok(page.url().endsWith('picture.png'));
  await frame.click();
  await page.waitForFunction(() => !document.querySelector('.zoomed'));
  await page.finish();
});

test('source text is coloured, and no character of it changes', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  const coloured = page.locator('.code[data-done]');
  await page.goto('/browse/Documents/add.rs');
  await coloured.waitFor();
  const words = (name) => page.locator(`.code .hljs-${name}`).allTextContents();
  assert.deepEqual(await words('keyword'), ['fn', 'let']);
  assert.deepEqual(await words('string'), ['"a \\"string\\""']);
  assert.deepEqual(await words('number'), ['0x2a']);
  assert.deepEqual(await words('comment'), ['// Adds two numbers.', '/* and a comment', '    over lines */']);
  assert.equal(await page.locator('.code .line').count(), CODE.trimEnd().split('\n').length);
  assert.equal(await coloured.textContent(), CODE);
  const colours = await page.locator('.code .line, .code .hljs-keyword, .code .hljs-string, .code .hljs-comment').evaluateAll((all) => all.map((one) => getComputedStyle(one).color));
  assert.equal(new Set(colours).size, 4);
  // Markup in source text is text.
  await page.goto('/browse/Documents/trap.html');
  await coloured.waitFor();
  assert.deepEqual(await words('name'), ['script', 'script']);
  assert.notEqual(await page.title(), 'ran');
  await page.finish();
});

test('source text that is long or expensive to colour stays as it is, and holds up nothing', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  const long = `${'x'.repeat(119)};\n`.repeat(1_800);
  const wide = `let x = "${'x'.repeat(6_000)}";\n`;
  // A highlighter looks for the end of a string from each of these quotes again.
  const hostile = `${'\\"'.repeat(2_400)}\n`.repeat(40);
  for (const [name, body] of [['long.rs', long], ['wide.rs', wide], ['hostile.ini', hostile]]) await server.put(name, body);
  for (const [name, body] of [['long.rs', long], ['wide.rs', wide]]) {
    await page.goto(`/browse/Documents/${name}`);
    await page.locator('.code[data-shown]').waitFor();
    assert.equal(page.workers().length, 0, name);
    assert.equal(await page.locator('.code').textContent(), body);
  }
  await page.goto('/browse/Documents/hostile.ini');
  await page.locator('.code[data-shown]').waitFor();
  // The longest time between two turns of the page's own thread, until the worker has ended.
  const longest = await page.evaluate(() => new Promise((resolve) => {
    let [most, last] = [0, performance.now()];
    const begun = last;
    const turn = () => {
      const now = performance.now();
      most = Math.max(most, now - last);
      last = now;
      if (now - begun > 6_000 || document.querySelector('.code[data-done]')) resolve(most);
      else setTimeout(turn, 20);
    };
    turn();
  }));
  assert.ok(longest < 3_000, `the page stood still for ${longest} ms`);
  // Coloured or not, the worker ends.
  for (const worker of page.workers()) await worker.waitForEvent('close');
  assert.equal(await page.locator('.code').textContent(), hostile);
  await page.finish();
});

for (const [screen, viewport] of [['wide', { width: 1440, height: 900 }], ['narrow', NARROW]]) {
  test(`a listing shows its documents beside it, by keyboard alone: ${screen}`, async () => {
    const page = await openPage(browser, server, { viewport });
    await signIn(page);
    await page.goto('/browse/Documents');
    const details = async (name) => {
      const more = page.getByRole('link', { name: `More actions for ${name}` });
      await more.focus();
      await page.keyboard.press('Enter');
      await page.locator('.menu:popover-open').getByText('Details').press('Enter');
      await page.getByRole('complementary', { name }).waitFor();
      return more;
    };
    await details('minutes.md');
    await page.getByRole('heading', { name: 'Minutes of the meeting' }).waitFor();
    await picture(page, `pane-${screen}`);
    await assertFits(page);
    await assertAccessible(page);
    await page.keyboard.press('Escape');
    await details('add.rs');
    await page.locator('.pane .code[data-done] .hljs-keyword').first().waitFor();
    await page.keyboard.press('Escape');
    const more = await details('three.pdf');
    await page.waitForFunction(() => document.querySelector('.pane .pages canvas')?.dataset.done);
    await page.keyboard.press('Escape');
    await page.getByRole('complementary').waitFor({ state: 'detached' });
    assert.ok(await more.evaluate((link) => link === document.activeElement));
    await page.finish();
  });
}

test('office documents are shown as pages, and what cannot be as text', async () => {
  const page = await openPage(browser, server);
  page.expectFault(/status of 422/);
  await signIn(page);
  await page.goto('/browse/Documents/text.docx');
  await page.waitForFunction(() => document.querySelector('.pages canvas')?.dataset.done);
  assert.ok(await drawn(page) > 1_000);
  await page.getByText('Text of the document').click();
  await page.locator('.words p').first().waitFor();
  await server.put('broken.docx', 'PK\x03\x04 and nothing more');
  await page.goto('/browse/Documents/broken.docx');
  await page.getByText('This document cannot be displayed as pages.').waitFor();
  await assertAccessible(page);
  await page.finish();
});

test('previews need no script, apart from PDF, which is a link then', async () => {
  const page = await openPage(browser, server, { javaScriptEnabled: false });
  await signIn(page);
  await page.goto('/browse/Documents/minutes.md?details');
  await page.getByRole('heading', { name: 'Minutes of the meeting' }).waitFor();
  await page.goto('/browse/Documents/people.csv');
  await page.getByRole('columnheader', { name: 'City' }).waitFor();
  await page.goto('/browse/Documents/three.pdf');
  await page.locator('.preview').getByRole('link', { name: 'Open' }).waitFor();
  await page.goto('/browse/Documents/add.rs');
  assert.equal(await page.locator('.code').textContent(), CODE);
  await page.finish();
});
