// Every page of the interface, in both themes, on a wide screen and on a phone, with content that means it badly: nothing is
// wider than the screen, axe finds nothing, the browser complains of nothing, and a picture of each is kept.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { furnish } from './furnished.mjs';
import { NO_PAGES, pages, routes } from './pages.mjs';
import {
  NARROW, WIDE, assertAccessible, assertContrast, assertFits, assertWordsWhole, openPage, picture, signIn, startBrowser, startServer,
} from './rig.mjs';

let server;
let browser;
let farm;
before(async () => {
  server = await startServer();
  browser = await startBrowser();
  farm = await furnish(browser, server);
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

/** All pages; RIG_PAGES chooses among them by a pattern, while somebody works on one. */
const chosen = () => Object.values(pages(farm))
  .flatMap((examples) => Object.entries(examples))
  .filter(([name]) => new RegExp(process.env.RIG_PAGES ?? '.').test(name));

/**
 * Opens a browser page that visits all pages. Colours change at once, not by and by. Budget.xlsx is no spreadsheet: no
 * preview of it can be made, and the answer that says so is no fault.
 */
async function openForAll(options) {
  const page = await openPage(browser, server, { reducedMotion: 'reduce', ...options });
  page.expectFault(/422/);
  return page;
}

/** Looks at a page as it is, in both themes and on both screens; returns what is wrong with it. */
async function look(page, name) {
  const faults = [];
  const ask = (check) => check(page).catch((error) => faults.push(`${name}: ${error.message}`));
  for (const [screen, viewport] of [['wide', WIDE], ['narrow', NARROW]]) {
    await page.setViewportSize(viewport);
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      await picture(page, `every/${name}-${screen}-${colorScheme}`);
      if (colorScheme === 'light') {
        await ask(assertFits);
        await ask(assertAccessible);
      } else await ask(assertContrast);
    }
  }
  return faults;
}

/** Opens addresses one after the other and looks at them. */
async function visit(page, addresses) {
  const faults = [];
  for (const [name, address, status = 200] of addresses) {
    const answer = await page.goto(address);
    if (answer.status() !== status) faults.push(`${name}: ${address} answers ${answer.status()}`);
    else faults.push(...await look(page, name));
  }
  return faults;
}

test('every route that answers GET is looked at', () => {
  const known = [...Object.keys(pages(farm)), ...NO_PAGES];
  assert.deepEqual(routes().filter((route) => !known.includes(route)), [], 'routes without an example in pages.mjs');
  assert.deepEqual(known.filter((route) => !routes().includes(route)), [], 'examples in pages.mjs without a route');
});

test('every page fits, is accessible and complains of nothing', async () => {
  const all = chosen();
  const half = async (odd) => {
    const page = await openForAll();
    await signIn(page);
    const faults = await visit(page, all.filter((_, at) => at % 2 === odd));
    await page.finish();
    return faults;
  };
  assert.equal((await Promise.all([half(0), half(1)])).flat().join('\n'), '');
});

test('every colour of sites can be read', async () => {
  const page = await openPage(browser, server, { reducedMotion: 'reduce' });
  await signIn(page);
  await page.goto(farm.kit ? '/ui-kit' : '/');
  for (const accent of ['teal', 'blue', 'indigo', 'violet', 'magenta', 'brown', 'green', 'slate']) {
    await page.evaluate((word) => { document.documentElement.dataset.accent = word; }, accent);
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      await assertContrast(page);
    }
    await picture(page, `every/accent-${accent}`);
  }
  await page.finish();
});

