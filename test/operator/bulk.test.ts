import { Pool } from 'pg';
import { describe, expect, onTestFinished } from 'vitest';
import type { Bulk, BulkOutcome, BulkRequest } from '../../src/operator/bulk.ts';
import { postgresOperator } from '../../src/postgres/operator/postgres-operator.ts';
import { PACE_WINDOW_MS } from '../../src/postgres/operator/bulk-functions.ts';
import { amount } from '../support/amount.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { ANN, OperatorDatabase } from './operator-database.ts';

const test = needs('postgres');
const REPLAY: BulkRequest = { verb: 'replay', filter: {} };
const NO_ITEMS = { selected: 0, started: 0, succeeded: 0, failed: 0, discarded: 0, skipped: 0, dropped: 0 };

/** A schema with one handler and so many dead letters, the oldest first, and hands that do what a worker would. */
class BulkDesk {
  readonly database: OperatorDatabase;

  constructor(database: OperatorDatabase) {
    this.database = database;
  }

  static async open(server: TestServer, dead: number): Promise<BulkDesk> {
    const database = await OperatorDatabase.open(server);
    await database.handler(1, 'mail', 'welcome');
    const desk = new BulkDesk(database);
    await desk.fail(dead);
    return desk;
  }

  /** More dead letters. */
  async fail(count: number): Promise<void> {
    await this.database.sql(
      `insert into $S.delivery (id, handler, unit, state, attempts, type, key, payload, source, error, first_failed_at, failed_at)
       select gen_random_uuid(), 1, 32 + n % 32, 2, 5, 'order.placed', 'k' || n % 7, jsonb_build_object('n', n), 'orders',
         '{"name": "Error", "code": "SMTP_DOWN", "kind": "network", "message": "no answer"}', now(), clock_timestamp()
       from generate_series(1, $1::int) n`,
      [count],
    );
  }

  async plan(request: BulkRequest = REPLAY): Promise<Bulk> {
    return (await this.database.operator.planBulk(request, ANN)).bulk;
  }

  async start(request: BulkRequest = REPLAY): Promise<string> {
    const { id } = await this.plan(request);
    expect(await this.database.operator.startBulk(id, ANN)).toMatchObject({ kind: 'changed' });
    return id;
  }

  async bulk(id: string): Promise<Bulk> {
    const found = await this.database.operator.bulk(id);
    if (found.kind !== 'found') throw new Error(found.kind);
    return found.bulk;
  }

  /** Makes all steps due, whatever the time, and steps. The pace stays as it is. */
  async step(): Promise<void> {
    await this.database.sql(`update $S.bulk set look_at = clock_timestamp() where look_at is not null`);
    await this.database.operator.stepBulks();
  }

  /** What runs again succeeds. */
  async succeed(most = 1_000_000): Promise<number> {
    const rows = await this.database.sql(
      `with d as (delete from $S.delivery where (id, handler) in (
          select id, handler from $S.delivery where state = 1 order by due_at limit $1) returning *)
       insert into $S.delivered (slot, id, handler, outcome, version, attempts, cycle, rerun, failure_history, type, payload, source)
       select 0, id, handler, 0, version, 1, cycle, rerun, failure_history, type, payload, source from d returning 1`,
      [most],
    );
    return rows.length;
  }

  /** What runs again fails again. */
  async failAgain(most = 1_000_000): Promise<void> {
    await this.database.sql(
      `update $S.delivery set state = 2, due_at = null, failed_at = clock_timestamp(), holds = false, attempts = 1,
        error = '{"name": "Error", "code": "STILL_DOWN", "message": "no", "group": "1-0000000000000000", "stack": "at x"}'
       where (id, handler) in (select id, handler from $S.delivery where state = 1 order by due_at limit $1)`,
      [most],
    );
  }

  async outcomes(id: string): Promise<readonly BulkOutcome[]> {
    const { items } = await this.database.operator.bulkItems(id, { limit: 1_000 });
    return items.map(({ outcome }) => outcome);
  }
}

