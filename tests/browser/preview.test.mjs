// What the page of a document shows of it: pictures, PDF, text, code, Markdown, tables, sound; nothing of it runs.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { deflateSync } from 'node:zlib';
import {
  NARROW, WIDE, assertAccessible, assertFits, openPage, picture, signIn, startBrowser, startServer,
} from './rig.mjs';

const CODE = `// Adds two numbers.
fn add(left: u64, right: u64) -> u64 {
    let text = "a \\"string\\""; /* and a comment
    over lines */
    left + right + 0x2a
}
`;
const MARKDOWN = `# Minutes of the meeting

The **board** agreed on *three* things, see [the site](https://example.org/):

- [x] a budget
- [ ] an offer with \`code\`

| Who | What | When |
|:----|:----:|-----:|
| Anna | Offer | Monday |

> Quoted <script>document.title = "ran"</script> words.
`;
const CSV = `Name;City;Amount\n${Array.from({ length: 40 }, (_, i) => `Person ${i};"Town; ${i}";${i * 100},50`).join('\n')}\n`;

/** A PDF document with that many pages, one word on each. */
function pdf(pages) {
  const parts = [];
  const objects = ['<< /Type /Catalog /Pages 2 0 R >>', `<< /Type /Pages /Count ${pages} /Kids [${Array.from({ length: pages }, (_, i) => `${4 + 2 * i} 0 R`).join(' ')}] >>`, '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>'];
  for (let i = 0; i < pages; i++) {
    const drawing = `BT /F1 48 Tf 72 700 Td (Page ${i + 1}) Tj ET 0.1 0.5 0.4 rg 72 400 300 200 re f`;
    objects.push(`<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> /Contents ${5 + 2 * i} 0 R >>`);
    objects.push(`<< /Length ${drawing.length} >>\nstream\n${drawing}\nendstream`);
  }
  let at = 9;
  const starts = objects.map((object, i) => {
    const text = `${i + 1} 0 obj\n${object}\nendobj\n`;
    parts.push(text);
    at += text.length;
    return at - text.length;
  });
  const table = starts.map((start) => `${String(start).padStart(10, '0')} 00000 n \n`).join('');
  return `%PDF-1.4\n${parts.join('')}xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}trailer << /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${at}\n%%EOF`;
}

/** A PNG picture of one colour. */
function png(width, height) {
  const chunk = (kind, data) => {
    const body = Buffer.concat([Buffer.from(kind), data]);
    const whole = Buffer.alloc(body.length + 8);
    whole.writeUInt32BE(data.length, 0);
    body.copy(whole, 4);
    let crc = -1;
    for (const byte of body) {
      crc ^= byte;
      for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
    }
    whole.writeUInt32BE((crc ^ -1) >>> 0, body.length + 4);
    return whole;
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const row = Buffer.concat([Buffer.from([0]), Buffer.from(Array.from({ length: width }, (_, x) => [40, x % 256, 120]).flat())]);
  const data = deflateSync(Buffer.concat(Array.from({ length: height }, () => row)));
  return Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]), chunk('IHDR', head), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))]);
}

/** A tone of some seconds. */
function wav(seconds) {
  const samples = 8000 * seconds;
  const sound = Buffer.alloc(44 + samples, 128);
  sound.write('RIFF', 0);
  sound.writeUInt32LE(36 + samples, 4);
  sound.write('WAVEfmt ', 8);
  sound.writeUInt32LE(16, 16);
  sound.writeUInt16LE(1, 20);
  sound.writeUInt16LE(1, 22);
  sound.writeUInt32LE(8000, 24);
  sound.writeUInt32LE(8000, 28);
  sound.writeUInt16LE(1, 32);
  sound.writeUInt16LE(8, 34);
  sound.write('data', 36);
  sound.writeUInt32LE(samples, 40);
  for (let i = 0; i < samples; i++) sound[44 + i] = 128 + Math.round(60 * Math.sin(i / 4));
  return sound;
}

const SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="400" height="200"><script>document.title = "ran"</script><circle cx="100" cy="100" r="80" fill="teal"/></svg>';

let server;
let browser;
before(async () => {
  server = await startServer();
  browser = await startBrowser();
  const files = {
    'add.rs': CODE, 'minutes.md': MARKDOWN, 'people.csv': CSV, 'three.pdf': pdf(3), 'long.pdf': pdf(60), 'picture.png': png(640, 320),
    'drawing.svg': SVG, 'tone.wav': wav(20), 'broken.pdf': 'no pdf', 'trap.html': '<script>document.title = "ran"</script>',
  };
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
      await signIn(page);
      for (const name of ['add.rs', 'minutes.md', 'people.csv', 'three.pdf', 'picture.png', 'drawing.svg', 'tone.wav']) {
        await page.goto(`/browse/Documents/${name}`);
        await page.locator('.preview').waitFor();
        if (name.endsWith('pdf')) {
          await page.locator('.pages canvas').first().waitFor();
          await page.waitForFunction(() => document.querySelector('.pages canvas').dataset.done);
        }
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
  await page.waitForFunction(() => document.querySelector('.pages canvas:last-child').dataset.done && !document.querySelector('.pages canvas').dataset.drawn);
  await page1.scrollIntoViewIfNeeded();
  await page.waitForFunction(() => document.querySelector('.pages canvas').dataset.done);
  await page.goto('/browse/Documents/broken.pdf');
  await page.getByText('This PDF document cannot be shown here.').waitFor();
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
    const more = await details('three.pdf');
    await page.waitForFunction(() => document.querySelector('.pane .pages canvas')?.dataset.done);
    await page.keyboard.press('Escape');
    await page.getByRole('complementary').waitFor({ state: 'detached' });
    assert.ok(await more.evaluate((link) => link === document.activeElement));
    await page.finish();
  });
}

test('previews need no script, apart from PDF, which is a link then', async () => {
  const page = await openPage(browser, server, { javaScriptEnabled: false });
  await signIn(page);
  await page.goto('/browse/Documents/minutes.md');
  await page.getByRole('heading', { name: 'Minutes of the meeting' }).waitFor();
  await page.goto('/browse/Documents/people.csv');
  await page.getByRole('columnheader', { name: 'City' }).waitFor();
  await page.goto('/browse/Documents/three.pdf');
  await page.locator('.preview').getByRole('link', { name: 'Open' }).waitFor();
  await page.finish();
});
