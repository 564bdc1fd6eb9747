// What a person sees first: the sign-in, the libraries, a document; on wide and narrow screens, light and dark.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  NARROW, PASSWORD, WIDE, assertAccessible, assertFits, openPage, picture, signIn, startBrowser, startServer,
} from './rig.mjs';

let server;
let browser;
before(async () => {
  server = await startServer();
  browser = await startBrowser();
  await server.put('Offers/First offer.txt', 'An offer.\n');
  await server.put('Offers/A rather long name of a document that has to wrap somewhere, final version (2).pdf', 'no pdf');
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

for (const scheme of ['light', 'dark']) {
  for (const [screen, viewport] of [['wide', WIDE], ['narrow', NARROW]]) {
    test(`the first pages are readable and accessible: ${scheme}, ${screen}`, async () => {
      const page = await openPage(browser, server, { scheme, viewport });
      const look = async (name) => {
        await picture(page, `${name}-${scheme}-${screen}`);
        await assertFits(page);
        await assertAccessible(page);
      };
      await page.goto('/');
      assert.equal(new URL(page.url()).pathname, '/sign-in');
      await look('sign-in');
      await signIn(page);
      await look('home');
      await page.goto('/browse/Documents');
      await page.getByRole('link', { name: 'Offers' }).first().waitFor();
      await look('library');
      await page.goto('/browse/Documents/Offers');
      await page.getByRole('link', { name: 'First offer.txt' }).first().waitFor();
      await look('folder');
      await page.goto('/account');
      await look('account');
      await page.finish();
    });
  }
}

test('a wrong password is refused without telling which part was wrong', async () => {
  const page = await openPage(browser, server);
  page.expectFault(/401|403|400/);
  const answers = [];
  for (const [login, password] of [['admin', 'wrong password'], ['nobody-of-this-name', PASSWORD]]) {
    await page.goto('/sign-in');
    await page.locator('input[name=login]').fill(login);
    await page.locator('input[name=password]').fill(password);
    await page.locator('input[name=password]').press('Enter');
    const alert = page.getByRole('alert').first();
    await alert.waitFor();
    answers.push(await alert.innerText());
  }
  assert.equal(answers[0], answers[1]);
  await page.goto('/browse/Documents');
  assert.equal(new URL(page.url()).pathname, '/sign-in');
  await page.finish();
});

test('an uploaded page never runs in the origin of the interface', async () => {
  await server.put('trap.html', '<script>document.title = "ran"; fetch("/browse/Documents")</script><h1>trap</h1>');
  await server.put('trap.svg', '<svg xmlns="http://www.w3.org/2000/svg"><script>document.title = "ran"</script></svg>');
  const page = await openPage(browser, server);
  await signIn(page);
  for (const name of ['trap.html', 'trap.svg']) {
    const answer = await page.context().request.get(`/api/v1/content/Documents/${name}`);
    assert.equal(answer.status(), 200);
    const headers = answer.headers();
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.match(headers['content-security-policy'], /sandbox/);
    assert.match(headers['content-disposition'], /^attachment/);
    // A browser that is sent there downloads it and shows nothing.
    const download = page.waitForEvent('download');
    await page.goto(`/api/v1/content/Documents/${name}`).catch(() => {});
    assert.equal((await download).suggestedFilename(), name);
    assert.notEqual(await page.title(), 'ran');
  }
  await page.finish();
});
