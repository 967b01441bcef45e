import { expect } from 'vitest';
import { needs } from '../support/needs.ts';
import { openPage, sharedStage } from './open-console.ts';

const test = needs('postgres', 'chromium');
const stageOf = sharedStage();

test('on a phone a tap on the key of a message opens the message, as a tap anywhere on its card does', async ({
  postgres,
  chromium,
}) => {
  const { context, address } = await stageOf({ postgres, chromium });
  const page = await openPage(context, `${address}messages`, { width: 390 });
  const row = page.locator('table[aria-label=Messages] tbody tr', { has: page.locator('.key-link') }).first();
  await row.waitFor();
  const id = (await row.getAttribute('data-row')) ?? '';
  const key = await row.locator('.key-link').boundingBox();
  expect(key).not.toBeNull();
  await page.mouse.click((key?.x ?? 0) + 10, (key?.y ?? 0) + 5);
  await expect.poll(() => new URL(page.url()).search).toBe(`?open=${id}`);

  const wide = await openPage(context, `${address}messages`, { width: 1_280 });
  await wide.locator('.key-link').first().click();
  await expect.poll(() => new URL(wide.url()).searchParams.has('key')).toBe(true);
});
