// BLOB stores, storage policies and jobs, as an administrator of the farm works with them.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import {
  NARROW, WIDE, assertAccessible, assertFits, openPage, picture, signIn, startBrowser, startServer,
} from './rig.mjs';

const BYTES = randomBytes(300_000);
let server;
let browser;
let library;
before(async () => {
  server = await startServer();
  browser = await startBrowser();
  library = await (await server.api('GET', '/api/v1/items/by-path?path=Documents')).json();
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

/** The row of a table that has this text. */
const row = (page, text) => page.locator('tbody tr').filter({ hasText: text });

/** Picks an action of a row's menu. */
async function act(page, text, action) {
  await row(page, text).getByRole('button').first().click();
  await page.locator('.menu:popover-open').getByText(action, { exact: true }).click();
}

test('a store is added, used by a library, emptied and removed', async () => {
  const page = await openPage(browser, server);
  page.expectFault(/409/);
  await signIn(page);

  await page.goto('/farm/stores');
  await page.getByRole('button', { name: 'Add store' }).click();
  await page.locator('#kinds').getByText('Directory').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('archive');
  await dialog.getByLabel('Directory').fill('archive');
  await dialog.getByRole('button', { name: 'Add store' }).click();
  await row(page, 'archive').getByText('Takes new BLOBs').waitFor();

  await act(page, 'archive', 'Test');
  await page.getByText('The store passed the test.').waitFor();
  await picture(page, 'store-test');

  await page.goto(`/items/${library.id}/settings`);
  await page.locator('#storage').getByRole('link', { name: 'Change' }).click();
  await dialog.getByLabel('BLOB store').selectOption('archive');
  await dialog.getByLabel('Minimum size').fill('0');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.waitForURL('**/farm/policies');
  await row(page, '/Documents').getByText('archive').waitFor();

  const file = join(mkdtempSync(join(tmpdir(), 'strongroom-story-')), 'Plan.bin');
  writeFileSync(file, BYTES);
  await page.goto(`/items/${library.id}/upload`);
  await page.locator('form#form input[type=file]').setInputFiles(file);
  await page.locator('form#form').getByRole('button', { name: 'Upload' }).click();
  await page.getByRole('link', { name: 'Plan.bin' }).first().waitFor();
  await page.goto('/farm/stores');
  await row(page, 'archive').getByRole('cell', { name: '293 KiB', exact: true }).waitFor();

  // A store that a policy still needs is not drained, and the page says why.
  await act(page, 'archive', 'Drain the store');
  await dialog.getByRole('button', { name: 'Drain the store' }).click();
  await page.getByRole('alert').getByText('policy').waitFor();
  await page.goto(`/farm/policies/library/${library.id}`);
  await page.getByLabel('BLOB store').selectOption('');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.waitForURL('**/farm/policies');

  await page.goto('/farm/stores');
  await act(page, 'archive', 'Drain the store');
  await dialog.getByRole('button', { name: 'Drain the store' }).click();
  await page.waitForURL('**/farm/jobs/*');
  await page.locator('#job').getByText('Finished', { exact: true }).waitFor({ timeout: 30_000 });
  assert.equal(await page.getByRole('button', { name: 'Pause' }).count(), 0);

  await page.goto('/farm/stores');
  await row(page, 'archive').getByText('Draining', { exact: true }).waitFor();
  await act(page, 'archive', 'Remove');
  await dialog.getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('status').getByText('archive').waitFor();
  assert.equal(await row(page, 'archive').count(), 0);
  const content = await server.api('GET', '/api/v1/content/Documents/Plan.bin');
  assert.deepEqual(Buffer.from(await content.arrayBuffer()), BYTES);
  await page.finish();
});

test('a job shows its progress, pauses, goes on and is ended', async () => {
  await server.json('POST', '/api/v1/farm/stores', { name: 'slow', kind: 'directory', location: 'slow' });
  // More than moves at once, so that the rate holds back the rest.
  for (let i = 0; i < 300; i += 25) {
    await Promise.all(Array.from({ length: 25 }, (_, j) => server.put(`bulk/${i + j}.bin`, randomBytes(70_000))));
  }
  const page = await openPage(browser, server);
  await signIn(page);
  await page.goto('/farm/jobs');
  await page.getByRole('link', { name: 'Move BLOBs', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('To', { exact: true }).selectOption('slow');
  await dialog.getByLabel('Maximum per second').fill('1 MiB');
  await picture(page, 'job-new');
  await dialog.getByRole('button', { name: 'Start' }).click();
  await page.waitForURL('**/farm/jobs/*');
  const job = page.locator('#job');
  await job.getByText('left').waitFor({ timeout: 20_000 });
  await picture(page, 'job-running');
  await job.getByRole('button', { name: 'Pause' }).click();
  await job.getByText('Paused', { exact: true }).waitFor({ timeout: 20_000 });
  await job.getByRole('button', { name: 'Resume' }).click();
  await job.getByText('Running', { exact: true }).waitFor({ timeout: 20_000 });
  await job.getByRole('button', { name: 'Abort' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Abort' }).click();
  await job.getByText('Aborted', { exact: true }).waitFor({ timeout: 20_000 });
  await page.finish();
});

test('without scripts, forms are pages and a job is followed by reloading', async () => {
  const page = await openPage(browser, server, { javaScriptEnabled: false });
  await signIn(page);
  await page.goto('/farm/jobs');
  await page.getByRole('link', { name: 'Collect', exact: true }).click();
  await page.getByRole('button', { name: 'Start' }).click();
  await page.waitForURL('**/farm/jobs/*');
  for (let i = 0; i < 60 && await page.getByText('Finished', { exact: true }).count() === 0; i += 1) {
    await new Promise((resolve) => setTimeout(resolve, 250));
    await page.reload();
  }
  await page.getByText('BLOBs that would be deleted', { exact: true }).waitFor();
  await page.finish();
});

test('the search index is built anew, and documents that cannot be read are named', async () => {
  await server.put('broken.docx', 'no document');
  const page = await openPage(browser, server);
  await signIn(page);
  await page.goto('/farm');
  await page.getByRole('navigation').getByRole('link', { name: 'Search index' }).click();
  const link = page.getByRole('link', { name: /broken\.docx/ });
  for (let i = 0; i < 120 && await link.count() === 0; i += 1) {
    await new Promise((resolve) => setTimeout(resolve, 250));
    await page.reload();
  }
  await page.getByText('Up to date', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Full crawl', exact: true }).click();
  await page.getByRole('button', { name: 'Start' }).click();
  await page.waitForURL('**/farm/jobs/*');
  await page.getByText('Finished', { exact: true }).waitFor();
  await page.getByText('Documents with text', { exact: true }).waitFor();
  await page.goto('/farm/search');
  await page.getByRole('link', { name: 'Settings', exact: true }).click();
  page.expectFault(/400/);
  await page.getByLabel('Days between full crawls').fill('x');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('alert').waitFor();
  await page.getByLabel('Days between full crawls').fill('30');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('A full crawl starts every 30 days.').waitFor();
  await page.finish();
});

for (const [scheme, screen, viewport] of [['light', 'wide', WIDE], ['dark', 'wide', WIDE], ['light', 'narrow', NARROW], ['dark', 'narrow', NARROW]]) {
  test(`the pages of storage fit and are accessible: ${scheme}, ${screen}`, async () => {
    const page = await openPage(browser, server, { scheme, viewport });
    await signIn(page);
    const jobs = await (await server.api('GET', '/api/v1/farm/jobs')).json();
    const pages = {
      farm: '/farm',
      stores: '/farm/stores',
      'store-new-directory': '/farm/new-store/directory',
      'store-new-s3': '/farm/new-store/s3',
      'store-drain': '/farm/stores/slow/drain',
      'store-remove': '/farm/stores/slow/remove',
      policies: '/farm/policies',
      'policy-database': '/farm/policies/database/main',
      'policy-library': `/farm/policies/library/${library.id}`,
      jobs: '/farm/jobs',
      job: `/farm/jobs/${jobs.items[0].id}`,
      'job-migrate': '/farm/jobs/new/migrate',
      'job-collect': '/farm/jobs/new/collect',
      'job-check': '/farm/jobs/new/check',
      'job-crawl': '/farm/jobs/new/crawl',
      'search-indexes': '/farm/search',
      'search-settings': '/farm/search/settings',
      reclaim: '/farm/reclaim',
      faults: '/farm/faults',
      'library-storage': `/items/${library.id}/settings`,
    };
    for (const [name, address] of Object.entries(pages)) {
      const answer = await page.goto(address);
      assert.equal(answer.status(), 200, address);
      await picture(page, `storage-${name}-${scheme}-${screen}`);
      await assertFits(page);
      await assertAccessible(page);
    }
    await page.finish();
  });
}
