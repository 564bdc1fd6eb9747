// The rig of the browser tests: a Strongroom server of a test file's own, Debian's Chromium, and what tests do on most
// pages: sign in, take a picture, check accessibility. A page that logs an error, breaks its content security policy or
// asks another host for anything fails its test when it is closed.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const project = join(dirname(fileURLToPath(import.meta.url)), '../..');
const binary = process.env.RIG_BINARY ?? join(project, 'target/debug/strongroom');
const pictures = join(project, 'test-output/screenshots');
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8');

export const PASSWORD = 'correct horse battery';

/** A wide and a narrow screen, in CSS pixels. */
export const WIDE = { width: 1280, height: 800 };
export const NARROW = { width: 360, height: 740 };

/** Starts a server on a new farm; resolves when it is ready. `settings` are environment variables. */
export async function startServer(settings = {}) {
  const data = mkdtempSync(join(tmpdir(), 'strongroom-browser-'));
  let child;
  let said = '';
  const start = (listen) => new Promise((resolve, reject) => {
    child = spawn(binary, ['serve', '--data', join(data, 'farm'), '--listen', listen], {
      env: { ...process.env, STRONGROOM_ADMIN_PASSWORD: PASSWORD, ...settings },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let begun = '';
    const hear = (text) => {
      said += text;
      begun += text;
      const address = /http:\/\/127\.0\.0\.1:\d+/.exec(begun);
      if (address) resolve(address[0]);
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    child.on('error', reject);
    child.on('exit', (code) => reject(new Error(`the server ended with ${code}:\n${said}`)));
  });
  const end = async () => {
    child.removeAllListeners('exit');
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    assert.equal(await ended, 0, `the server did not stop well:\n${said}`);
  };
  const url = await start('127.0.0.1:0');
  process.once('exit', () => child.kill('SIGKILL'));
  const run = (...words) => {
    const done = spawnSync(binary, [...words, '--data', join(data, 'farm'), '--json'], { encoding: 'utf8' });
    assert.equal(done.status, 0, `strongroom ${words.join(' ')}: ${done.stderr}`);
    return JSON.parse(done.stdout);
  };
  const token = run('user', 'token', 'create', 'admin', 'browser-tests').secret;
  return {
    url,
    /** The directory of the farm. */
    farm: join(data, 'farm'),
    /** Runs a command of the program on the farm; returns its JSON. */
    run,
    /** All that the server said. */
    said: () => said,
    /** A REST request as the administrator; returns the answer. */
    api: (method, path, body) =>
      fetch(url + path, { method, body, headers: { authorization: `Bearer ${token}` }, duplex: 'half' }),
    /** The same with the password instead of a token, which is a fresh proof of who asks, and with a JSON body. */
    json: (method, path, body) =>
      fetch(url + path, {
        method,
        body: body === undefined ? undefined : JSON.stringify(body),
        headers: { authorization: `Basic ${btoa(`admin:${PASSWORD}`)}`, 'content-type': 'application/json' },
      }),
    /** A REST request with the password that must succeed; returns the JSON of the answer, if there is any. */
    async ask(method, path, body) {
      const answer = await this.json(method, path, body);
      const text = await answer.text();
      assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
      return text ? JSON.parse(text) : undefined;
    },
    /** Uploads a document below the library Documents. */
    async put(path, body) {
      const answer = await this.api('PUT', `/api/v1/content/Documents/${path}`, body);
      assert.ok(answer.ok, `PUT ${path}: ${answer.status} ${await answer.text()}`);
    },
    /** Returns the number of items in a library or folder. */
    async count(path) {
      const { id } = await this.ask('GET', `/api/v1/items/by-path?path=${encodeURIComponent(path)}`);
      let [cursor, number] = ['', 0];
      do {
        const page = await this.ask('GET', `/api/v1/items/${id}/children?limit=1000${cursor}`);
        number += page.items.length;
        cursor = page.next ? `&cursor=${encodeURIComponent(page.next)}` : '';
      } while (cursor);
      return number;
    },
    /** Ends the server for a while. */
    pause: end,
    /** Starts it again, at the same address. */
    resume: () => start(new URL(url).host),
    /** Ends the server and removes its farm. */
    async stop() {
      await end();
      rmSync(data, { recursive: true, force: true });
    },
  };
}

/** Starts the browser; one for a test file is enough. */
export function startBrowser() {
  return chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: ['--disable-dev-shm-usage', '--disable-gpu', ...(process.getuid() === 0 ? ['--no-sandbox'] : [])],
  });
}

/**
 * Opens a page of a browser session of its own. `scheme` is light or dark, `viewport` WIDE or NARROW. Faults that the
 * page shows to nobody are collected; `page.expectFault(pattern)` allows one.
 */
export async function openPage(browser, server, { scheme = 'light', viewport = WIDE, ...options } = {}) {
  const context = await browser.newContext({ baseURL: server.url, colorScheme: scheme, viewport, acceptDownloads: true, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  const faults = [];
  const allowed = [];
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url());
    if (protocol.startsWith('http') && origin !== server.url) faults.push(`the page asks ${request.url()}`);
  });
  page.expectFault = (pattern) => allowed.push(pattern);
  page.finish = async () => {
    await context.close();
    assert.deepEqual(faults.filter((fault) => !allowed.some((pattern) => pattern.test(fault))), []);
  };
  return page;
}

