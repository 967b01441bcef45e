import type { BrowserContext, Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import type { ShopClient } from './shop.ts';

export interface ShopPageOptions {
  readonly scheme?: 'light' | 'dark';
  readonly width?: number;
}

/** Opens the shop's page and waits until it is connected. What the page reports as an error fails the test at its end. */
export async function openShopPage(
  context: BrowserContext,
  shop: ShopClient,
  { scheme = 'light', width = 1_280 }: ShopPageOptions = {},
): Promise<Page> {
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => {
    // The browser notes every refusal; the page says what was refused.
    if (message.type() === 'error' && !message.text().includes('status of 400')) errors.push(message.text());
  });
  onTestFinished(async () => {
    await page.close();
    expect(errors).toEqual([]);
  });
  await page.emulateMedia({ colorScheme: scheme });
  await page.setViewportSize({ width, height: 800 });
  await page.goto(shop.url);
  await page.getByText('Connected', { exact: true }).waitFor();
  return page;
}
