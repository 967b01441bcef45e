import { describe, expect } from 'vitest';
import { needs } from '../support/needs.ts';
import { openPage, sharedStage, type Stage } from './open-console.ts';
import { cutOf, ALL_RULES, violations, wrongOnPaper } from './page-checks.ts';

const test = needs('postgres', 'chromium');
const stageOf = sharedStage();

/** Each page with something that is there once it has been read. */
function pagesOf({ failed, scheduled }: Stage): readonly (readonly [path: string, sign: string])[] {
  return [
    ['', '.verdict >> text=things need you'],
    ['messages', 'table[aria-label=Messages] tbody tr'],
    [`messages?open=${failed}`, 'aside >> text=there is no exchange rate'],
    [`messages/${failed}`, '.why >> text=there is no exchange rate'],
    [`messages/${scheduled}`, '.countdown'],
    ['dead-letters', '.groups >> text=ECONNREFUSED'],
    ['dead-letters?view=list', 'table[aria-label="Dead letters"] tbody tr'],
    ['bulk', 'text=No bulk operation yet'],
    ['keys', 'table[aria-label="Held keys"] tbody tr'],
    ['handlers', 'table[aria-label=Handlers] tbody tr'],
    ['breakers', 'table[aria-label=Breakers] tbody tr'],
    ['breakers?view=calls', 'table[aria-label="Outgoing calls"] tbody tr'],
    ['idempotency', 'table[aria-label="Idempotency records"] tbody tr'],
    ['commands?target=run_456', '.run-graph >> text=publish'],
    ['trace?id=req-8412', '.waterfall >> text=POST /orders'],
    ['system', 'table[aria-label=Workers] tbody tr'],
    ['audit', 'text=Nothing was changed by hand'],
    ['runbooks', 'text=HoldfastOutcomeUnknown'],
    ['runbooks/HoldfastDeadLetters', '.runbook >> text=Mend the cause first'],
  ];
}

// What the document says is the same in both; colours and sizes are not.
describe.each([
  ['light', 1_280, ALL_RULES],
  ['dark', 390, ['color-contrast', 'target-size']],
] as const)('in %s, %i pixels wide', (scheme, width, rules) => {
  test('every page shows what there is, fits the screen and paper, and axe finds nothing wrong with it [X.5] [X.6] [X.7]', async ({
    postgres,
    chromium,
  }) => {
    const stage = await stageOf({ postgres, chromium });
    const page = await openPage(stage.context, stage.address, { scheme, width });
    const found: string[] = [];
    for (const [path, sign] of pagesOf(stage)) {
      await page.goto(stage.address + path);
      await page.locator(sign).first().waitFor();
      const wrong = [...(await cutOf(page, '.table-box')), ...(await violations(page, rules))];
      if (scheme === 'dark') wrong.push(...(await wrongOnPaper(page)));
      found.push(...wrong.map((one) => `${path} ${one}`));
    }
    expect(found).toEqual([]);
  });
});

test('what needs somebody leads to what to do about it, and from there to the others [X.18] [S1.13]', async ({
  postgres,
  chromium,
}) => {
  const { context, address } = await stageOf({ postgres, chromium });
  const page = await openPage(context, address);
  await page
    .getByRole('link', { name: /^What to do: .*dead letter/ })
    .first()
    .click();
  await page.locator('.runbook >> text=Over when').waitFor();
  expect(new URL(page.url()).pathname).toMatch(/\/runbooks\/HoldfastDeadLetters$/);
  await page.locator('.runbook pre >> text=holdfast bulk plan replay').waitFor();
  await page.getByRole('link', { name: 'Runbooks' }).click();
  await page.getByRole('link', { name: 'HoldfastDeadLettersLeft' }).click();
  await page.locator('.runbook').getByRole('link', { name: 'HoldfastDeadLetters' }).click();
  await page.getByRole('heading', { name: 'HoldfastDeadLetters', exact: true }).waitFor();
});

test('the console works below any path, also when a page deep in it is opened first [X.5]', async ({
  postgres,
  chromium,
}) => {
  const { shop, context, failed } = await stageOf({ postgres, chromium });
  const address = await shop.serve({ basePath: '/ops/console' });
  const page = await openPage(context, `${address}messages/${failed}`);
  await page.locator('.why >> text=there is no exchange rate').waitFor();
  await page.getByRole('link', { name: 'Keys' }).click();
  await page.locator('table[aria-label="Held keys"] tbody tr').first().waitFor();
  expect(new URL(page.url()).pathname).toBe('/ops/console/keys');
});

