// Templates: a site from each of them, its bar of links, its colour and its logo, reordered by keyboard, saved as a template
// and made again; lists from templates.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  NARROW, WIDE, look, openPage, signIn, startBrowser, startServer,
} from './rig.mjs';
import { png } from './samples.mjs';

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

/** Chooses a template in the form for a new site or list, and creates it. */
async function create(page, link, name, template) {
  await page.goto('/browse');
  await page.getByRole('link', { name: link, exact: true }).click();
  const form = page.locator('#form');
  await form.getByLabel('Name', { exact: true }).fill(name);
  await form.getByRole('radio', { name: template }).check();
  await form.getByRole('button', { name: 'Create' }).click();
}

const bar = (page) => page.locator('.site-bar');
const labels = (page) => bar(page).locator('li a').allTextContents();

for (const scheme of ['light', 'dark']) {
  for (const [screen, viewport] of [['wide', WIDE], ['narrow', NARROW]]) {
    test(`a team site is made and furnished: ${scheme}, ${screen}`, async () => {
      const site = `Team ${scheme} ${screen}`;
      const at = (name) => `${scheme}-${screen}-${name}`;
      const page = await openPage(browser, server, { scheme, viewport });
      await signIn(page);
      await page.goto('/browse');
      await page.getByRole('link', { name: 'New site', exact: true }).click();
      await page.locator('#form').getByText('For a group that works together').waitFor();
      await look(page, `templates/${at('new-site')}`);
      await create(page, 'New site', site, /^Team site/);
      await page.getByRole('heading', { name: `Who works in ${site}?` }).waitFor();
      await look(page, `templates/${at('ask')}`);
      await page.locator('#form').getByRole('button', { name: 'Create' }).click();
      await page.getByRole('heading', { name: site, level: 1, exact: true }).waitFor();
      assert.deepEqual(await labels(page), ['Documents', 'Tasks', 'Announcements', 'Contacts', 'Links']);
      await look(page, `templates/${at('site')}`);
      await bar(page).getByRole('link', { name: 'Tasks', exact: true }).click();
      await page.getByRole('heading', { name: 'Tasks', level: 1 }).waitFor();
      assert.equal(await bar(page).locator('a[aria-current]').textContent(), 'Tasks');
      await page.getByRole('link', { name: 'By status' }).first().waitFor();
      await look(page, `templates/${at('tasks')}`);

      await page.goto(`/browse/${encodeURIComponent(site)}`);
      if (screen === 'narrow') await page.getByRole('button', { name: 'Menu' }).click();
      await page.getByRole('link', { name: 'Site settings' }).click();
      const card = page.locator('#look');
      // By keyboard: down once, and the focus stays on the same button of the same link.
      await card.getByRole('button', { name: 'Move Documents down' }).focus();
      await page.keyboard.press('Enter');
      await page.waitForURL(/moved=down-1/);
      assert.deepEqual((await labels(page)).slice(0, 2), ['Tasks', 'Documents']);
      assert.match(await page.evaluate(() => document.activeElement.textContent), /Move Documents down/);
      await card.getByLabel('Label', { exact: true }).fill('Help');
      await card.getByLabel('Address', { exact: true }).fill('https://example.org/help?a=1&b=2');
      // Enter saves, and moves nothing.
      await page.keyboard.press('Enter');
      await page.waitForFunction(() => document.querySelectorAll('.site-bar li').length === 6);
      assert.deepEqual((await labels(page)).slice(0, 2), ['Tasks', 'Documents']);
      await card.getByRole('button', { name: 'Remove Contacts' }).click();
      await page.waitForFunction(() => document.querySelectorAll('.site-bar li').length === 5);
      await card.getByRole('radio', { name: 'Violet' }).check();
      await card.getByRole('button', { name: 'Save colour' }).click();
      await page.waitForFunction(() => document.documentElement.dataset.accent === 'violet');
      await card.locator('#logo-file').setInputFiles({ name: 'logo.png', mimeType: 'image/png', buffer: png(320, 120) });
      await card.getByRole('button', { name: 'Use as logo' }).click();
      await bar(page).locator('img').waitFor();
      await page.waitForFunction(() => document.querySelector('.site-bar img').naturalWidth === 320);
      await look(page, `templates/${at('settings')}`);
      await page.goto(`/browse/${encodeURIComponent(site)}/Documents`);
      await bar(page).locator('img').waitFor();
      await look(page, `templates/${at('library')}`);
      await page.finish();
    });
  }
}

test('every template makes its site or list', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  for (const [name, template] of [['Press', /^Publishing/], ['Personnel', /^Department/], ['My site', /^Personal site/]]) {
    await create(page, 'New site', name, template);
    await page.getByRole('heading', { name: `Who works in ${name}?` }).waitFor();
    await page.locator('#form').getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name, level: 1, exact: true }).waitFor();
    assert.ok((await labels(page)).length >= 4);
    await look(page, `templates/site-${name.toLowerCase().replace(' ', '-')}`);
  }
  for (const template of ['Tasks', 'Contacts', 'Announcements', 'Issues', 'Links', 'Survey']) {
    await create(page, 'New list', `Our ${template}`, new RegExp(`^${template}`));
    await page.getByRole('heading', { name: `Our ${template}`, level: 1 }).waitFor();
    await look(page, `templates/list-${template.toLowerCase()}`);
  }
  await page.finish();
});

test('a site is saved as a template, and made again', async () => {
  const page = await openPage(browser, server);
  await signIn(page);
  await create(page, 'New site', 'Project one', /^Personal site/);
  await page.locator('#form').getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { name: 'Project one', level: 1, exact: true }).waitFor();
  await page.getByRole('link', { name: 'Site settings' }).click();
  await page.getByRole('link', { name: 'Save as template' }).click();
  const form = page.locator('#form');
  await form.getByLabel('Title').fill('Our project');
  await form.getByLabel('What one gets').fill('All that a project needs');
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'Templates', level: 1 }).waitFor();
  await look(page, 'templates/templates');
  const loading = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Download Our project' }).click();
  assert.equal((await loading).suggestedFilename(), 'our-project.toml');
  await create(page, 'New site', 'Project two', /^Our project/);
  await page.getByRole('heading', { name: 'Project two', level: 1, exact: true }).waitFor();
  assert.deepEqual(await labels(page), ['Documents', 'Tasks', 'Notes', 'Links']);
  // What cannot be used is refused with its line.
  await page.goto((await page.locator('a[href$="/permissions"]').first().getAttribute('href')).replace('permissions', 'templates/upload'));
  page.expectFault(/400/);
  await page.locator('#form').getByLabel('Template').fill('format = 1\nkind = "list"\nname = "x"\ntitle = "X"\nworkflow = 1\n');
  await page.locator('#form').getByRole('button', { name: 'Save' }).click();
  await page.getByText(/line 5: unknown field `workflow`/).waitFor();
  await page.finish();
});
