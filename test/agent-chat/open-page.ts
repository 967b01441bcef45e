import type { BrowserContext, Locator, Page } from 'playwright-core';
import { afterAll, expect, onTestFinished } from 'vitest';
import { launchChromium } from '../support/chromium.ts';
import type { Chat } from './chat.ts';

export interface PageOptions {
  readonly transport?: 'ws' | 'lines';
  readonly scheme?: 'light' | 'dark';
  readonly width?: number;
  /** Prepares the page before it loads. */
  readonly before?: (page: Page) => Promise<void>;
}

/** Gives pages of one browser that all tests of the file share. */
export function sharedBrowser(): (program: string) => Promise<BrowserContext> {
  let launched: ReturnType<typeof launchChromium> | undefined;
  afterAll(async () => (await launched)?.close());
  return async (program) => (await (launched ??= launchChromium(program))).context;
}

/** Opens the chat's page and waits until it is connected. What the page reports as an error fails the test at its end. */
export async function openChatPage(context: BrowserContext, chat: Chat, options: PageOptions = {}): Promise<Page> {
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text());
  });
  onTestFinished(async () => {
    await page.close();
    expect(errors).toEqual([]);
  });
  await page.emulateMedia({ colorScheme: options.scheme ?? 'light' });
  await page.setViewportSize({ width: options.width ?? 1_280, height: 800 });
  await options.before?.(page);
  await page.goto(`${chat.url}/#c=${chat.conversationId}&t=${options.transport ?? 'ws'}`);
  await page.getByText('Connected', { exact: true }).waitFor();
  return page;
}

/** Types the question and sends it with the keyboard. */
export async function ask(page: Page, question: string): Promise<void> {
  await page.getByLabel('Your message').fill(question);
  await page.keyboard.press('Enter');
}

/** The notice on the page. */
export function noticeOf(page: Page): {
  readonly box: Locator;
  readonly countdown: Locator;
  readonly cancel: Locator;
  readonly message: Locator;
} {
  const box = page.getByRole('group', { name: 'Provider retry' });
  return {
    box,
    countdown: box.getByRole('timer'),
    cancel: box.getByRole('button', { name: 'Cancel the retry' }),
    message: box.locator('[part=message]'),
  };
}
