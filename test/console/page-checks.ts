import axe from 'axe-core';
import type { Page } from 'playwright-core';

/** Tables and texts of the page that are wider than what shows them. On a phone a cut text that opens is fine, a cut table is not. */
export function cutOf(page: Page, which: string): Promise<string[]> {
  return page.evaluate((selector) => {
    const cut = [document.documentElement, ...document.querySelectorAll(selector)].filter((element) => {
      const isClipped =
        getComputedStyle(element).overflowX !== 'visible' && element.scrollWidth > element.clientWidth + 1;
      return isClipped || element.getBoundingClientRect().right > innerWidth + 1;
    });
    return cut.map((element) => `${element.tagName}.${element.className} is cut`);
  }, which);
}

/** What is wrong with the page on paper of A4, whatever theme the screen has. */
export async function wrongOnPaper(page: Page): Promise<string[]> {
  const { width, height } = page.viewportSize() ?? { width: 0, height: 0 };
  await page.emulateMedia({ media: 'print' });
  await page.setViewportSize({ width: 703, height: 994 });
  const found = await cutOf(page, 'main :not(.hidden, svg *, .sparkline, .chart *)');
  const ground = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  if (ground !== 'rgb(255, 255, 255)') found.push(`the ground is ${ground}`);
  if (await page.getByRole('navigation').first().isVisible()) found.push('the navigation is printed');
  await page.emulateMedia({ media: 'screen' });
  await page.setViewportSize({ width, height });
  return found.map((one) => `on paper ${one}`);
}

interface AxeResult {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[];
}

/** What axe finds against WCAG 2.2 AA on the page as it is now. */
export async function violations(page: Page, rules: readonly string[]): Promise<string[]> {
  // The page's policy forbids scripts of others, as it should: the test's own comes through the debugger.
  await page.evaluate(axe.source);
  const result = await page.evaluate((runOnly) => {
    const inPage = globalThis as unknown as { axe: { run(options: object): Promise<AxeResult> } };
    return inPage.axe.run({ resultTypes: ['violations'], runOnly });
  }, rules);
  return result.violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 300)).join('\n')}`);
}

/** What `violations` looks for: all that WCAG 2.2 AA asks for, and what is good besides. */
export const ALL_RULES: readonly string[] = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
