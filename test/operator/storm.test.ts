import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';
import { amount } from '../support/amount.ts';
import { needs } from '../support/needs.ts';
import { ANN, OperatorDatabase } from './operator-database.ts';
import type { ShopOptions } from './shop-process.ts';

const test = needs('postgres');
const MESSAGES = amount(150, 25_000);
const KILLS = amount(2, 10);

/** Starts a process of the shop; gone when the test ends. */
async function hire(options: ShopOptions): Promise<ChildProcess> {
  const child = fork(fileURLToPath(new URL('shop-process.ts', import.meta.url)), [JSON.stringify(options)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    execArgv: [],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'message');
  return child;
}

test('three processes fail thousands for one cause at once into one group for each handler, whose replay runs each once though it is paused and its processes are killed [X.5] [X.2]', async ({
  postgres,
}) => {
  const database = await OperatorDatabase.open(postgres);
  const { operator, schema } = database;
  await database.sql(`create table $S.broken (); insert into $S.broken default values`);
  await database.sql(`create table $S.ran (id uuid, handler text, process int)`);
  const options = { url: postgres.url, schema };
  const crew = await Promise.all(Array.from({ length: 3 }, () => hire(options)));
  const send = `select $S.delivery_append((select json_agg(json_build_object('id', gen_random_uuid(), 'type', 'order.placed',
    'payload', json_build_object('n', n), 'source', 'test', 'place', n))::text from generate_series(1, $1::int) n))`;
  await database.sql(send, [MESSAGES]);
  const counts = async (): Promise<number[]> => (await operator.groups()).items.map(({ total }) => total);
  await expect.poll(counts, { interval: 100 }).toEqual([MESSAGES, MESSAGES]);
  const groups = (await operator.groups()).items;
  expect(groups.map(({ handler }) => handler).sort()).toEqual(['charge', 'receipt']);
  expect(groups.map(({ frames }) => frames[0])).toEqual(['charge (shop-process.ts)', 'charge (shop-process.ts)']);
  expect(groups.map(({ pending }) => pending)).toEqual([Math.min(MESSAGES, 10_000), Math.min(MESSAGES, 10_000)]);

  await database.sql(`delete from $S.broken`);
  const group = groups.find(({ handler }) => handler === 'charge')?.id ?? '';
  const perSecond = amount(40, 2_000);
  const planned = await operator.planBulk({ verb: 'replay', filter: { group }, perSecond, canary: 3 }, ANN);
  const { id } = planned.bulk;
  expect(planned).toMatchObject({ bulk: { total: MESSAGES }, forecast: [{ count: MESSAGES, workers: 3 }] });
  await operator.startBulk(id, ANN);
  const begun = async (): Promise<number> => {
    const found = await operator.bulk(id);
    return found.kind === 'found' ? MESSAGES - found.bulk.counts.selected : -1;
  };
  await expect.poll(begun, { interval: 5 }).toBeGreaterThan(0);
  expect(await operator.pauseBulk(id, ANN)).toMatchObject({ kind: 'changed' });
  const rested = await begun();
  crew.shift()?.kill('SIGKILL');
  crew.push(await hire(options));
  await operator.stepBulks();
  expect(await begun()).toBe(rested);
  await operator.resumeBulk(id, ANN);
  for (let kill = 1; kill <= KILLS; kill += 1) {
    const part = ((kill - Math.random()) / KILLS) * (MESSAGES - rested);
    await expect.poll(begun, { interval: 5 }).toBeGreaterThanOrEqual(Math.floor(rested + part));
    crew.shift()?.kill('SIGKILL');
    if (crew.length === 1) crew.push(await hire(options));
  }
  const state = async (): Promise<unknown> => {
    const found = await operator.bulk(id);
    return found.kind === 'found' && [found.bulk.state, found.bulk.counts.succeeded];
  };
  await expect.poll(state, { interval: 100 }).toEqual(['done', MESSAGES]);
  const runs = `select count(*)::int as runs, count(distinct id)::int as messages, min(handler) as least, max(handler) as most from $S.ran`;
  expect(await database.sql(runs)).toEqual([{ runs: MESSAGES, messages: MESSAGES, least: 'charge', most: 'charge' }]);
  const replays = `select count(*)::int as n, count(distinct message_id)::int as messages from $S.audit
    where verb = 'replay' and details ->> 'bulk' = $1`;
  expect(await database.sql(replays, [id])).toEqual([{ n: MESSAGES, messages: MESSAGES }]);
  expect(await counts()).toEqual([MESSAGES, MESSAGES]);
});