/** Signs in through the form; ends on the page that follows. */
export async function signIn(page, login = 'admin', password = PASSWORD) {
  await page.goto('/sign-in');
  await page.locator('input[name=login]').fill(login);
  await page.locator('input[name=password]').fill(password);
  await page.locator('form:has(input[name=password]) button[type=submit], form:has(input[name=password]) button:not([type])').first().click();
  await page.waitForURL((url) => url.pathname !== '/sign-in');
}

/** Takes a picture of the whole page into test-output/screenshots. */
export async function picture(page, name) {
  const file = join(pictures, `${name}.png`);
  mkdirSync(dirname(file), { recursive: true });
  await page.screenshot({ path: file, fullPage: true });
}

/** Asserts that axe-core finds nothing on the page. */
export const assertAccessible = (page) => audit(page, { resultTypes: ['violations'] });

/** Asserts that all text can be told from what is behind it; enough where only colours differ from what was looked at. */
export const assertContrast = (page) => audit(page, { resultTypes: ['violations'], runOnly: ['color-contrast'] });

async function audit(page, options) {
  if (!await page.evaluate(() => 'axe' in globalThis)) await page.evaluate(axe);
  const found = await page.evaluate(async (asked) => {
    // Colours of what is still appearing are not those that it will have.
    const ending = document.getAnimations().filter(({ effect }) => effect.getTiming().iterations !== Infinity);
    await Promise.allSettled(ending.map(({ finished }) => finished));
    const { violations } = await globalThis.axe.run(document, asked);
    return violations.map(({ help, nodes }) => `${help}: ${nodes.slice(0, 5).map((node) => node.html).join(' ')}`);
  }, options);
  assert.ok(!found.length, `accessibility of ${page.url()}:\n${found.join('\n')}`);
}

/** Asserts that nothing on the page is wider than the screen. */
export async function assertFits(page) {
  const { inner, content } = await page.evaluate(() => ({
    inner: document.documentElement.clientWidth,
    content: document.documentElement.scrollWidth,
  }));
  assert.ok(content <= inner, `${page.url()} is ${content} pixels wide on a screen of ${inner}`);
}

/** Asserts that no word of usual length goes on in the next line. */
export async function assertWordsWhole(page) {
  const broken = await page.evaluate(() => {
    const found = [];
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const text = texts.currentNode;
      if (!text.parentElement.checkVisibility() || text.parentElement.closest('.unseen, .code, datalist, option')) continue;
      for (const word of text.data.matchAll(/(?<!\p{L})\p{L}{2,20}(?!\p{L})/gu)) {
        const range = document.createRange();
        range.setStart(text, word.index);
        range.setEnd(text, word.index + word[0].length);
        const lines = new Set([...range.getClientRects()].filter(({ width }) => width > 0).map(({ top }) => Math.round(top)));
        if (lines.size > 1) found.push(word[0]);
      }
    }
    return found;
  });
  assert.deepEqual(broken, [], `words on ${page.url()}`);
}

/** Looks at a page: nothing wider than the screen, nothing that axe-core finds, and a picture. */
export async function look(page, name) {
  await assertFits(page);
  await assertAccessible(page);
  await picture(page, name);
}

/** Fills the form of the page or dialog, fields by label, and presses a button of it. */
export async function fillForm(page, fields, button) {
  const form = page.locator('#form');
  for (const [label, value] of Object.entries(fields)) {
    const field = form.getByLabel(label, { exact: true });
    if (await field.evaluate((element) => element.matches('select'))) await field.selectOption(value);
    else if (typeof value === 'boolean') await field.setChecked(value);
    else await field.fill(value);
  }
  await form.getByRole('button', { name: button, exact: true }).click();
}
