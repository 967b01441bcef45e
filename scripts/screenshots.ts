// node scripts/screenshots.ts [address]
//
// Makes docs/images/ anew from a console that runs: start `npm start`, let it work for half an hour so that the chart has something to
// show, then run this. Without an address it is the one that npm start prints. CHROMIUM_PATH names the browser.
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { ROOT } from './run-tool.ts';

interface Picture {
  readonly name: string;
  /** Below the console's address. */
  readonly path: string;
  readonly height: number;
  /** What is done before the picture is taken. */
  readonly before?: (page: Page) => Promise<void>;
}

const FOLDER = join(ROOT, 'docs', 'images');
const WIDTH = 1_440;
const MOST_BYTES = 200_000;

const address = new URL(process.argv[2] ?? 'http://localhost:3000/console/');
const pictures: readonly Picture[] = [
  { name: 'console-overview', path: '', height: 900 },
  { name: 'console-message', path: `messages/${await failedOrder()}`, height: 760 },
  { name: 'console-replay', path: 'dead-letters', height: 760, before: openReplay },
];

mkdirSync(FOLDER, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env['CHROMIUM_PATH'] || '/usr/bin/chromium',
  args: ['--no-sandbox'],
});
for (const colorScheme of ['light', 'dark'] as const) {
  for (const { name, path, height, before } of pictures) {
    const page = await browser.newPage({ colorScheme, viewport: { width: WIDTH, height } });
    await page.goto(new URL(path, address).href);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await before?.(page);
    // What is read in the background has arrived when nothing more is asked; the live connection stays open.
    await page.waitForTimeout(1_500);
    const file = join(FOLDER, `${name}-${colorScheme}.png`);
    await page.screenshot({ path: file });
    await page.close();
    const { size } = statSync(file);
    console.log(`${name}-${colorScheme}.png  ${Math.round(size / 1_000)} kB`);
    if (size > MOST_BYTES) throw new Error(`${file} has ${size} bytes; at most ${MOST_BYTES} are meant for the README`);
  }
}
await browser.close();

/** An order whose charge failed for good. */
async function failedOrder(): Promise<string> {
  const answer = await fetch(new URL('api/dead-letters?handler=charge-card', address));
  const { items } = (await answer.json()) as { readonly items: readonly { readonly messageId: string }[] };
  const id = items.at(-1)?.messageId;
  if (id === undefined) throw new Error('there is no dead letter of charge-card yet; wait half a minute');
  return id;
}

/** The sheet that shows what a replay of a whole group would do. It is planned, not started. */
async function openReplay(page: Page): Promise<void> {
  const group = page.getByRole('listitem').filter({ hasText: 'exchange rate' });
  await group.getByRole('button', { name: /^Replay/ }).click();
  const sheet = page.getByRole('dialog');
  await sheet.getByLabel('Canary').fill('1');
  await sheet.getByRole('button', { name: 'Preview' }).click();
  await sheet.getByRole('heading', { name: 'What it would meet' }).waitFor();
}
