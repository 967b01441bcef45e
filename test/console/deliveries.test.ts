import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, describe, expect } from 'vitest';
import type { AuditRecord } from '../../src/operator/index.ts';
import { launchChromium } from '../support/chromium.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { openPage } from './open-console.ts';
import { ALL_RULES, cutOf, violations, wrongOnPaper } from './page-checks.ts';
import { type Filled, fillPostOffice, openPostOffice, type PostOffice } from './post-office.ts';

const test = needs('postgres', 'chromium');

interface Stage extends Filled {
  readonly office: PostOffice;
  readonly context: BrowserContext;
  readonly address: string;
  close(): Promise<void>;
}

let stage: Promise<Stage> | undefined;
afterAll(async () => (await stage)?.close());

function stageOf(servers: { readonly postgres: TestServer; readonly chromium: TestServer }): Promise<Stage> {
  return (stage ??= openStage(servers));
}

async function openStage({
  postgres,
  chromium,
}: {
  readonly postgres: TestServer;
  readonly chromium: TestServer;
}): Promise<Stage> {
  const [office, browser] = await Promise.all([
    openPostOffice({ url: postgres.url, schema: `${postgres.namespace}_office` }),
    launchChromium(chromium.url),
  ]);
  const filled = await fillPostOffice(office);
  const address = await office.serve({ localActor: 'ann' });
  const close = async (): Promise<void> => {
    await browser.close();
    await office.close();
  };
  return { ...filled, office, context: browser.context, address, close };
}

/** The newest entry of the audit with this verb. */
async function lastOf({ operator }: PostOffice, verb: AuditRecord['verb']): Promise<AuditRecord | undefined> {
  return (await operator.audit({ verb, limit: 1 })).items[0];
}