test('so does what somebody sees who is not signed in, or may not, or errs', async () => {
  const guest = await openPage(browser, server, { reducedMotion: 'reduce' });
  guest.expectFault(/40[034]/);
  const faults = await visit(guest, [['sign-in', '/sign-in'], ['shared', farm.link], ['shared-folder', farm.links.folder], ['shared-files', farm.links.files], ['new-password', farm.links.password], ['shared-ended', '/s/1/srl_0', 404], ['guest-nowhere', '/nowhere', 404]]);
  await signIn(guest, 'berta');
  faults.push(...await visit(guest, [
    ['berta-home', '/'], ['berta-sites', '/sites'], ['berta-folder', '/browse/Documents/Offers'], ['error-403', '/farm', 403],
    ['error-404', '/browse/Documents/Nothing.txt', 404], ['error-400', '/place?action=move', 400],
  ]));
  assert.equal(faults.join('\n'), '');
  await guest.finish();
});

test('German words fit on a phone, and none is broken', async () => {
  const page = await openForAll({ locale: 'de-DE', viewport: NARROW });
  await signIn(page);
  const faults = [];
  for (const [name, address] of chosen()) {
    await page.goto(address);
    await assertFits(page).catch((error) => faults.push(`${name}: ${error.message}`));
    // Names and addresses that people give may be longer than any line.
    if (!/hostile|long|unbroken|deep|turned|home|search|bin|audit|site|faults|^document$/.test(name)) await assertWordsWhole(page).catch((error) => faults.push(`${name}: ${error.message}`));
  }
  assert.equal(faults.join('\n'), '');
  await page.finish();
});

test('from right to left, pages are mirrored and fit', async () => {
  const page = await openPage(browser, server, { reducedMotion: 'reduce' });
  await signIn(page);
  const mirror = () => page.evaluate(() => { document.documentElement.dir = 'rtl'; });
  for (const name of ['home', 'library', 'folder-hostile', 'document', 'kind-add-rs', 'account', 'bin', ...(farm.kit ? ['kit'] : []), 'permissions-own', 'values', 'stores']) {
    const [address] = Object.values(pages(farm)).flatMap((examples) => (examples[name] ? [examples[name]] : []));
    for (const [screen, viewport] of [['wide', WIDE], ['narrow', NARROW]]) {
      await page.setViewportSize(viewport);
      await page.goto(address);
      await mirror();
      await picture(page, `every/${name}-rtl-${screen}`);
      await assertFits(page);
    }
  }
  // The side bar is on the right, the pane and menus of rows on the left, all of them on the screen.
  await page.setViewportSize(WIDE);
  await page.goto('/browse/Documents/Kinds');
  await mirror();
  const box = (selector) => page.locator(selector).boundingBox();
  assert.ok((await box('#sidebar')).x > (await box('main')).x);
  await page.getByRole('link', { name: 'More actions for add.rs' }).click();
  const menu = await box('.menu:popover-open');
  assert.ok(menu.x >= 0 && menu.x + menu.width <= WIDE.width);
  assert.ok(menu.x < WIDE.width / 2, 'the menu is beside its button');
  await page.locator('.menu:popover-open').getByText('Details').click();
  await page.getByRole('complementary', { name: 'add.rs' }).waitFor();
  assert.equal((await box('.pane')).x, 0);
  await picture(page, 'every/pane-rtl-wide');
  await page.finish();
});

test('on paper there are no bars, buttons and boxes', async () => {
  const page = await openPage(browser, server, { scheme: 'dark', reducedMotion: 'reduce' });
  await signIn(page);
  await page.emulateMedia({ media: 'print' });
  for (const name of ['library', 'document', 'kind-minutes-md', 'permissions-own', 'audit', 'bin']) {
    const [address] = Object.values(pages(farm)).flatMap((examples) => (examples[name] ? [examples[name]] : []));
    await page.goto(address);
    const seen = await page.locator('.topbar, .sidebar, .button, .toasts, .tools, input[type=checkbox], button').evaluateAll((all) => all.filter((one) => one.checkVisibility()).map((one) => one.outerHTML.slice(0, 120)));
    assert.deepEqual(seen, [], name);
    assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme), 'light');
    // A4 between usual edges.
    await page.setViewportSize({ width: 680, height: 1000 });
    await assertFits(page);
    await picture(page, `every/${name}-paper`);
  }
  await page.finish();
});