describe('a bulk operation', () => {
  test('freezes what fits, foretells, touches that alone, and tells how each ended [X.5]', async ({ postgres }) => {
    const desk = await BulkDesk.open(postgres, 4);
    const { operator } = desk.database;
    await desk.database.worker('w1', [1]);
    await desk.database.delivery({ key: 'k9' });
    await desk.database
      .sql(`update $S.delivery set holds = true, key = 'k9', unit = (select unit from $S.delivery where key = 'k9')
      where id = (select id from $S.delivery where state = 2 order by failed_at, id limit 1)`);
    await operator.pause('welcome', ANN);
    const filter = { errorCode: 'SMTP_DOWN', since: new Date(0) };
    const planned = await operator.planBulk({ verb: 'replay', filter, limit: 3 }, ANN);
    expect(planned).toMatchObject({
      kind: 'planned',
      bulk: {
        state: 'planned',
        isCut: true,
        total: 3,
        counts: { ...NO_ITEMS, selected: 3 },
        filter,
        startedAt: undefined,
      },
      forecast: [
        {
          service: 'mail',
          handler: 'welcome',
          count: 3,
          keys: 3,
          workers: 1,
          isPaused: true,
          isBreakerOpen: false,
          behind: 1,
        },
      ],
    });
    expect(planned.sample).toHaveLength(3);
    const { id } = planned.bulk;
    expect(await desk.bulk(id)).toEqual(planned.bulk);
    expect((await operator.bulks()).items).toEqual([]);
    await desk.fail(2);
    expect(await operator.startBulk(id, { actor: 'bob' })).toMatchObject({
      kind: 'changed',
      bulk: { state: 'running', actor: 'bob', reason: ANN.reason },
    });
    expect(await operator.stepBulks()).toMatchObject({ started: 3, ended: 0 });
    await desk.failAgain(1);
    await desk.succeed();
    await desk.step();
    const ended = await desk.bulk(id);
    expect(ended).toMatchObject({ state: 'done', counts: { ...NO_ITEMS, succeeded: 2, failed: 1 } });
    expect(ended.endedAt).toBeInstanceOf(Date);
    expect((await operator.bulkItems(id, { outcome: 'failed' })).items).toMatchObject([
      {
        service: 'mail',
        handler: 'welcome',
        type: 'order.placed',
        error: { code: 'STILL_DOWN' },
        group: '1-0000000000000000',
      },
    ]);
    expect((await operator.deadLetters({ errorCode: 'SMTP_DOWN' })).items).toHaveLength(3);
    expect(await operator.stepBulks()).toEqual({ started: 0, ended: 0, againInMs: undefined });
    const audit = (await operator.audit()).items.map(({ verb, actor, details }) => [verb, actor, details['bulk']]);
    expect(audit).toEqual([
      ...Array.from({ length: 3 }, () => ['replay', 'bob', id]),
      ['start-bulk', 'bob', id],
      ['pause', 'ann', undefined],
    ]);
    const [first, rest] = [
      await operator.bulkItems(id, { limit: 2 }),
      await operator.bulkItems(id, { limit: 2, cursor: '2' }),
    ];
    expect([first.next, first.items.length, rest.items.length, rest.next]).toEqual(['2', 2, 1, undefined]);
  });

  test('can be done to only what its state allows, and says why not [X.5]', async ({ postgres }) => {
    const desk = await BulkDesk.open(postgres, 3);
    const { operator } = desk.database;
    const acts = {
      start: operator.startBulk,
      pause: operator.pauseBulk,
      resume: operator.resumeBulk,
      cancel: operator.cancelBulk,
    };
    const ways: Record<string, (id: string) => Promise<unknown>> = {
      planned: async () => undefined,
      canary: (id) => operator.startBulk(id, ANN),
      running: async (id) => {
        await operator.startBulk(id, ANN);
        await desk.database.sql(`update $S.bulk set state = 'running', is_canary_over = true where id = $1`, [id]);
      },
      paused: async (id) => [await operator.startBulk(id, ANN), await operator.pauseBulk(id, ANN)],
      cancelled: (id) => operator.cancelBulk(id, ANN),
      done: (id) => desk.database.sql(`update $S.bulk set state = 'done', ended_at = now() where id = $1`, [id]),
    };
    const found: Record<string, string[]> = {};
    for (const [state, go] of Object.entries(ways)) {
      for (const [verb, act] of Object.entries(acts)) {
        const { id } = await desk.plan({ ...REPLAY, canary: 1 });
        await go(id);
        expect((await desk.bulk(id)).state).toBe(state);
        const answer = await act(id, ANN);
        if (answer.kind === 'not-found') throw new Error(state);
        if (answer.kind === 'refused') expect(answer.problem).not.toBe('');
        else (found[state] ??= []).push(`${verb}: ${answer.bulk.state}`);
      }
    }
    expect(found).toEqual({
      planned: ['start: canary', 'cancel: cancelled'],
      canary: ['pause: paused', 'cancel: cancelled'],
      running: ['pause: paused', 'cancel: cancelled'],
      paused: ['resume: canary', 'cancel: cancelled'],
    });
    for (const act of Object.values(acts)) {
      expect(await act('4e0f7a4c-0000-4000-8000-000000000000', ANN)).toEqual({ kind: 'not-found' });
      expect(await act('nonsense', ANN)).toEqual({ kind: 'not-found' });
    }
    const { id } = await desk.plan();
    await desk.database.sql(`update $S.bulk set created_at = now() - interval '61 minutes' where id = $1`, [id]);
    expect(await operator.startBulk(id, ANN)).toMatchObject({
      kind: 'refused',
      problem: expect.stringContaining('plan it again'),
    });
    const wrong = {
      verb: 'burn',
      filter: { colour: 1, ids: ['x'], payload: [{ path: [], value: 1 }] },
      canary: -1,
      perSecond: 0,
    };
    await expect(operator.planBulk(wrong as never, ANN)).rejects.toThrow(
      /verb[^]*colour[^]*payload[^]*ids[^]*canary[^]*perSecond/,
    );
  });

  test('goes on after its canaries only if none of them fails; those that somebody else dealt with are replaced [X.5]', async ({
    postgres,
  }) => {
    const desk = await BulkDesk.open(postgres, 8);
    const { operator } = desk.database;
    const id = await desk.start({ ...REPLAY, canary: 2 });
    const [first] = (await operator.bulkItems(id)).items;
    await operator.replay(first?.id ?? '', ANN);
    await desk.succeed();
    await desk.step();
    expect((await desk.outcomes(id)).slice(0, 3)).toEqual(['skipped', 'started', 'selected']);
    await desk.succeed();
    await desk.step();
    expect((await desk.outcomes(id)).slice(0, 4)).toEqual(['skipped', 'succeeded', 'started', 'selected']);
    expect(await desk.bulk(id)).toMatchObject({ state: 'canary' });
    await desk.failAgain();
    await desk.step();
    const paused = await desk.bulk(id);
    expect(paused).toMatchObject({ state: 'paused', pausedFor: '1 of 2 canaries failed again' });
    expect(paused.counts).toEqual({ ...NO_ITEMS, selected: 5, succeeded: 1, failed: 1, skipped: 1 });
    await desk.step();
    expect((await desk.bulk(id)).counts.selected).toBe(5);
    expect(await operator.resumeBulk(id, ANN)).toMatchObject({
      kind: 'changed',
      bulk: { state: 'running', pausedFor: undefined },
    });
    await desk.step();
    await desk.succeed();
    await desk.step();
    expect(await desk.bulk(id)).toMatchObject({
      state: 'done',
      counts: { ...NO_ITEMS, succeeded: 6, failed: 1, skipped: 1 },
    });
    const second = await desk.start({ ...REPLAY, canary: 1 });
    await desk.step();
    await desk.succeed();
    await desk.step();
    expect(await desk.bulk(second)).toMatchObject({ state: 'done', counts: { succeeded: 1 } });
  });

  test('that is cancelled drops what has not begun; a discard needs a reason and gives up what fits [X.5]', async ({
    postgres,
  }) => {
    const desk = await BulkDesk.open(postgres, 5);
    const { operator } = desk.database;
    const id = await desk.start({ ...REPLAY, perSecond: 0.1 });
    await desk.step();
    expect(await operator.cancelBulk(id, ANN)).toMatchObject({ bulk: { state: 'cancelled', endedAt: undefined } });
    expect(await desk.outcomes(id)).toEqual(['started', 'dropped', 'dropped', 'dropped', 'dropped']);
    await desk.succeed();
    await desk.step();
    const ended = await desk.bulk(id);
    expect(ended).toMatchObject({ state: 'cancelled', counts: { ...NO_ITEMS, succeeded: 1, dropped: 4 } });
    expect(ended.endedAt).toBeInstanceOf(Date);
    const [one, two] = (await operator.deadLetters()).items;
    const ids = [one?.id ?? '', two?.messageId ?? ''];
    const { bulk } = await operator.planBulk({ verb: 'discard', filter: { ids } }, { actor: 'ann' });
    expect(await operator.startBulk(bulk.id, { actor: 'ann' })).toMatchObject({
      kind: 'refused',
      problem: expect.stringContaining('reason'),
    });
    await operator.startBulk(bulk.id, ANN);
    await desk.step();
    expect(await desk.bulk(bulk.id)).toMatchObject({ state: 'done', counts: { ...NO_ITEMS, discarded: 2 } });
    const given = (await operator.deadLetters({ status: 'discarded' })).items.map((letter) => letter.messageId);
    expect(new Set(given)).toEqual(new Set([one?.messageId, two?.messageId]));
    expect((await operator.audit({ verb: 'discard' })).items).toMatchObject([
      { details: { bulk: bulk.id } },
      { details: { bulk: bulk.id } },
    ]);
  });

  test('tells how an item ended that somebody else replays, discards or runs again meanwhile [X.5]', async ({
    postgres,
  }) => {
    const desk = await BulkDesk.open(postgres, 4);
    const { operator } = desk.database;
    const id = await desk.start();
    await desk.step();
    const [a, b, c] = (await operator.bulkItems(id)).items.map((item) => item.id);
    await desk.failAgain(2);
    await operator.replay(a ?? '', ANN);
    await operator.discard(b ?? '', ANN);
    await operator.discard(c ?? '', ANN, { open: true });
    await desk.succeed();
    await desk.step();
    expect(await desk.outcomes(id)).toEqual(['failed', 'failed', 'discarded', 'succeeded']);
    expect((await operator.bulkItems(id)).items[0]?.error?.code).toBe('STILL_DOWN');
  });

  test('is stepped by many at once, and each item is replayed once [X.5]', async ({ postgres }) => {
    const items = amount(1_200, 50_000);
    const desk = await BulkDesk.open(postgres, items);
    const { schema } = desk.database;
    const id = await desk.start({ ...REPLAY, limit: 1_000_000 });
    const pages = async (outcome: BulkOutcome): Promise<string[]> => {
      const { items: some, next } = await desk.database.operator.bulkItems(id, { outcome, limit: 700 });
      const rest =
        next === undefined
          ? []
          : (await desk.database.operator.bulkItems(id, { outcome, cursor: next, limit: 1_000 })).items;
      return [...some, ...rest].map((one) => one.id);
    };
    // Those that have no row yet are listed too, each once, also when the first have begun.
    expect(new Set(await pages('selected')).size).toBe(Math.min(items, 1_700));
    await desk.step();
    expect(new Set([...(await pages('selected')), ...(await pages('started'))]).size).toBe(Math.min(items, 2_200));
    const drivers = Array.from({ length: 4 }, () => {
      const pool = new Pool({ connectionString: postgres.url, max: 1 });
      onTestFinished(() => pool.end());
      return postgresOperator({ pool, schema });
    });
    while ((await desk.bulk(id)).counts.selected > 0) await Promise.all(drivers.map((driver) => driver.stepBulks()));
    const counted = await desk.database.sql(
      `select count(*)::int as n, min(cycle) as least, max(cycle) as most, (select count(*)::int from $S.audit where verb = 'replay') as audited
       from $S.delivery where state = 1`,
    );
    expect(counted).toEqual([{ n: items, least: 1, most: 1, audited: items }]);
    expect(await desk.succeed()).toBe(items);
    while ((await desk.bulk(id)).state !== 'done') {
      await desk.database.sql(`update $S.bulk set look_at = clock_timestamp() where look_at is not null`);
      await Promise.all(drivers.map((driver) => driver.stepBulks()));
    }
    expect((await desk.bulk(id)).counts).toEqual({ ...NO_ITEMS, succeeded: items });
  });

  test('keeps its pace by the clock of the database, also after a rest [X.5]', async ({ postgres }) => {
    const desk = await BulkDesk.open(postgres, 60);
    const { operator } = desk.database;
    const perSecond = 100;
    const id = await desk.start({ ...REPLAY, perSecond });
    while ((await desk.bulk(id)).counts.selected > 30) await operator.stepBulks();
    await operator.pauseBulk(id, ANN);
    const { counts } = await desk.bulk(id);
    // As if it had rested for an hour: what was not started then is not made up for.
    await desk.database.sql(`update $S.bulk set next_at = next_at - interval '1 hour'`);
    await desk.database.sql(
      `update $S.bulk_item set started_at = started_at - interval '1 hour' where started_at is not null`,
    );
    await desk.step();
    expect((await desk.bulk(id)).counts).toEqual(counts);
    await operator.resumeBulk(id, ANN);
    await desk.database.sql(`update $S.bulk set next_at = next_at - interval '1 hour'`);
    while ((await desk.bulk(id)).counts.selected > 0) await operator.stepBulks();
    const rows = await desk.database.sql<{ ms: number }>(
      `select (extract(epoch from started_at) * 1000)::float8 as ms from $S.bulk_item order by place`,
    );
    const times = rows.map(({ ms }) => ms);
    const tooFast = times.flatMap((from, i) =>
      times.slice(i).filter((to, more) => more + 1 > ((to - from + PACE_WINDOW_MS) / 1_000) * perSecond + 1.001),
    );
    expect(tooFast).toEqual([]);
  });
});
