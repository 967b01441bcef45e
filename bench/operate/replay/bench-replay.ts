import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { outgoing } from 'holdfast';
import type { Bulk, Operator } from 'holdfast/operator';
import { migrate, postgresOperator } from 'holdfast/postgres';
import type { Pool } from 'pg';
import { type BenchDatabase, poolOn } from '../../engine/bench-database.ts';
import { inTransaction } from '../../engine/holdfast-queue.ts';
import { contestantOf } from '../../result/contestant.ts';
import type { Result } from '../../result/result.ts';
import { inspectReplay } from './inspect-replay.ts';
import { handlersOn, ORDER_BOOKED, ORDER_PLACED } from './replay-process.ts';
import { Shop } from './shop.ts';

const BY = { actor: 'bench', reason: 'the bank is back' };
const KILL_POINTS = 10;
const PROCESSES = 2;
const CANARY = 100;
const PER_SECOND = 1_500;
const BULK_SEND = 1_000;
const LOOK_EVERY_MS = 20;

type Say = (line: string) => void;

interface Options {
  readonly dead: number;
  /** The seed of chance, to do the same once more. Default: another one each time. */
  readonly random: string | undefined;
  readonly say: Say;
}

/**
 * Kills real processes while one bulk operation replays all dead letters at a pace, pauses it and goes on. Afterwards each item has had
 * its effect once.
 */
export async function benchReplay(database: BenchDatabase, { dead, random, say }: Options): Promise<Result> {
  const { url } = database;
  const seed = random === undefined ? randomInt(2 ** 31) : Number(random);
  say(`random ${seed} (--random ${seed} kills at the same points)`);
  const pool = poolOn(url, 4);
  const operator = postgresOperator({ pool });
  try {
    await prepare(pool);
    await makeDead(url, pool, dead, say);
    const id = await planned(operator, pool, say);
    const shop = new Shop(url, 'mended');
    await shop.open(PROCESSES);
    const began = performance.now();
    await operator.startBulk(id, BY);
    const { kills, hits, pausedMs } = await disturb({ operator, pool, shop, id, chance: chanceOf(seed), dead, say });
    const bulk = await until(operator, id, ({ state }) => state === 'done');
    await shop.close();
    const seconds = (performance.now() - began - pausedMs) / 1_000;
    say(
      `replayed ${bulk.total} in ${seconds.toFixed(1)} s besides the pause: ${(bulk.total / seconds).toFixed(0)} a second`,
    );
    const isRight = await inspectReplay({ operator, pool, bulk, hits, kills, perSecond: PER_SECOND, say });
    const rounds = [bulk.total / seconds];
    return {
      id: 'replay',
      measure: `replay of ${bulk.total.toLocaleString('en')} dead letters at a pace of ${PER_SECOND.toLocaleString('en')} a second, while processes are killed`,
      contestants: [contestantOf({ name: 'holdfast', role: 'ours', rounds })],
      verdicts: [{ goal: 'each effect once, the pace kept', isReached: isRight }],
      note: `${kills} processes were killed, ${hits} of them in the middle of a transaction.`,
    };
  } finally {
    await pool.end();
  }
}

async function prepare(pool: Pool): Promise<void> {
  const client = await pool.connect();
  await migrate(client);
  client.release();
  await pool.query('create table still_broken (message text)');
}

/** Dead letters as they come about: sent, tried, and failed for good. */
async function makeDead(url: string, pool: Pool, dead: number, say: Say): Promise<void> {
  const shop = new Shop(url, 'broken');
  await shop.open(PROCESSES);
  const relay = handlersOn(pool, () => false);
  for (let sent = 0; sent < dead; sent += BULK_SEND) {
    const orders = Array.from({ length: Math.min(BULK_SEND, dead - sent) }, (_, n) => sent + n);
    const messages = orders.map((n) => outgoing(n % 2 === 0 ? ORDER_PLACED : ORDER_BOOKED, { orderId: `ord_${n}` }));
    await inTransaction(pool, (tx) => relay.sendAll(tx, messages));
  }
  const count = async (): Promise<number> =>
    Number((await pool.query<{ n: string }>('select count(*) as n from holdfast.delivery where state = 2')).rows[0]?.n);
  while ((await count()) < dead) await sleep(100);
  await shop.close();
  say(`${dead} messages have failed for good`);
}

