import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

interface AxeResult {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[];
  readonly passes: readonly { readonly id: string }[];
}

/** What axe finds against WCAG 2.2 AA on the page as it is now; and that it did look at colours. */
export async function axeViolations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const result = await page.evaluate(() => {
    const inPage = globalThis as unknown as { axe: { run(options: object): Promise<AxeResult> } };
    return inPage.axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] });
  });
  expect(result.passes.map((pass) => pass.id)).toContain('color-contrast');
  return result.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' ')}`);
}