/** Fills in the reason and presses the button of the open dialog, and waits until it has closed. */
async function confirm(page: Page, verb: string, reason?: string): Promise<void> {
  const dialog = page.getByRole('dialog');
  if (reason !== undefined) await dialog.getByLabel(/^Reason/).fill(reason);
  await dialog.getByRole('button', { name: verb, exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
}

/** Each page with something that is there once it has been read; of pages that are laid out alike one is looked at closely. */
function pagesOf({
  delivered,
  retrying,
  endpoint,
}: Stage): readonly (readonly [path: string, sign: string, isClose?: boolean])[] {
  return [
    ['deliveries', 'table[aria-label=Deliveries] tbody tr', true],
    [`deliveries/${delivered}`, '.timeline >> text=200', true],
    [`deliveries/${retrying}`, '.why >> .countdown'],
    ['destinations', 'table[aria-label=Destinations] tbody tr'],
    ['endpoints', 'table[aria-label=Endpoints] tbody tr'],
    [`endpoints/${endpoint}`, 'table[aria-label="Messages of the endpoint"] tbody tr', true],
    ['schedules', 'table[aria-label=Schedules] tbody tr'],
    ['queues', 'table[aria-label=Queues] tbody tr'],
    ['queues?view=flow', 'table[aria-label="Flow control"] tbody tr', true],
    ['queues?view=groups', 'table[aria-label="URL groups"] tbody tr'],
  ];
}

describe.each([
  ['light', 1_280, ALL_RULES],
  ['dark', 390, ['color-contrast', 'target-size']],
] as const)('in %s, %i pixels wide', (scheme, width, rules) => {
  test('every page of deliveries shows what there is, fits the screen and paper, and axe finds nothing wrong with it [X.6] [X.8] [X.10]', async ({
    postgres,
    chromium,
  }) => {
    const open = await stageOf({ postgres, chromium });
    const page = await openPage(open.context, open.address, { scheme, width });
    const found: string[] = [];
    for (const [path, sign, isClose = false] of pagesOf(open)) {
      await page.goto(open.address + path);
      await page.locator(sign).first().waitFor();
      const wrong = await cutOf(page, '.table-box');
      if (isClose) wrong.push(...(await violations(page, rules)));
      if (isClose && scheme === 'dark') wrong.push(...(await wrongOnPaper(page)));
      found.push(...wrong.map((one) => `${path} ${one}`));
    }
    expect(found).toEqual([]);
  });
});

test('deliveries are found by state, address, queue and label, and one that is held says by what [X.10]', async ({
  postgres,
  chromium,
}) => {
  const { office, context, address, dead } = await stageOf({ postgres, chromium });
  const page = await openPage(context, `${address}deliveries`);
  const rows = page.locator('table[aria-label=Deliveries] tbody tr');
  await page.getByRole('link', { name: 'Failed' }).click();
  await page.getByLabel('Label').fill('order');
  await page.getByLabel('Label').press('Enter');
  await expect
    .poll(() => rows.evaluateAll((all) => all.map((row) => (row as HTMLElement).dataset['row'])))
    .toEqual([dead]);
  await page.goto(`${address}deliveries?queue=letters`);
  await rows.getByText('queue paused').nth(1).waitFor();
  await page.goto(`${address}deliveries?url=${encodeURIComponent(`${office.away}/in`)}`);
  await rows.getByText('probe').nth(2).waitFor();
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.getByText(`The breaker of ${office.away} is open`).waitFor();
});

test('a delivery shows its request with what is hidden as hidden, and each answer as it came [X.10]', async ({
  postgres,
  chromium,
}) => {
  const { context, address, delivered, dead } = await stageOf({ postgres, chromium });
  const page = await openPage(context, `${address}deliveries/${delivered}`);
  const request = page.getByRole('region', { name: 'Request' });
  await request.getByText('application/json').waitFor();
  expect(await request.locator('.redacted').allTextContents()).toEqual(['hidden', 'hidden']);
  expect(await page.content()).not.toContain('4111');
  await page.goto(`${address}deliveries/${dead}`);
  const attempts = page.getByRole('region', { name: 'Attempts' });
  await attempts.getByText('the destination answered 500').waitFor();
  await attempts.getByText('Response headers').click();
  await attempts.getByText('content-type', { exact: false }).first().waitFor();
  expect(await attempts.locator('pre').textContent()).toContain('"wellReceived": false');
  await page.getByRole('link', { name: 'Message', exact: true }).click();
  await page.getByRole('heading', { name: 'http.delivery' }).waitFor();
  await page.getByRole('link', { name: 'Delivery', exact: true }).click();
  await page.getByRole('main').getByRole('link', { name: 'Trace', exact: true }).click();
  await page.locator('.waterfall li').first().waitFor();
});

test('a delivery is cancelled, and a dead one is tried again where it stands [X.10]', async ({
  postgres,
  chromium,
}) => {
  const { office, context, address, dead, scheduled } = await stageOf({ postgres, chromium });
  const { messages } = office.deliveries;
  const page = await openPage(context, `${address}deliveries/${scheduled}`);
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await confirm(page, 'Cancel the delivery', 'not wanted');
  await expect.poll(async () => (await messages.get(scheduled))?.state).toBe('cancelled');
  expect(await lastOf(office, 'cancel')).toMatchObject({
    actor: 'ann',
    messageId: scheduled,
    reason: 'not wanted',
  });
  office.mend();
  await page.goto(`${address}deliveries/${dead}`);
  await page.getByRole('button', { name: 'Retry now' }).waitFor();
  await page.keyboard.press('r');
  await confirm(page, 'Retry now', 'it is mended');
  await page.locator('.timeline').getByText('200').waitFor();
  expect(await messages.get(dead)).toMatchObject({ state: 'delivered' });
  expect(await lastOf(office, 'replay')).toMatchObject({ actor: 'ann', messageId: dead, reason: 'it is mended' });
});

test('a destination is held open and closed by hand [X.10]', async ({ postgres, chromium }) => {
  const { office, context, address } = await stageOf({ postgres, chromium });
  const page = await openPage(context, `${address}destinations`);
  const row = page.locator('tbody tr', { hasText: office.sink });
  const breaker = async () =>
    (await office.deliveries.destinations.list()).find(({ destination }) => destination === office.sink);
  await row.getByRole('button', { name: 'Hold open' }).click();
  await confirm(page, 'Hold open', 'they deploy');
  await row.getByText('held by hand').waitFor();
  expect(await breaker()).toMatchObject({ breaker: 'open', isHeld: true });
  expect(await lastOf(office, 'open-breaker')).toMatchObject({ actor: 'ann', reason: 'they deploy' });
  await row.getByRole('button', { name: 'Close' }).click();
  await confirm(page, 'Close the breaker');
  await row.getByRole('button', { name: 'Hold open' }).waitFor();
  expect(await breaker()).toMatchObject({ breaker: 'closed', isHeld: false });
});

test('an endpoint is registered, changed, disabled, enabled and deleted, and its secret shown and rotated [X.10]', async ({
  postgres,
  chromium,
}) => {
  const { office, context, address } = await stageOf({ postgres, chromium });
  const { endpoints } = office.deliveries;
  const page = await openPage(context, `${address}endpoints`);
  await page.getByRole('button', { name: 'New endpoint …' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('URL').fill(`${office.sink}/ok`);
  await dialog.getByLabel('Event types').fill('crane.*\ncrew.hired');
  await dialog.getByLabel('Headers').fill('X-Tenant: 7\nAuthorization: Bearer x');
  await confirm(page, 'Create the endpoint', 'a new partner');
  await page.waitForURL(/endpoints\/ep_/);
  const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
  expect(await endpoints.get(id)).toMatchObject({
    url: `${office.sink}/ok`,
    eventTypes: ['crane.*', 'crew.hired'],
    headers: { 'X-Tenant': '7', Authorization: 'Bearer x' },
  });
  await page.getByRole('button', { name: 'Change' }).click();
  await dialog.getByLabel('Description').fill('The dock');
  await dialog.getByLabel('Headers').fill('X-Tenant: 8\nAuthorization: [hidden]');
  await confirm(page, 'Save');
  await page.getByText('The dock').waitFor();
  // What was shown as hidden stays what it is.
  expect(await endpoints.get(id)).toMatchObject({ headers: { 'X-Tenant': '8', Authorization: 'Bearer x' } });
  const [first = ''] = (await endpoints.secrets(id)) ?? [];
  await page.getByRole('button', { name: 'Show the secret' }).click();
  await dialog.getByText(first).waitFor();
  await dialog.getByRole('button', { name: 'Close' }).last().click();
  await page.getByRole('button', { name: 'Rotate the secret …' }).click();
  await dialog.getByLabel('Hours').fill('2');
  await dialog.getByRole('button', { name: 'Rotate', exact: true }).click();
  await page.getByRole('dialog', { name: 'Secrets that sign now' }).getByText(first).waitFor();
  const secrets = await endpoints.secrets(id);
  expect(secrets?.slice(1)).toEqual([first]);
  await dialog.getByText(secrets?.[0] ?? 'none').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Disable' }).click();
  await confirm(page, 'Disable', 'their night');
  await page.getByText('Events are not for it').waitFor();
  expect(await endpoints.get(id)).toMatchObject({ state: 'disabled', disabledBecause: 'operator' });
  expect(await lastOf(office, 'disable-endpoint')).toMatchObject({ actor: 'ann', reason: 'their night' });
  await page.getByRole('button', { name: 'Enable' }).click();
  await confirm(page, 'Enable');
  await page.getByRole('button', { name: 'Send a test' }).waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await confirm(page, 'Delete the endpoint', 'gone');
  await page.waitForURL(/endpoints$/);
  expect(await endpoints.get(id)).toBeUndefined();
});

test('an endpoint is tried with a test, what failed is recovered since a time, and a message is sent once more [X.10]', async ({
  postgres,
  chromium,
}) => {
  const { office, context, address, endpoint, failedEvent } = await stageOf({ postgres, chromium });
  const { messages } = office.deliveries;
  office.mend();
  const page = await openPage(context, `${address}endpoints/${endpoint}`);
  const rows = page.locator('table[aria-label="Messages of the endpoint"] tbody tr');
  await page.getByRole('button', { name: 'Send a test' }).click();
  await confirm(page, 'Send');
  await rows.filter({ hasText: 'test.ping' }).getByText('Delivered').waitFor();
  await page.getByRole('button', { name: 'Recover since …' }).click();
  await page.getByRole('dialog').getByLabel('Since').fill('1h');
  await confirm(page, 'Recover', 'they are back');
  await page.getByText('1 message in line again.').waitFor();
  await expect.poll(async () => (await messages.get(failedEvent))?.state).toBe('delivered');
  const again = rows.filter({ hasText: 'ship.sunk' });
  await again.getByText('Delivered').waitFor();
  await again.getByRole('button', { name: 'Resend' }).click();
  await confirm(page, 'Resend', 'they lost it');
  const answers = async (): Promise<number> => {
    const { log } = office.deliveries;
    return (await log.list({ messageIds: [failedEvent], states: ['DELIVERED'] }, { limit: 10 })).items.length;
  };
  await expect.poll(answers).toBe(2);
});

test('queues, flow-control keys and schedules are paused, resumed and set [X.10]', async ({ postgres, chromium }) => {
  const { office, context, address } = await stageOf({ postgres, chromium });
  const { queues, flowControls, schedules } = office.deliveries;
  const page = await openPage(context, `${address}queues`);
  const row = (name: string) => page.locator('tbody tr', { hasText: name });
  await row('letters').getByRole('button', { name: 'At once …' }).click();
  await page.getByRole('dialog').getByLabel('At once').fill('4');
  await confirm(page, 'Set', 'more hands');
  await expect.poll(() => queues.get('letters')).toMatchObject({ parallelism: 4, isPaused: true });
  await row('letters').getByRole('button', { name: 'Resume' }).click();
  await confirm(page, 'Resume');
  await expect.poll(() => queues.get('letters')).toMatchObject({ isPaused: false, lag: 0 });
  expect(await lastOf(office, 'change-queue')).toMatchObject({ actor: 'ann', details: { queue: 'letters' } });
  await page.goto(`${address}queues?view=flow`);
  await row('partner').getByRole('button', { name: 'Pin …' }).click();
  await page.getByRole('dialog').getByLabel('So many a period').fill('3');
  await confirm(page, 'Pin', 'they asked for it');
  await expect.poll(() => flowControls.get('partner')).toMatchObject({ rate: 3, parallelism: 2, isRatePinned: true });
  await row('partner').getByRole('button', { name: 'Pause' }).click();
  await confirm(page, 'Pause');
  await row('partner').getByRole('button', { name: 'Resume' }).click();
  await confirm(page, 'Resume');
  await row('partner').getByRole('button', { name: 'Reset' }).click();
  await confirm(page, 'Reset');
  await row('partner').getByRole('button', { name: 'Unpin' }).click();
  await confirm(page, 'Unpin');
  await expect.poll(() => flowControls.get('partner')).toMatchObject({ isRatePinned: false, isPaused: false });
  const changes = (await office.operator.audit({ verb: 'change-flow', limit: 5 })).items.map(
    ({ details }) => details['change'],
  );
  expect(changes).toEqual(['unpin', 'reset', 'resume', 'pause', 'pin']);
  await page.goto(`${address}schedules`);
  await row('nightly').getByRole('button', { name: 'Pause' }).click();
  await confirm(page, 'Pause', 'holiday');
  await row('nightly').getByText('Paused').waitFor();
  expect(await schedules.get('nightly')).toMatchObject({ isPaused: true });
  await row('nightly').getByRole('button', { name: 'Resume' }).click();
  await confirm(page, 'Resume');
  await expect.poll(async () => (await schedules.get('nightly'))?.isPaused).toBe(false);
  await row('nightly').getByRole('button', { name: 'Delete' }).click();
  await confirm(page, 'Delete the schedule');
  await expect.poll(() => schedules.get('nightly')).toBeUndefined();
});

test('a viewer sees deliveries and no button that would be refused; without a delivery server the pages are not offered [X.9] [X.10]', async ({
  postgres,
  chromium,
}) => {
  const open = await stageOf({ postgres, chromium });
  const { office, context } = open;
  const token = 'a-token-of-a-viewer-here';
  const address = await office.serve({ tokens: [{ token, role: 'viewer', actor: 'wall' }] });
  const page = await openPage(context, address, { expects: /401/ });
  await page.getByLabel('Access token').fill(token);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByText('wall · viewer').waitFor();
  const verbs =
    /^(Retry|Cancel|Pause|Resume|Delete|Pin|Unpin|Reset|At once|Hold|Close$|New|Change|Show|Rotate|Resend|Recover|Send)/;
  for (const [path] of pagesOf(open)) {
    await page.goto(address + path);
    await page.locator('main h1').waitFor();
    await page.locator('.skeleton').first().waitFor({ state: 'detached' });
    expect(await page.getByRole('button', { name: verbs }).allTextContents(), path).toEqual([]);
  }
  const plain = await office.serve({ deliveries: undefined });
  await page.goto(`${plain}deliveries`);
  await page.getByText('This server delivers nothing').waitFor();
  expect(await page.getByRole('navigation').getByRole('link').allTextContents()).not.toContain('Deliveries');
});