/** Plans all of them. One in a thousand, of those behind the canaries, fails again. */
async function planned(operator: Operator, pool: Pool, say: Say): Promise<string> {
  const before = performance.now();
  const { bulk } = await operator.planBulk({ verb: 'replay', filter: {}, canary: CANARY, perSecond: PER_SECOND }, BY);
  say(`planned ${bulk.total} in ${((performance.now() - before) / 1_000).toFixed(2)} s`);
  await pool.query(
    `insert into still_broken select d.payload ->> 'orderId' from holdfast.bulk_item i
     join holdfast.delivery d on d.id = i.id and d.handler = i.handler
     where i.bulk = $1 and i.place > ${CANARY} and i.place % greatest(1, least(1000, $2::int / 10)) = 0`,
    [bulk.id, bulk.total],
  );
  return bulk.id;
}

interface Scene {
  readonly operator: Operator;
  readonly pool: Pool;
  readonly shop: Shop;
  readonly id: string;
  readonly chance: () => number;
  readonly dead: number;
  readonly say: Say;
}

/** Ten kills and a pause, each once so many have begun. Answers how many kills hit a process that was in the middle of something. */
async function disturb(
  scene: Scene,
): Promise<{ readonly kills: number; readonly hits: number; readonly pausedMs: number }> {
  const { operator, shop, id, chance, dead, say } = scene;
  const points = Array.from({ length: KILL_POINTS }, () => Math.floor(CANARY + chance() * (dead * 0.95 - CANARY)));
  const pauseAt = Math.floor(dead * (0.3 + chance() * 0.4));
  let kills = 0;
  let hits = 0;
  let pausedMs = 0;
  let isPaused = false;
  for (const [n, point] of points.toSorted((a, b) => a - b).entries()) {
    if (!isPaused && point > pauseAt) {
      pausedMs = await pauseFor(scene, pauseAt);
      isPaused = true;
    }
    const bulk = await until(operator, id, (one) => one.total - one.counts.selected >= point);
    if (shop.names.length === 0) await shop.settled();
    // Most often who carries the operation on; every third time all of them at once.
    const keeper = await housekeeper(scene);
    const names = n % 3 === 2 ? shop.names : shop.names.filter((name) => name === keeper);
    for (const name of names.length > 0 ? names : shop.names.slice(0, 1)) {
      const open = await shop.kill(name, () => transactionsOf(scene, name));
      const { selected, started } = bulk.counts;
      kills += 1;
      if (open > 0) hits += 1;
      say(
        `killed ${name}${name === keeper ? ', which carried it on,' : ''} at ${bulk.total - selected} of ${dead}: ${started} on their way, ${open} transactions open`,
      );
    }
  }
  if (!isPaused) pausedMs = await pauseFor(scene, pauseAt);
  return { kills, hits, pausedMs };
}

/** While it is paused nothing begins. Answers how long that was. */
async function pauseFor({ operator, id, say }: Scene, point: number): Promise<number> {
  await until(operator, id, (one) => one.total - one.counts.selected >= point);
  const before = performance.now();
  await operator.pauseBulk(id, BY);
  const still = await until(operator, id, ({ counts }) => counts.started === 0);
  await sleep(500);
  const later = await until(operator, id, () => true);
  say(`paused at ${still.total - still.counts.selected}; half a second later ${later.total - later.counts.selected}`);
  if (later.counts.selected !== still.counts.selected) throw new Error('something began while it was paused');
  await operator.resumeBulk(id, BY);
  return performance.now() - before;
}

async function housekeeper({ pool }: Scene): Promise<string | undefined> {
  const { rows } = await pool.query<{ name: string }>(
    'select w.name from holdfast.lease l join holdfast.worker w on w.id = l.owner where l.unit = -1 and w.expires_at > now()',
  );
  return rows[0]?.name;
}

/** How many transactions a process has open. It stands still: what is counted is what the kill interrupts. */
async function transactionsOf({ pool }: Scene, name: string): Promise<number> {
  const { rows } = await pool.query<{ n: string }>(
    'select count(*) as n from pg_stat_activity where application_name = $1 and xact_start is not null',
    [name],
  );
  return Number(rows[0]?.n);
}

async function until(operator: Operator, id: string, isSo: (bulk: Bulk) => boolean): Promise<Bulk> {
  for (;;) {
    const found = await operator.bulk(id);
    if (found.kind === 'not-found') throw new Error('the operation is gone');
    if (isSo(found.bulk)) return found.bulk;
    if (found.bulk.state === 'paused' && found.bulk.pausedFor?.includes('canar') === true) {
      throw new Error(found.bulk.pausedFor);
    }
    await sleep(LOOK_EVERY_MS);
  }
}

/** Chance that can be repeated (mulberry32). */
function chanceOf(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
