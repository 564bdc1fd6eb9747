// Documents of every kind that a page shows, small and made here.
import { deflateSync } from 'node:zlib';

/** Rust with all that is coloured. */
export const CODE = `// Adds two numbers.
fn add(left: u64, right: u64) -> u64 {
    let text = "a \\"string\\""; /* and a comment
    over lines */
    left + right + 0x2a
}
`;
/** Markdown with a table, a list and script that must not run. */
export const MARKDOWN = `# Minutes of the meeting

The **board** agreed on *three* things, see [the site](https://example.org/):

- [x] a budget
- [ ] an offer with \`code\`

| Who | What | When |
|:----|:----:|-----:|
| Anna | Offer | Monday |

> Quoted <script>document.title = "ran"</script> words.
`;
/** A page with a part of each kind. */
export const PARTS = ['+++', 'title = "A page with parts"', '+++', 'Words before the parts, with a picture: ![A picture](Kinds/picture.png) and one that is not there: ![Nothing](nothing.png)',
  '```part-contents', '```', '## A box that searches', '```part-search', '```', '## Documents and rows', '```part-documents', 'from = "Documents"', 'limit = 5', '```',
  '```part-list', 'from = "Bare list"', '```', '## Found', '```part-recent', 'limit = 3', '```', '```part-query', 'query = "minutes"', 'title = "Minutes"', '```',
  '## People', '```part-people', 'people = ["admin", "berta", "Sales and marketing", "nobody"]', '```', '## A part that cannot be shown', '```part-list', 'from = "Nowhere"', '```', ''].join('\n');
/** A page that wants to break out, and one that is too wide. */
export const HOSTILE_PAGE = ['+++', 'title = "<script>document.title = \\"ran\\"</script>"', 'broken = ', '+++', '# <img src=x onerror=alert(1)>', '<script>document.title = "ran"</script>', '[link](javascript:alert(1)) ![x](https://example.org/x.png)',
  `${'x'.repeat(400)}`, '```part-<b>bold</b>', '```', '```part-people', 'title = "<b>bold</b>"', `people = ["${'y'.repeat(300)}"]`, '```', `| ${'wide | '.repeat(30)}`, `|${'---|'.repeat(30)}`, `| ${'z | '.repeat(30)}`, '', '```', `${'code '.repeat(200)}`, '```', ''].join('\n\n').replaceAll('|\n\n|', '|\n|');
/** A table of forty people. */
export const CSV = `Name;City;Amount\n${Array.from({ length: 40 }, (_, i) => `Person ${i};"Town; ${i}";${i * 100},50`).join('\n')}\n`;

/** A PDF document with that many pages, one word on each. */
export function pdf(pages) {
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
export function png(width, height) {
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
export function wav(seconds) {
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

/** A drawing with script that must not run. */
export const SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="400" height="200"><script>document.title = "ran"</script><circle cx="100" cy="100" r="80" fill="teal"/></svg>';

/** A TIFF picture of one colour, without compression. */
export function tiff(width, height) {
  const pixels = Buffer.alloc(width * height * 3, 120);
  const entries = [[256, 4, 1, width], [257, 4, 1, height], [258, 3, 3, 0], [259, 3, 1, 1], [262, 3, 1, 2], [273, 4, 1, 0], [277, 3, 1, 3], [278, 4, 1, height], [279, 4, 1, pixels.length]];
  const directory = 8;
  const bits = directory + 2 + entries.length * 12 + 4;
  const strip = bits + 6;
  const head = Buffer.alloc(strip);
  head.write('II', 0, 'latin1');
  head.writeUInt16LE(42, 2);
  head.writeUInt32LE(directory, 4);
  head.writeUInt16LE(entries.length, directory);
  entries.forEach(([tag, kind, count, value], at) => {
    const start = directory + 2 + at * 12;
    head.writeUInt16LE(tag, start);
    head.writeUInt16LE(kind, start + 2);
    head.writeUInt32LE(count, start + 4);
    head.writeUInt32LE({ 258: bits, 273: strip }[tag] ?? value, start + 8);
  });
  for (const at of [0, 2, 4]) head.writeUInt16LE(8, bits + at);
  return Buffer.concat([head, pixels]);
}