test('a viewer logs in with a token, sees the pages, and no button that would be refused [X.9]', async ({
  postgres,
  chromium,
}) => {
  const { shop, context, failed, parked } = await stageOf({ postgres, chromium });
  const token = 'a-token-of-a-viewer';
  const address = await shop.serve({ tokens: [{ token, role: 'viewer', actor: 'wall' }] });
  const page = await openPage(context, address, { expects: /401/ });
  await page.getByLabel('Access token').fill('this-is-not-the-token');
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('alert').waitFor();
  await page.getByLabel('Access token').fill(token);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByText('wall · viewer').waitFor();
  const verbs = /^(Replay|Discard|Edit|Cancel|Pause|Resume|Retire|Limit|Release|Skip|Resolve|Ignore|Hold|Close$)/;
  for (const path of [
    `messages/${failed}`,
    `messages/${parked}`,
    'dead-letters',
    'dead-letters?view=list',
    'keys',
    'handlers',
    'breakers',
  ]) {
    await page.goto(address + path);
    await page.locator('main h1').waitFor();
    await page.locator('.skeleton').waitFor({ state: 'detached' });
    expect(await page.getByRole('button', { name: verbs }).allTextContents(), path).toEqual([]);
  }
  await page.getByRole('button', { name: 'Log out' }).click();
  await page.getByLabel('Access token').waitFor();
});

test('the keyboard reaches pages, rows, the palette and the help [X.5]', async ({ postgres, chromium }) => {
  const { context, address, failed } = await stageOf({ postgres, chromium });
  const page = await openPage(context, `${address}messages?status=failed`);
  const rows = page.locator('table[aria-label=Messages] tbody tr');
  await rows.first().waitFor();
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('k');
  expect(await rows.first().getAttribute('class')).toContain('current');
  await page.keyboard.press('Enter');
  await page.getByRole('complementary', { name: 'Message' }).waitFor();
  expect(new URL(page.url()).searchParams.get('open')).toBe(await rows.first().getAttribute('data-row'));
  await page.keyboard.press('Escape');
  await page.keyboard.press('/');
  await page.keyboard.type('han');
  await page.keyboard.press('Tab');
  await page.keyboard.type('billing/charge');
  await page.keyboard.press('Enter');
  await expect.poll(() => new URL(page.url()).searchParams.get('handler')).toBe('billing/charge');
  // A qualifier that there is not is no word to look for.
  await page.getByLabel('Search messages').fill('typ:order.placed');
  await page.keyboard.press('Enter');
  await page.getByText('there is no typ:; did you mean type:?').waitFor();
  await page.locator('h1').click();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('g');
  await page.keyboard.press('k');
  await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor();
  await page.keyboard.press('Control+k');
  await page.keyboard.type(failed);
  await page.keyboard.press('Enter');
  await page.locator('.why >> text=there is no exchange rate').waitFor();
  await page.keyboard.press('r');
  await page.getByRole('dialog', { name: 'Replay 1 failed handler?' }).waitFor();
});

test('new messages are told and do not move the list; the icon is red while something needs somebody [X.5]', async ({
  postgres,
  chromium,
}) => {
  const { shop, context, address } = await stageOf({ postgres, chromium });
  const page = await openPage(context, `${address}messages`);
  const first = page.locator('table[aria-label=Messages] tbody tr').first();
  const before = await first.getAttribute('data-row');
  const sent = await shop.send({ customer: 'cus_new' });
  const pill = page.getByRole('button', { name: /^\d+ new$/ });
  await pill.waitFor();
  expect(await first.getAttribute('data-row')).toBe(before);
  await pill.click();
  await expect.poll(() => first.getAttribute('data-row')).toBe(sent);
  await expect.poll(() => page.locator('#favicon').getAttribute('href')).toContain('favicon-alert.svg');
});

test('the theme is the system’s until another is chosen, which is kept [X.5]', async ({ postgres, chromium }) => {
  const { context, address } = await stageOf({ postgres, chromium });
  const page = await openPage(context, `${address}audit`, { scheme: 'light' });
  const background = (): Promise<string> =>
    page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const light = await background();
  await page.getByRole('button', { name: 'Theme: system' }).click();
  const dark = await background();
  expect(dark).not.toBe(light);
  await page.reload();
  expect(await background()).toBe(dark);
  await page.getByRole('button', { name: 'Theme: dark' }).click();
  await page.getByRole('button', { name: 'Theme: light' }).click();
  await page.getByRole('button', { name: 'Theme: system' }).waitFor();
});
