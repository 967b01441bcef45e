import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, expect, onTestFinished } from 'vitest';
import { launchChromium } from '../support/chromium.ts';
import type { TestServer } from '../support/needs.ts';
import { fillShop, openShop, type Shop } from './shop.ts';

/** A filled shop and a browser that all tests of a file share. */
export interface Stage {
  readonly shop: Shop;
  readonly context: BrowserContext;
  /** Of an admin; with a slash at its end. */
  readonly address: string;
  readonly failed: string;
  readonly scheduled: string;
  readonly parked: string;
}

/** Opens the shop and the browser once for a file; they are closed after its last test. */
export function sharedStage(): (servers: {
  readonly postgres: TestServer;
  readonly chromium: TestServer;
}) => Promise<Stage> {
  let stage: ReturnType<typeof openStage> | undefined;
  afterAll(async () => {
    const open = await stage;
    await open?.closeBrowser();
    await open?.shop.close();
  });
  return ({ postgres, chromium }) => (stage ??= openStage(postgres, chromium));
}

async function openStage(
  postgres: TestServer,
  chromium: TestServer,
): Promise<Stage & { readonly closeBrowser: () => Promise<void> }> {
  const [shop, browser] = await Promise.all([
    openShop({ url: postgres.url, schema: `${postgres.namespace}_console` }),
    launchChromium(chromium.url),
  ]);
  await browser.context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const ids = await fillShop(shop);
  const address = await shop.serve({ localActor: 'ann' });
  return { shop, context: browser.context, closeBrowser: browser.close, address, ...ids };
}

export interface PageOptions {
  readonly scheme?: 'light' | 'dark';
  readonly width?: number;
  /** Answers of the server that are no failure of the page. */
  readonly expects?: RegExp;
}

/** Opens a page of the console. What it reports as an error, or what the policy of the page forbids, fails the test at its end. */
export async function openPage(context: BrowserContext, url: string, options: PageOptions = {}): Promise<Page> {
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' && options.expects?.test(message.text()) !== true) errors.push(message.text());
  });
  onTestFinished(async () => {
    await page.close();
    expect(errors).toEqual([]);
  });
  await page.emulateMedia({ colorScheme: options.scheme ?? 'light' });
  await page.setViewportSize({ width: options.width ?? 1_280, height: 900 });
  await page.goto(url);
  return page;
}
