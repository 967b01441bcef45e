import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import type { Operator } from '../../src/operator/index.ts';
import { operatorServer } from '../../src/server/index.ts';
import { operatedShop } from '../mongodb/operated-shop.ts';
import { launchChromium } from '../support/chromium.ts';
import { needs } from '../support/needs.ts';
import { openPage } from './open-console.ts';
import { ALL_RULES, cutOf, violations } from './page-checks.ts';

const test = needs('mongodb', 'chromium');

const CONSOLE = new URL('../../dist/console/', import.meta.url);

/** Serves a console over the operator; answers its address, with a slash at its end. */
async function served(operator: Operator): Promise<string> {
  const server = operatorServer({ operator, localOnly: true, localActor: 'ann', consoleFiles: CONSOLE });
  const http = createServer(server.listener).listen(0, '127.0.0.1');
  await once(http, 'listening');
  onTestFinished(async () => {
    await server.close();
    http.closeAllConnections();
    http.close();
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/`;
}

const NOT_THERE = 'text=Not on MongoDB';

/** Each page with something that is there once it has been read. */
function pagesOf(id: string): readonly (readonly [path: string, sign: string])[] {
  return [
    ['', '.verdict >> text=dead letter'],
    ['messages', 'table[aria-label=Messages] tbody tr'],
    [`messages/${id}`, '.why >> text=no stock for bad1'],
    ['dead-letters', '.groups >> text=NO_STOCK'],
    ['dead-letters?view=list', 'table[aria-label="Dead letters"] tbody tr'],
    ['keys', 'table[aria-label="Held keys"] tbody tr'],
    ['handlers', 'table[aria-label=Handlers] tbody tr'],
    ['idempotency', 'text=No '],
    ['system', 'table[aria-label=Workers] tbody tr'],
    ['audit', 'text=Nothing was changed by hand'],
    ['bulk', NOT_THERE],
    ['breakers', NOT_THERE],
    ['commands', NOT_THERE],
    ['trace?id=req-1', NOT_THERE],
  ];
}

test('every page over a MongoDB shows what there is, or says in a sentence that it is not there, and fits the screen [X.5]', async ({
  mongodb,
  chromium,
}) => {
  const { send, start, dead, operator } = operatedShop(mongodb);
  const [id = ''] = await send(['bad1', 5], ['bad1', 6], ['bad2', 7], ['good', 8]);
  await start();
  await dead(2);
  const browser = await launchChromium(chromium.url);
  onTestFinished(() => browser.close());
  const address = await served(operator);
  for (const [width, rules] of [
    [1_440, ALL_RULES],
    [390, ['color-contrast', 'target-size']],
  ] as const) {
    const page = await openPage(browser.context, address, { width, expects: /501/ });
    const found: string[] = [];
    for (const [path, sign] of pagesOf(id)) {
      await page.goto(address + path);
      await page.locator(sign).first().waitFor();
      const wrong = [...(await cutOf(page, '.table-box')), ...(await violations(page, rules))];
      found.push(...wrong.map((one) => `${path} at ${width}: ${one}`));
    }
    expect(found).toEqual([]);
    await page.goto(address);
    await page.locator('.verdict').waitFor();
    expect(await page.locator('nav.side li a').allInnerTexts()).not.toContain('Bulk');
  }
});

test('a dead letter over a MongoDB is replayed from its page, and a cause with all it has; the audit shows both [X.5] [S1.8]', async ({
  mongodb,
  chromium,
}) => {
  const { send, start, dead, operator, state, done } = operatedShop(mongodb);
  const [id = ''] = await send(['bad1', 5], ['bad2', 7], ['bad3', 9]);
  await start();
  await dead(3);
  state.isMended = true;
  const browser = await launchChromium(chromium.url);
  onTestFinished(() => browser.close());
  const address = await served(operator);
  const page = await openPage(browser.context, `${address}messages/${id}`, { width: 1_440 });
  await page.locator('[data-act=replay]').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Replay' }).click();
  await expect.poll(() => done).toEqual(['bad1:5']);
  await page.goto(`${address}dead-letters`);
  await page.getByRole('button', { name: 'Replay 2' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Replay' }).click();
  await expect.poll(() => done.toSorted()).toEqual(['bad1:5', 'bad2:7', 'bad3:9']);
  await page.goto(`${address}audit`);
  await expect.poll(() => page.locator('text=replay').count()).toBeGreaterThanOrEqual(3);
  expect((await operator.audit()).items.map(({ actor, verb }) => `${actor} ${verb}`)).toEqual(
    Array.from({ length: 3 }, () => 'ann replay'),
  );
});
