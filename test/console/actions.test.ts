import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import type { AuditRecord } from '../../src/operator/index.ts';
import { needs } from '../support/needs.ts';
import { openPage, sharedStage } from './open-console.ts';
import { runModule, type Shop } from './shop.ts';

const test = needs('postgres', 'chromium');
const stageOf = sharedStage();

/** The newest entry of the audit with this verb. */
async function lastOf(shop: Shop, verb: AuditRecord['verb']): Promise<AuditRecord | undefined> {
  return (await shop.operator.audit({ verb, limit: 1 })).items[0];
}

async function statusOf(shop: Shop, id: string): Promise<string | undefined> {
  const found = await shop.operator.show(id);
  return found.kind === 'found'
    ? found.message.deletedAt === undefined
      ? found.message.status
      : 'deleted'
    : undefined;
}

/** Fills in the reason and presses the button of the open dialog, and waits until it has closed. */
async function confirm(page: Page, verb: string, reason?: string): Promise<void> {
  const dialog = page.getByRole('dialog');
  if (reason !== undefined) await dialog.getByLabel(/^Reason/).fill(reason);
  await dialog.getByRole('button', { name: verb, exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
}

/** A receipt that could not be sent: the mail server is down from now on. */
async function deadMail(shop: Shop, customer: string): Promise<string> {
  shop.weather.isMailDown = true;
  const id = await shop.send({ customer, email: `${customer}@down.test` });
  await expect.poll(() => statusOf(shop, id)).toBe('failed');
  return id;
}

test('a message is edited with its difference shown, the old payload is kept, and it is replayed [X.5]', async ({
  postgres,
  chromium,
}) => {
  const { shop, context, address } = await stageOf({ postgres, chromium });
  const run = { runId: 'run_e', moduleId: 'publish' };
  const { commandId: id } = await shop.inTransaction((tx) => shop.commands.send(tx, runModule, run));
  await expect.poll(() => statusOf(shop, id)).toBe('failed');
  const page = await openPage(context, `${address}messages/${id}`);
  await page.getByRole('button', { name: 'Edit and replay' }).click();
  const field = page.getByLabel(/^Payload, version 0/);
  await field.fill('{ "runId": ');
  await page.getByText('This is not JSON').waitFor();
  await field.fill(JSON.stringify({ ...run, moduleId: 'mended' }));
  expect(await page.locator('.diff .added').allTextContents()).toEqual([
    expect.stringContaining('"moduleId": "mended"'),
  ]);
  expect(await page.locator('.diff .removed').allTextContents()).toEqual([
    expect.stringContaining('"moduleId": "publish"'),
  ]);
  await confirm(page, 'Save version 1 and replay', 'it had a title after all');
  await expect.poll(() => statusOf(shop, id)).toBe('delivered');
  expect(await lastOf(shop, 'edit')).toMatchObject({ actor: 'ann', messageId: id, reason: 'it had a title after all' });
  await page.getByRole('heading', { name: 'Version 0', exact: true }).waitFor();
});

test('a dead letter is replayed from its page, all of it or chosen handlers, with who and why [X.5]', async ({
  postgres,
  chromium,
}) => {
  const { shop, context, address } = await stageOf({ postgres, chromium });
  const id = await deadMail(shop, 'cus_one');
  shop.weather.isMailDown = false;
  const page = await openPage(context, `${address}messages/${id}`);
  await page.getByRole('button', { name: 'Replay', exact: true }).click();
  await confirm(page, 'Replay', 'the mail server is back');
  await page.getByText('1 handler runs again.').waitFor();
  await expect.poll(() => statusOf(shop, id)).toBe('delivered');
  expect(await lastOf(shop, 'replay')).toMatchObject({
    actor: 'ann',
    messageId: id,
    reason: 'the mail server is back',
  });
  await page.getByRole('button', { name: 'Replay chosen …' }).click();
  await page.getByRole('dialog').getByLabel('shop/email-receipt').check();
  await page.getByRole('dialog').getByLabel('Also run again').check();
  await confirm(page, 'Replay the chosen');
  await expect
    .poll(() => lastOf(shop, 'rerun'))
    .toMatchObject({ actor: 'ann', messageId: id, handler: 'email-receipt' });
});

test('what the server refuses is told in the dialog with the next step, and nothing is changed [X.5]', async ({
  postgres,
  chromium,
}) => {
  const { shop, context, address, failed } = await stageOf({ postgres, chromium });
  const page = await openPage(context, `${address}messages/${failed}`, { expects: /409/ });
  await page.getByRole('button', { name: 'Replay chosen …' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('shop/dashboard').check();
  await dialog.getByRole('button', { name: 'Replay the chosen' }).click();
  await dialog.getByRole('alert').waitFor();
  expect(await dialog.getByRole('alert').textContent()).toContain('These handlers have succeeded.');
  expect(await statusOf(shop, failed)).toBe('failed');
});

test('a message is discarded only with a reason, and a scheduled one is cancelled [X.5]', async ({
  postgres,
  chromium,
}) => {
  const { shop, context, address, failed, scheduled } = await stageOf({ postgres, chromium });
  const page = await openPage(context, `${address}messages/${failed}`);
  await page.getByRole('button', { name: 'Discard' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Discard', exact: true }).click();
  expect(
    await page
      .getByRole('dialog')
      .getByLabel(/^Reason/)
      .evaluate((field: HTMLInputElement) => field.validity.valueMissing),
  ).toBe(true);
  await confirm(page, 'Discard', 'a test order');
  await expect.poll(() => statusOf(shop, failed)).toBe('deleted');
  expect(await lastOf(shop, 'discard')).toMatchObject({ actor: 'ann', messageId: failed, reason: 'a test order' });
  await page.goto(`${address}messages/${scheduled}`);
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await confirm(page, 'Cancel the message', 'withdrawn');
  await expect.poll(() => statusOf(shop, scheduled)).toBe('deleted');
  expect(await lastOf(shop, 'cancel')).toMatchObject({ actor: 'ann', messageId: scheduled, reason: 'withdrawn' });
});

test('a group is resolved and reopened by undo, ignored, and reopened [X.5]', async ({ postgres, chromium }) => {
  const { shop, context, address } = await stageOf({ postgres, chromium });
  const page = await openPage(context, `${address}dead-letters?handler=shop%2Fcommands`);
  const card = page.locator('.group', { hasText: 'the page has no title' });
  await card.getByRole('button', { name: 'Resolve' }).click();
  await card.waitFor({ state: 'detached' });
  expect(await lastOf(shop, 'resolve-group')).toMatchObject({ actor: 'ann' });
  await page.getByRole('button', { name: 'Undo' }).click();
  await card.getByRole('button', { name: 'Ignore' }).click();
  await card.waitFor({ state: 'detached' });
  expect(await lastOf(shop, 'ignore-group')).toMatchObject({ actor: 'ann' });
  await page.getByRole('link', { name: 'Ignored' }).click();
  await card.getByRole('button', { name: 'Reopen' }).click();
  await expect
    .poll(async () => (await shop.operator.groups({ handler: 'shop/commands' })).items[0]?.state)
    .toBe('open');
});

test('chosen dead letters are replayed in bulk: preview, canary, progress that survives a reload, and what failed again [X.5]', async ({
  postgres,
  chromium,
}) => {
  const { shop, context, address } = await stageOf({ postgres, chromium });
  const ids = [];
  for (const customer of ['cus_b1', 'cus_b2', 'cus_b3']) ids.push(await deadMail(shop, customer));
  const page = await openPage(context, `${address}dead-letters?view=list&handler=shop%2Femail-receipt&search=cus_b`);
  await page.locator('tbody tr').nth(2).waitFor();
  await page.keyboard.press('j');
  await page.keyboard.press('x');
  await page.getByRole('button', { name: 'Replay 1 selected …' }).waitFor();
  await page.keyboard.press('x');
  await page.getByRole('button', { name: 'Replay all 3 matching …' }).click();
  const sheet = page.getByRole('dialog');
  await sheet.getByLabel(/^Canary/).fill('1');
  await sheet.getByLabel(/^Pace/).fill('50');
  await sheet.getByRole('button', { name: 'Preview' }).click();
  await sheet.getByText('3 dead letters').waitFor();
  await sheet.getByText('1 worker ready').waitFor();
  await confirm(page, 'Replay 3', 'trying again');
  await page.waitForURL(/\/bulk\/[0-9a-f-]+$/);
  // The mail server is still down: the canary fails, and the rest waits.
  await page.getByText('Paused', { exact: true }).first().waitFor();
  await page.reload();
  await page.locator('table[aria-label=Items] tbody tr', { hasText: 'ECONNREFUSED' }).waitFor();
  shop.weather.isMailDown = false;
  await page.getByRole('button', { name: 'Resume' }).click();
  await confirm(page, 'Resume', 'the server is back');
  await page.locator('.page-head').getByText('Done', { exact: true }).waitFor();
  expect(await lastOf(shop, 'start-bulk')).toMatchObject({ actor: 'ann', reason: 'trying again' });
  expect(await lastOf(shop, 'resume-bulk')).toMatchObject({ actor: 'ann', reason: 'the server is back' });
  const states = await Promise.all(ids.map((id) => statusOf(shop, id)));
  expect(states.filter((state) => state === 'delivered')).toHaveLength(2);
});

test('a bulk operation is paused, and cancelled with how many are left; a group is discarded with a reason [X.5]', async ({
  postgres,
  chromium,
}) => {
  const { shop, context, address } = await stageOf({ postgres, chromium });
  for (const customer of ['cus_p1', 'cus_p2', 'cus_p3']) await deadMail(shop, customer);
  const page = await openPage(context, `${address}dead-letters?view=list&search=cus_p`);
  await page.getByRole('button', { name: 'Replay all 3 matching …' }).click();
  await page.getByRole('dialog').getByLabel(/^Pace/).fill('0.1');
  await page.getByRole('dialog').getByRole('button', { name: 'Preview' }).click();
  await confirm(page, 'Replay 3');
  await page.getByRole('button', { name: 'Pause', exact: true }).click();
  await confirm(page, 'Pause', 'wait');
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await page
    .getByRole('dialog')
    .getByRole('button', { name: /^Cancel \d/ })
    .click();
  await page.locator('.page-head').getByText('Cancelled').waitFor();
  expect(await lastOf(shop, 'pause-bulk')).toMatchObject({ actor: 'ann', reason: 'wait' });
  expect(await lastOf(shop, 'cancel-bulk')).toMatchObject({ actor: 'ann' });
  const found = await shop.operator.groups({ handler: 'shop/commands' });
  await page.goto(`${address}dead-letters/groups/${found.items[0]?.id}`);
  await page.getByRole('button', { name: /^Discard \d/ }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Preview' }).click();
  await page.getByRole('dialog').getByText('1 dead letter', { exact: true }).waitFor();
  await confirm(page, 'Discard 1', 'never needed');
  await page.locator('.page-head').getByText('Done', { exact: true }).waitFor();
  expect((await shop.operator.deadLetters({ handler: 'shop/commands' })).items).toEqual([]);
});

test('a key is released, its head is skipped, and it is replayed in order [X.4]', async ({ postgres, chromium }) => {
  const { shop, context, address } = await stageOf({ postgres, chromium });
  for (const customer of ['cus_k1', 'cus_k2', 'cus_k3']) await deadMail(shop, customer);
  const page = await openPage(context, `${address}keys?handler=email-receipt`);
  const row = (key: string) => page.locator('tbody tr', { hasText: key });
  await row('cus_k1').getByRole('button', { name: 'Release' }).click();
  await confirm(page, 'Release', 'let it go');
  await row('cus_k1').waitFor({ state: 'detached' });
  await row('cus_k2').getByRole('button', { name: 'Skip' }).click();
  await confirm(page, 'Skip 1 message', 'not wanted');
  await row('cus_k2').waitFor({ state: 'detached' });
  shop.weather.isMailDown = false;
  await row('cus_k3').getByRole('button', { name: 'Replay' }).click();
  await confirm(page, 'Replay in order', 'back again');
  await row('cus_k3').waitFor({ state: 'detached' });
  expect(await lastOf(shop, 'release')).toMatchObject({ actor: 'ann', reason: 'let it go' });
  expect(await lastOf(shop, 'skip')).toMatchObject({ actor: 'ann', reason: 'not wanted' });
  expect(await lastOf(shop, 'replay')).toMatchObject({ actor: 'ann', reason: 'back again' });
});

test('handlers are paused, limited and retired, and everything is paused and goes on by undo [X.18]', async ({
  postgres,
  chromium,
}) => {
  const { shop, context, address } = await stageOf({ postgres, chromium });
  const page = await openPage(context, `${address}handlers`);
  const row = page.locator('tbody tr', { hasText: 'shop/remind' });
  const handler = async () => (await shop.operator.handlers()).find((one) => one.handler === 'remind');
  await row.getByRole('button', { name: 'Pause' }).click();
  await confirm(page, 'Pause', 'payday');
  await row.getByText('Paused').waitFor();
  expect((await handler())?.pausedAt).toBeInstanceOf(Date);
  await row.getByRole('button', { name: 'Resume' }).click();
  await row.getByText('On', { exact: true }).waitFor();
  await row.getByRole('button', { name: 'Limit' }).click();
  await page
    .getByRole('dialog')
    .getByLabel(/^Runs at once/)
    .fill('3');
  await confirm(page, 'Set the limit', 'spare it');
  await expect.poll(async () => (await handler())?.limit).toBe(3);
  const old = page.locator('tbody tr', { hasText: 'legacy/archive' });
  await old.getByRole('button', { name: 'Retire' }).click();
  await confirm(page, 'Retire', 'its code is gone');
  await old.getByText('Retired').waitFor();
  expect(await lastOf(shop, 'retire')).toMatchObject({ actor: 'ann', handler: 'archive', reason: 'its code is gone' });
  await page.getByRole('button', { name: 'Pause everything' }).click();
  await confirm(page, 'Pause everything', 'maintenance');
  await page.getByText('Everything is paused: nothing').waitFor();
  await page.locator('.toast', { hasText: 'Everything is paused' }).getByRole('button', { name: 'Undo' }).click();
  await expect.poll(async () => (await shop.operator.stats({ countDelivered: false })).isPaused).toBe(false);
  expect(await lastOf(shop, 'pause')).toMatchObject({ actor: 'ann', handler: 'remind', reason: 'payday' });
  expect(await lastOf(shop, 'resume')).toMatchObject({ actor: 'ann', handler: 'remind' });
  expect(await lastOf(shop, 'limit')).toMatchObject({ actor: 'ann', reason: 'spare it' });
  expect(await lastOf(shop, 'pause-all')).toMatchObject({ actor: 'ann', reason: 'maintenance' });
  expect(await lastOf(shop, 'resume-all')).toMatchObject({ actor: 'ann' });
});

test('a breaker is held open and closed again by hand [X.10]', async ({ postgres, chromium }) => {
  const { shop, context, address } = await stageOf({ postgres, chromium });
  const page = await openPage(context, `${address}breakers`);
  const row = page.locator('tbody tr', { hasText: 'billing/bank' });
  const breaker = async () => (await shop.operator.breakers()).items.find((one) => one.name === 'bank')?.state;
  await row.getByRole('button', { name: 'Hold open' }).click();
  await confirm(page, 'Hold open', 'the bank asked us');
  await expect.poll(breaker).toBe('open');
  await row.getByRole('button', { name: 'Close' }).click();
  await confirm(page, 'Close the breaker', 'they are back');
  await expect.poll(breaker).toBe('closed');
  expect(await lastOf(shop, 'open-breaker')).toMatchObject({ actor: 'ann', reason: 'the bank asked us' });
  expect(await lastOf(shop, 'close-breaker')).toMatchObject({ actor: 'ann', reason: 'they are back' });
  await page.goto(`${address}audit?verb=open-breaker`);
  await page.locator('tbody tr', { hasText: 'the bank asked us' }).waitFor();
});
