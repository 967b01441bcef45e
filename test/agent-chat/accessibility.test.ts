import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { describe, expect } from 'vitest';
import { needs } from '../support/needs.ts';
import { startChat } from './chat.ts';
import { ask, noticeOf, openChatPage, sharedBrowser } from './open-page.ts';

const test = needs('chromium');
const browser = sharedBrowser();

interface AxeResult {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[];
  readonly passes: readonly { readonly id: string }[];
}

/** What axe finds against WCAG 2.2 AA on the page as it is now; and that it did look at colours. */
async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const result = await page.evaluate(() => {
    const inPage = globalThis as unknown as { axe: { run(options: object): Promise<AxeResult> } };
    return inPage.axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] });
  });
  expect(result.passes.map((pass) => pass.id)).toContain('color-contrast');
  return result.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' ')}`);
}

// Colours depend on the scheme and sizes on the width, neither on both.
describe.each([
  ['light', 1_280],
  ['dark', 390],
] as const)('in %s, %i pixels wide', (scheme, width) => {
  test('axe finds nothing wrong with the empty page, the notice, the cancelled turn and the error [S2.5]', async ({
    chromium,
  }) => {
    const chat = await startChat([30_000], { message: 'A long message. '.repeat(60) });
    const page = await openChatPage(await browser(chromium.url), chat, { scheme, width });
    expect(await violations(page)).toEqual([]);

    await ask(page, 'hello');
    const notice = noticeOf(page);
    await notice.box.waitFor();
    expect(await violations(page)).toEqual([]);
    await notice.box.getByRole('button', { name: 'Show more' }).click();
    expect(await violations(page)).toEqual([]);

    await notice.cancel.click();
    await page.getByText('The provider is not asked again.').waitFor();
    chat.provider.plan = { ...chat.provider.plan, fault: 'unauthorized' };
    await page.getByRole('button', { name: 'Send' }).waitFor();
    await ask(page, 'again');
    await page.getByText('No answer').waitFor();
    if (width < 1_000) await page.getByRole('button', { name: 'Provider', exact: true }).click();
    expect(await violations(page)).toEqual([]);
  });

  test('nothing is wider than the screen [S2.5]', async ({ chromium }) => {
    const chat = await startChat([30_000], { message: 'x'.repeat(2_000) });
    const page = await openChatPage(await browser(chromium.url), chat, { scheme, width });
    await ask(page, 'y'.repeat(500));
    await noticeOf(page).box.waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    expect(await noticeOf(page).cancel.isVisible()).toBe(true);
  });
});
