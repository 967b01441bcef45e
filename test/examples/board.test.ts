import { describe, expect, onTestFinished } from 'vitest';
import { serveBoard } from '../../examples/local-page/board.ts';
import type { Board } from '../../examples/local-page/board-state.ts';
import { sharedBrowser } from '../agent-chat/open-page.ts';
import { axeViolations } from '../order-service/axe-violations.ts';
import { needs } from '../support/needs.ts';

const test = needs('chromium');
const browser = sharedBrowser();
const HOSTILE = `<img src=x onerror="document.title='owned'">`;

const BOARD: Board = {
  title: 'An example',
  verdict: '1 dead letter needs you.',
  counts: [
    { name: 'Came in', value: 12_345 },
    { name: 'Dead letters', value: 1, isBad: true },
  ],
  links: [
    { text: 'Operator console', href: '/console/' },
    { text: 'Nowhere', href: `javascript:document.title='owned'` },
  ],
  tables: [
    {
      title: 'What came in',
      columns: ['Name', 'Status', 'At', 'From', 'Message'],
      rows: (['queued', 'running', 'waiting', 'delivered', 'failed', 'discarded'] as const).map((tone) => [
        `${HOSTILE}${'x'.repeat(120)}`,
        { text: tone, tone },
        '15:35:58',
        'portfolio-service',
        { text: 'grow.interview-completed', href: '/console/messages/1' },
      ]),
      empty: 'Nothing.',
    },
    { title: 'Services', columns: ['Service', 'Is'], rows: [['llm', { text: 'up', tone: 'delivered' }]], empty: '' },
    { title: 'Dead letters', columns: ['Handler', 'Why'], rows: [], empty: 'None.' },
  ],
  commands: [{ about: 'Send one', command: `curl -s http://127.0.0.1:1/${'y'.repeat(200)}` }],
};

describe.each([
  ['light', 1_440],
  ['dark', 820],
  ['light', 390],
  ['dark', 390],
] as const)('the page of an example in %s, %i pixels wide', (scheme, width) => {
  test('shows text as text, fits the screen and has nothing that axe finds wrong', async ({ chromium }) => {
    const served = await serveBoard({ read: () => Promise.resolve(BOARD) }, 0);
    onTestFinished(() => served.close());
    const page = await (await browser(chromium.url)).newPage();
    onTestFinished(() => page.close());
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width, height: 800 });
    await page.goto(served.url);
    await page.getByText('1 dead letter needs you.').waitFor();
    expect(await page.title()).toBe('An example');
    expect(await page.getByText(HOSTILE).count()).toBe(6);
    expect(await page.getByText('None.').isVisible()).toBe(true);
    expect(await page.locator('a', { hasText: 'Nowhere' }).getAttribute('href')).toBeNull();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    expect(await axeViolations(page)).toEqual([]);
  });
});

describe('the page of an example', () => {
  test('says that it cannot read, goes on by itself, and leaves alone what did not change', async ({ chromium }) => {
    let problem: Error | undefined;
    let verdict = 'All is well.';
    const read = (): Promise<Board> => (problem ? Promise.reject(problem) : Promise.resolve({ ...BOARD, verdict }));
    const served = await serveBoard({ read }, 0);
    onTestFinished(() => served.close());
    const page = await (await browser(chromium.url)).newPage();
    onTestFinished(() => page.close());
    await page.goto(served.url);
    await page.getByText('All is well.').waitFor();
    const kept = await page.locator('table').first().elementHandle();
    problem = new Error('the database does not answer');
    await page.getByText('the database does not answer').waitFor();
    problem = undefined;
    verdict = 'All is well again.';
    await page.getByText('All is well again.').waitFor();
    await page.getByText('Connected', { exact: true }).waitFor();
    expect(await kept?.evaluate((table) => table.isConnected)).toBe(true);
  });

  test('answers to names of this machine alone, and nothing outside of its folders', async ({ chromium }) => {
    expect(chromium.url).not.toBe('');
    const served = await serveBoard({ read: () => Promise.resolve(BOARD) }, 0);
    onTestFinished(() => served.close());
    const statusOf = async (path: string): Promise<number> => (await fetch(served.url + path)).status;
    expect(await statusOf('/')).toBe(200);
    expect(await statusOf('/local/theme.css')).toBe(200);
    expect(await statusOf('/local/..%2f..%2fpackage.json')).toBe(404);
    expect(await statusOf('/board.ts')).toBe(404);
  });
});
