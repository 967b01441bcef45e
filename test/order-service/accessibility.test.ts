import { describe, expect } from 'vitest';
import { sharedBrowser } from '../agent-chat/open-page.ts';
import { needs } from '../support/needs.ts';
import { axeViolations } from './axe-violations.ts';
import { openShopPage } from './open-shop-page.ts';
import { startShop } from './shop.ts';

const test = needs('postgres', 'chromium');
const browser = sharedBrowser();

// Colours depend on the scheme and sizes on the width, neither on both.
describe.each([
  ['light', 1_280],
  ['dark', 390],
] as const)('the order service in %s, %i pixels wide', (scheme, width) => {
  test('has nothing that axe finds wrong, empty and with orders in every state, and fits the screen', async ({
    postgres,
    chromium,
  }) => {
    const shop = await startShop(postgres, 1);
    const page = await openShopPage(await browser(chromium.url), shop, { scheme, width });
    await page.getByText('No orders yet.').waitFor();
    expect(await axeViolations(page)).toEqual([]);

    await shop.place({ item: 'x'.repeat(80), email: `${'y'.repeat(60)}@example.org` });
    await shop.place({ currency: 'XTS' });
    await page
      .getByText(/^Attempt 2 of 5 in \d s$/)
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Discard the dead letter of order 2' }).click();
    expect(await axeViolations(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    expect(await page.getByRole('button', { name: 'Replay order 2' }).isVisible()).toBe(true);
  });
});
