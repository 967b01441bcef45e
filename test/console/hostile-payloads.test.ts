import { expect } from 'vitest';
import { needs } from '../support/needs.ts';
import { openPage, sharedStage } from './open-console.ts';

const test = needs('postgres', 'chromium');
const stageOf = sharedStage();

const SCRIPT = `"><img src=x onerror="document.title='taken'"><script>document.title='taken'</script>`;
const RIGHT_TO_LEFT = '\u202Eevil.exe\u202C abc';

/** What of the page's content a payload could have made. */
const MADE = 'main script, main img, main iframe, main object, main [onerror], main style, main link';

test('scripts in payloads, keys, headers, errors and reasons are shown as text and run nowhere [X.5]', async ({
  postgres,
  chromium,
}) => {
  const { shop, context, address } = await stageOf({ postgres, chromium });
  const id = await shop.send({
    customer: SCRIPT,
    item: SCRIPT,
    currency: `XXX${SCRIPT}`,
    [SCRIPT]: { [SCRIPT]: [SCRIPT] },
  });
  await expect.poll(async () => (await shop.operator.deadLetters({ key: SCRIPT })).items.length).toBe(1);
  await shop.operator.pause('shop/remind', { actor: SCRIPT, reason: SCRIPT });
  // Nothing is known by an id that is a script.
  const page = await openPage(context, `${address}messages/${id}`, { expects: /404/ });
  const paths = [
    `messages/${id}`,
    `messages?open=${id}`,
    `messages?error=${encodeURIComponent(SCRIPT)}`,
    'dead-letters',
    `dead-letters?view=list&key=${encodeURIComponent(SCRIPT)}`,
    'keys',
    'handlers',
    'audit',
    `trace?id=${id}`,
    `trace?id=${encodeURIComponent(SCRIPT)}`,
    '',
  ];
  for (const path of paths) {
    await page.goto(address + path);
    await page.locator('main h1').waitFor();
    await page.locator('.skeleton').first().waitFor({ state: 'detached' });
    expect(await page.locator(MADE).count(), path).toBe(0);
    expect(await page.title(), path).not.toContain('taken');
  }
  await page.goto(`${address}messages/${id}`);
  await page.locator('.tree').getByText('<script>').first().waitFor();
  await shop.operator.resume('shop/remind', { actor: 'ann' });
});

test('text that runs from right to left stays in its place [X.5]', async ({ postgres, chromium }) => {
  const { shop, context, address } = await stageOf({ postgres, chromium });
  const id = await shop.send({ customer: 'cus_rtl', item: RIGHT_TO_LEFT });
  const page = await openPage(context, `${address}messages/${id}`);
  const value = page.locator('.tree bdi.value-string', { hasText: 'evil' });
  await value.waitFor();
  expect(await value.evaluate((element) => getComputedStyle(element).unicodeBidi)).toBe('isolate');
});

test('a payload of a megabyte, and one as deep as can be sent, open at once and show more when asked [X.5]', async ({
  postgres,
  chromium,
}) => {
  const { shop, context, address } = await stageOf({ postgres, chromium });
  const long = await shop.send({
    customer: 'cus_long',
    text: 'x'.repeat(500_000),
    list: Array.from({ length: 40_000 }, (_, at) => at),
  });
  const page = await openPage(context, `${address}messages/${long}`);
  await page.getByRole('button', { name: '499,600 more characters' }).waitFor();
  expect(await page.locator('.tree *').count()).toBeLessThan(200);
  await page.locator('.fold', { hasText: '40,000' }).click();
  await page.getByRole('button', { name: '39,900 more' }).waitFor();

  let nested: unknown = 'bottom';
  for (let level = 0; level < 95; level += 1) nested = { deeper: nested };
  const deep = await shop.send({ customer: 'cus_deep', nested });
  await page.goto(`${address}messages/${deep}`);
  const folded = page.locator('.tree button[aria-expanded=false]');
  await folded.click();
  await folded.waitFor();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(1_280);
});
