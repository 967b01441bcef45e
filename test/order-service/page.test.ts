import type { Locator, Page } from 'playwright-core';
import { describe, expect } from 'vitest';
import { sharedBrowser } from '../agent-chat/open-page.ts';
import { needs } from '../support/needs.ts';
import { openShopPage } from './open-shop-page.ts';
import { startShop } from './shop.ts';

const test = needs('postgres', 'chromium');
const browser = sharedBrowser();
const HOSTILE = `<img src=x onerror="document.title='owned'">`;

function press(page: Page, name: string | RegExp): Promise<void> {
  return page.getByRole('button', { name }).click();
}

/** The row of an order. */
function row(page: Page, number: number): Locator {
  return page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: new RegExp(`^#${number} `) }) });
}

function handler(page: Page, number: number, name: string): Locator {
  return row(page, number).getByRole('listitem').filter({ hasText: name });
}

async function total(page: Page, id: string): Promise<string | null> {
  return page.locator(`#total-${id}`).textContent();
}

describe('the page of the order service', () => {
  test('teaches when there is nothing to show, and takes an order through its three handlers [S0.11]', async ({
    postgres,
    chromium,
  }) => {
    const shop = await startShop(postgres);
    const page = await openShopPage(await browser(chromium.url), shop);
    await page.getByText('No orders yet.').waitFor();
    expect(await page.locator('#curl').textContent()).toContain(`curl ${shop.url}/orders`);
    await press(page, 'Place order');
    await page.getByText('No orders yet.').waitFor({ state: 'hidden' });
    await handler(page, 1, 'dashboard').getByText('Done').waitFor();
    await handler(page, 1, 'charge-card').getByText('Done').waitFor();
    await handler(page, 1, 'email-receipt').getByText('Done at attempt 2').waitFor();
    await page.getByText('every order was counted, charged and mailed once').waitFor();
    for (const id of ['orders', 'counted', 'charged', 'receipts']) expect(await total(page, id)).toBe('1');
    expect(await total(page, 'twice')).toBe('0');
  });

  test('counts down to the next attempt and says what went wrong [X.6]', async ({ postgres, chromium }) => {
    const shop = await startShop(postgres, 1);
    const page = await openShopPage(await browser(chromium.url), shop);
    await press(page, 'Place order');
    const receipt = handler(page, 1, 'email-receipt');
    const words = receipt.getByText(/^Attempt 2 of 5 in \d s$/);
    await words.waitFor();
    const first = await words.textContent();
    expect(await receipt.getByText('the mail provider is overloaded').isVisible()).toBe(true);
    await expect.poll(() => words.textContent()).not.toBe(first);
  });

  test('shows a poison order as a dead letter that can be replayed once the handler is mended [S4.4]', async ({
    postgres,
    chromium,
  }) => {
    const shop = await startShop(postgres);
    const page = await openShopPage(await browser(chromium.url), shop);
    await press(page, 'Place a poison order');
    const dead = page.getByRole('group', { name: 'Dead letter of order 1' });
    await dead.getByText('Dead letter: there is no exchange rate for XTS').waitFor();
    expect(await dead.getByText(/^It failed for good at .* Mend the cause and replay it/).isVisible()).toBe(true);
    await page.getByText('1 dead letter needs you.').waitFor();

    await press(page, 'Fix the handler');
    await page.getByText('It knows what XTS is worth now').waitFor();
    await press(page, 'Replay order 1');
    await handler(page, 1, 'charge-card').getByText('Done, replayed').waitFor();
    await dead.waitFor({ state: 'detached' });
    await page.getByText('every order was counted, charged and mailed once').waitFor();
  });

  test('gives a dead letter up, but not without a reason [S4.1]', async ({ postgres, chromium }) => {
    const shop = await startShop(postgres);
    const page = await openShopPage(await browser(chromium.url), shop);
    await press(page, 'Place a poison order');
    await press(page, 'Discard the dead letter of order 1');
    await press(page, 'Discard it: order 1');
    expect((await shop.state()).totals.discarded).toBe(0);
    await page.getByLabel('Why is it given up?').fill('a test order');
    await page.keyboard.press('Enter');
    await handler(page, 1, 'charge-card').getByText('Discarded').waitFor();
    await page.getByText('everything was done once, or discarded by you').waitFor();
  });

  test('shows what customers write as text, and keeps the focus where it is', async ({ postgres, chromium }) => {
    const shop = await startShop(postgres);
    const page = await openShopPage(await browser(chromium.url), shop);
    await page.getByLabel('Item').fill(HOSTILE);
    await press(page, 'Place ten');
    await row(page, 10).waitFor();
    await press(page, 'Place a poison order');
    const replay = page.getByRole('button', { name: 'Replay order 11' });
    await replay.waitFor();
    await replay.focus();
    await page.getByText('10 orders are on their way.').waitFor({ state: 'hidden' });
    await shop.until(11, 'email-receipt', 'delivered');
    expect(await replay.evaluate((element) => element === document.activeElement)).toBe(true);
    expect(await page.title()).toBe('Order service');
    expect(await row(page, 1).getByText(HOSTILE).isVisible()).toBe(true);
  });

  test('says what is wrong with an order, and no more when that is mended', async ({ postgres, chromium }) => {
    const shop = await startShop(postgres);
    const page = await openShopPage(await browser(chromium.url), shop);
    // Good enough for the browser, not for us.
    await page.getByLabel('E-mail').fill('ada@localhost');
    await press(page, 'Place order');
    await page.getByRole('alert').getByText('email: write an e-mail address').waitFor();
    await page.getByLabel('E-mail').fill('ada@example.org');
    await press(page, 'Place order');
    await row(page, 1).waitFor();
    expect(await page.getByRole('heading', { name: /^#1 / }).isVisible()).toBe(true);
    await page.getByRole('alert').waitFor({ state: 'hidden' });
  });
});
