import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { describe, expect, test } from 'vitest';
import { type Program, run } from '../agent-chat/process.ts';
import { dataFolder } from '../embedded/data-folder.ts';
import { amount } from '../support/amount.ts';
import { type ShopClient, shopAt } from './shop.ts';

const URL_LINE = /Open\s+(http:\/\/localhost:\d+)/;

interface Started {
  readonly program: Program;
  readonly shop: ShopClient;
}

/** Starts the real program, as `npm start` does. */
async function started(data: string, env: NodeJS.ProcessEnv = {}, file = '../order-service/main.ts'): Promise<Started> {
  // Without customers that come by themselves: orders are counted here.
  const quiet = { PORT: '0', HOLDFAST_ORDERS_SCALE: '10', HOLDFAST_ORDERS_TRAFFIC: 'off' };
  const program = run(file, [], { ...quiet, HOLDFAST_ORDERS_DATA: data, ...env });
  const output = await program.until(URL_LINE);
  return { program, shop: shopAt(URL_LINE.exec(output)?.[1] ?? '') };
}

async function end({ program }: Started, signal: NodeJS.Signals): Promise<number | NodeJS.Signals | null> {
  program.child.kill(signal);
  return program.ended;
}

describe('the order service that npm start runs', () => {
  test('brings its own PostgreSQL, keeps its data, and ends cleanly on Ctrl-C [X.1] [X.18]', async () => {
    const data = dataFolder();
    const first = await started(data, {}, '../../scripts/start.ts');
    expect(first.program.output()).toContain(`kill -9 ${first.program.child.pid}`);
    const page = await fetch(first.shop.url);
    expect(await page.text()).toContain('<title>Order service</title>');
    expect(first.program.output()).toContain(`Console  ${first.shop.url}/console/`);
    await first.shop.place();
    await first.shop.place({ currency: 'XTS' });
    await first.shop.until(2, 'charge-card', 'failed');
    expect(await end(first, 'SIGINT')).toBe(0);

    const second = await started(data);
    const { totals } = await second.shop.state();
    expect(totals).toMatchObject({ orders: 2, deadLetters: 1 });
    await second.shop.until(1, 'email-receipt', 'delivered');
    expect(await end(second, 'SIGTERM')).toBe(0);
    expect(second.program.output()).not.toMatch(/error/i);
  });

  test('ends cleanly in the middle of work with a page open, also when told twice [X.18]', async () => {
    const data = dataFolder();
    const service = await started(data, { HOLDFAST_ORDERS_SCALE: '1' });
    const live = await fetch(`${service.shop.url}/live`);
    expect(live.headers.get('content-type')).toContain('text/event-stream');
    await service.shop.place();
    await service.shop.until(1, 'email-receipt', 'waiting');
    service.program.child.kill('SIGINT');
    expect(await end(service, 'SIGINT')).toBe(0);
    await live.body?.cancel().catch(() => undefined);
  });

  test('leaves its address where psql finds it, for its owner alone [X.1]', async () => {
    const data = dataFolder();
    const service = await started(data);
    const file = join(data, 'url');
    expect(statSync(file).mode & 0o077).toBe(0);
    const client = new Client({ connectionString: readFileSync(file, 'utf8').trim() });
    await client.connect();
    expect((await client.query('select count(*)::int as n from holdfast.outbox')).rows).toEqual([{ n: 0 }]);
    await client.end();
    const other = run('../order-service/main.ts', [], { PORT: '0', HOLDFAST_ORDERS_DATA: data });
    expect(await other.ended).toBe(1);
    expect(other.output()).toContain(`is in use by process ${service.program.child.pid}`);
    expect(await end(service, 'SIGINT')).toBe(0);
  });

  test('takes the port that PORT names or none: when that is taken it says so and ends [X.19]', async () => {
    const service = await started(dataFolder(), { HOLDFAST_ORDERS_TRAFFIC: '' });
    const port = new URL(service.shop.url).port;
    const other = run('../order-service/main.ts', [], { PORT: port, HOLDFAST_ORDERS_DATA: dataFolder() });
    expect(await other.ended).toBe(1);
    expect(other.output()).toBe(`Port ${port} is taken; choose another with PORT=8080 npm start.\n`);
    // Customers come by themselves unless told otherwise.
    await expect.poll(async () => (await service.shop.state()).totals.orders).toBeGreaterThan(0);
  });

  test.each([
    [{ PORT: 'web' }, /^PORT is "web"; write a whole number from 0 to 65535, or leave it out.\n$/],
    [{ HOLDFAST_ORDERS_TRAFFIC: 'some' }, /^HOLDFAST_ORDERS_TRAFFIC is "some"; write on or off, or leave it out.\n$/],
    [{ HOLDFAST_ORDERS_SCALE: '0' }, /^HOLDFAST_ORDERS_SCALE is "0"; write a number from 1 to 1000/],
  ])('refuses %j with what to write instead', async (env, text) => {
    const program = run('../order-service/main.ts', [], { HOLDFAST_ORDERS_DATA: dataFolder(), ...env });
    expect(await program.ended).toBe(1);
    expect(program.output()).toMatch(text);
  });
});

test('killed again and again in the middle of work, nothing is lost and nothing happens twice [S1.5] [X.1] [X.3]', async () => {
  const data = dataFolder();
  // A message that was under way in more processes that died is taken for what killed them, and becomes a dead letter.
  const kills = amount(2, 3);
  const perRound = 12;
  let placed = 0;
  for (let round = 0; round < kills; round++) {
    const service = await started(data);
    // With work in all stages: done, in line, and between two attempts. Where it is done before it is looked at, there is more of it.
    for (let receipts = placed; receipts === placed;) {
      for (let n = 0; n < perRound; n++) await service.shop.place();
      placed += perRound;
      await expect
        .poll(async () => (await service.shop.state()).totals.charged, { interval: 10 })
        .toBeGreaterThan(placed - perRound);
      ({ receipts } = (await service.shop.state()).totals);
    }
    expect(await end(service, 'SIGKILL')).toBe('SIGKILL');
  }
  const service = await started(data);
  const { totals } = await service.shop.untilDone(placed);
  expect(totals).toMatchObject({ orders: placed, twice: 0, deadLetters: 0 });
  expect(await end(service, 'SIGINT')).toBe(0);
});
