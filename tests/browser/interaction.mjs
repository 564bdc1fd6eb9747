// Measures for bench/interaction: how long until the next paint. Arguments: address of the server, password, rounds.
import { openPage, signIn, startBrowser } from './rig.mjs';

const [url, password, rounds] = process.argv.slice(2);
const browser = await startBrowser();
const page = await openPage(browser, { url });
await signIn(page, 'admin', password);
await page.addInitScript(() => {
  globalThis.events = [];
  new PerformanceObserver((list) => {
    for (const { name, duration } of list.getEntries()) globalThis.events.push({ name, duration });
  }).observe({ type: 'event', durationThreshold: 16, buffered: true });
});

const folder = '/browse/Documents/folder';

/** From a press to the frame with the new rows. */
async function shown(press) {
  await page.evaluate(() => {
    globalThis.shown = new Promise((resolve) => {
      let pressed;
      const note = () => { pressed ??= performance.now(); };
      addEventListener('pointerdown', note, { capture: true, once: true });
      addEventListener('keydown', note, { capture: true, once: true });
      document.addEventListener('swapped', () => requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port2.onmessage = () => resolve(performance.now() - pressed);
        port1.postMessage('');
      }), { once: true });
    });
  });
  await page.evaluate(() => { globalThis.events.length = 0; });
  await press();
  const rows = await page.evaluate(() => globalThis.shown);
  await page.evaluate(() => new Promise((done) => { setTimeout(done, 50); }));
  return [await longest(), rows];
}

const longest = async () => Math.max(16, ...(await page.evaluate(() => globalThis.events.map(({ duration }) => duration))));

/** The longest event that the browser reports while something is done on the page; what is under 16 ms counts as 16. */
async function stayed(act) {
  await page.evaluate(() => { globalThis.events.length = 0; });
  await act();
  await page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => setTimeout(done, 50)); }));
  return longest();
}

const stories = {
  async sort() {
    await page.goto(folder);
    return shown(() => page.getByRole('link', { name: 'Size' }).click());
  },
  async filter() {
    await page.goto(folder);
    await page.getByRole('searchbox', { name: 'Filter by name' }).fill('99');
    return shown(() => page.keyboard.press('Enter'));
  },
  async 'select all'() {
    await page.goto(folder);
    return stayed(() => page.getByRole('checkbox', { name: 'Select all' }).click());
  },
  async 'edit in the row'() {
    await page.goto(folder);
    const cell = page.locator('td.cell').first();
    return Math.max(
      await stayed(() => cell.getByRole('link').or(cell.getByRole('button')).first().click()),
      await stayed(async () => {
        await page.locator('.cell-editor').locator('input, textarea').first().fill(`topic ${Date.now()}`);
        await page.keyboard.press('Enter');
        await page.locator('.cell-editor').waitFor({ state: 'detached' });
      }),
    );
  },
};

const quantile = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
console.log('| interaction | median, ms | 95th percentile, ms (goal: under 100) |\n|---|---|---|');
for (const [name, story] of Object.entries(stories)) {
  await story();
  const times = [];
  for (let round = 0; round < Number(rounds); round += 1) times.push([await story()].flat());
  ['', ', until the new rows are there'].slice(0, times[0].length).forEach((what, i) => {
    const sorted = times.map((both) => both[i]).sort((a, b) => a - b);
    console.log(`| ${name}${what} | ${quantile(sorted, 0.5).toFixed(0)} | ${quantile(sorted, 0.95).toFixed(0)} |`);
  });
}
await page.finish();
await browser.close();
