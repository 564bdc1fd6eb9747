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
  addEventListener('click', () => sessionStorage.setItem('pressed', String(performance.timeOrigin + performance.now())), true);
  addEventListener('keydown', () => sessionStorage.setItem('pressed', String(performance.timeOrigin + performance.now())), true);
});

const folder = '/browse/Documents/folder';
const settled = () => page.waitForFunction(() => performance.getEntriesByName('first-contentful-paint').length > 0);

/** From the press that led here to the first paint of content. */
async function arrived() {
  await settled();
  return page.evaluate(() => {
    const [paint] = performance.getEntriesByName('first-contentful-paint');
    return performance.timeOrigin + paint.startTime - Number(sessionStorage.getItem('pressed'));
  });
}

/** The longest event that the browser reports while something is done on the page; what is under 16 ms counts as 16. */
async function stayed(act) {
  await page.evaluate(() => { globalThis.events.length = 0; });
  await act();
  await page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => setTimeout(done, 50)); }));
  return Math.max(16, ...(await page.evaluate(() => globalThis.events.map(({ duration }) => duration))));
}

const stories = {
  async sort() {
    await page.goto(folder);
    await page.getByRole('link', { name: 'Size' }).click();
    await page.waitForURL(/sort=size/);
    return arrived();
  },
  async filter() {
    await page.goto(folder);
    await page.getByRole('searchbox', { name: 'Filter by name' }).fill('99');
    await page.keyboard.press('Enter');
    await page.waitForURL(/name=99/);
    return arrived();
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
  for (let round = 0; round < Number(rounds); round += 1) times.push(await story());
  times.sort((a, b) => a - b);
  console.log(`| ${name} | ${quantile(times, 0.5).toFixed(0)} | ${quantile(times, 0.95).toFixed(0)} |`);
}
await page.finish();
await browser.close();
