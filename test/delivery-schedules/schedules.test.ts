import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { Pool } from 'pg';
import { describe, expect, onTestFinished } from 'vitest';

import type { ScheduleInput } from '../../src/delivery/schedules.ts';
import { type PostgresDelivery, postgresDelivery } from '../../src/postgres/index.ts';
import { systemEffects } from '../../src/system/effects.ts';
import { freshSchema } from '../support/fresh-schema.ts';
import { needs, type TestServer } from '../support/needs.ts';

const test = needs('postgres');
const PROGRAM = fileURLToPath(new URL('firing-process.ts', import.meta.url));

interface Setting {
  readonly pool: Pool;
  readonly schema: string;
  readonly clock: { now: Date };
  /** What a process has. */
  readonly process: () => PostgresDelivery;
  /** The bodies that were published, with when they are due, in their order. */
  readonly published: () => Promise<readonly string[]>;
}

async function setUp(server: TestServer, now: string): Promise<Setting> {
  const schema = await freshSchema(server);
  const pool = new Pool({ connectionString: server.url, max: 5 });
  onTestFinished(() => pool.end());
  const clock = { now: at(now) };
  const effects = { ...systemEffects, now: () => ({ wallMs: clock.now.getTime(), monoMs: performance.now() }) };
  const published = async (): Promise<readonly string[]> => {
    const text = `select payload ->> 'body' as body from "${schema}".delivery order by seq`;
    return (await pool.query<{ body: string }>(text)).rows.map(({ body }) => body);
  };
  return { pool, schema, clock, process: () => postgresDelivery({ pool, schema, effects }), published };
}

function schedule(change: Partial<ScheduleInput> = {}): ScheduleInput {
  return {
    scheduleId: 'report',
    cron: '0 * * * *',
    to: { kind: 'url', url: 'http://127.0.0.1:9/report' },
    delivery: { method: 'POST', retries: 3, headers: {}, body: 'report' },
    ...change,
  };
}

function at(time: string): Date {
  return new Date(time);
}

describe('schedules', () => {
  test('A time is published once, by however many processes at once, and the schedule says so [X.8]', async ({
    postgres,
  }) => {
    const { process, clock, published, pool, schema } = await setUp(postgres, '2026-05-01T08:30:00Z');
    const { schedules, dead } = process();
    expect(await schedules.put(schedule())).toEqual({ kind: 'scheduled', scheduleId: 'report' });
    expect(await schedules.fire(at('2026-05-01T08:59:59.999Z'))).toEqual({
      fired: 0,
      nextAt: at('2026-05-01T09:00:00Z'),
    });
    clock.now = at('2026-05-01T09:00:00.004Z');
    const looks = await Promise.all(Array.from({ length: 4 }, () => process().schedules.fire(clock.now)));
    expect(looks.reduce((sum, { fired }) => sum + fired, 0)).toBe(1);
    expect(await published()).toEqual(['report']);
    const record = await schedules.get('report');
    expect(record).toMatchObject({
      cron: '0 * * * *',
      isPaused: false,
      lastAt: at('2026-05-01T09:00:00Z'),
      nextAt: at('2026-05-01T10:00:00Z'),
    });
    expect(Object.values(record?.lastStates ?? {})).toEqual(['IN_PROGRESS']);
    expect(await dead.list({}, { limit: 1 })).toMatchObject({ items: [] });
    await pool.query(`update "${schema}".delivery set state = 2, failed_at = now()`);
    expect(Object.values((await schedules.list())[0]?.lastStates ?? {})).toEqual(['FAIL']);
    expect(await schedules.delete('report')).toBe(true);
    expect(await schedules.delete('report')).toBe(false);
  });

  test('A process that is killed while it publishes neither loses a time nor doubles it [X.8]', async ({
    postgres,
  }) => {
    const { process: here, published, pool, schema } = await setUp(postgres, '2026-05-01T08:30:00Z');
    const { schedules } = here();
    await schedules.put(schedule());
    const now = '2026-05-01T09:00:01Z';
    const client = await pool.connect();
    try {
      // The row is held, so that the kill comes when the time is being taken.
      await client.query('begin');
      await client.query(`select from "${schema}".http_schedule for update`);
      const child = spawn(process.execPath, [PROGRAM, postgres.url, schema, now], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const ended = once(child, 'exit');
      onTestFinished(() => void child.kill('SIGKILL'));
      const waiting = `select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and query like '%http_schedule_fire%'
        and query like '%${schema}%'`;
      await expect.poll(async () => (await pool.query<{ n: number }>(waiting)).rows[0]?.n).toBe(1);
      child.kill('SIGKILL');
      await ended;
      await client.query('rollback');
    } finally {
      client.release();
    }
    // What the killed one had asked for may or may not have come to pass: the next look decides nothing anew.
    await Promise.all([schedules.fire(at(now)), here().schedules.fire(at(now))]);
    await expect.poll(published).toEqual(['report']);
    expect(await schedules.fire(at(now))).toMatchObject({ fired: 0 });
    expect(await published()).toEqual(['report']);
  });

  test('Times that passed while no server ran are published late, each once; beyond a day the last alone [X.8]', async ({
    postgres,
  }) => {
    const { process, published, pool, schema } = await setUp(postgres, '2026-05-01T08:30:00Z');
    const { schedules } = process();
    await schedules.put(schedule());
    await schedules.put(schedule({ scheduleId: 'weekly', cron: '0 0 * * 1', delivery: weekly() }));
    await schedules.fire(at('2026-05-01T12:10:00Z'));
    expect(await published()).toEqual(Array.from({ length: 4 }, () => 'report'));
    await pool.query(`delete from "${schema}".delivery`);
    // Five weeks later.
    await schedules.fire(at('2026-06-04T12:10:00Z'));
    expect((await published()).toSorted()).toEqual([...Array.from({ length: 24 }, () => 'report'), 'weekly']);
    expect(await schedules.get('weekly')).toMatchObject({
      lastAt: at('2026-06-01T00:00:00Z'),
      nextAt: at('2026-06-08T00:00:00Z'),
    });
  });

  test('A restart over a change of the clocks neither leaves a time out nor brings it twice [X.8]', async ({
    postgres,
  }) => {
    const { process, published, clock } = await setUp(postgres, '2026-10-24T12:00:00Z');
    const cron = 'CRON_TZ=Europe/Berlin 30 2 * * *';
    const { schedules } = process();
    await schedules.put(schedule({ cron }));
    expect(await schedules.get('report')).toMatchObject({ nextAt: at('2026-10-25T00:30:00Z') });
    // The first half past two; an hour later it is half past two again, for another process, that also makes its schedule anew.
    await schedules.fire(at('2026-10-25T00:30:00Z'));
    clock.now = at('2026-10-25T01:29:59Z');
    await process().schedules.put(schedule({ cron }));
    for (const time of ['2026-10-25T01:29:59Z', '2026-10-25T01:30:00Z', '2026-10-25T02:30:00Z'])
      await process().schedules.fire(at(time));
    expect(await published()).toEqual(['report']);
    // In spring half past two is jumped over, and comes at the jump; that nobody is there just then changes nothing.
    await process().schedules.fire(at('2027-03-27T01:30:00Z'));
    const before = (await published()).length;
    expect(await schedules.get('report')).toMatchObject({ nextAt: at('2027-03-28T01:00:00Z') });
    await process().schedules.fire(at('2027-03-28T04:00:00Z'));
    expect(await published()).toHaveLength(before + 1);
    expect(await schedules.get('report')).toMatchObject({ nextAt: at('2027-03-29T00:30:00Z') });
  });

  test('A clock that is set back or forward brings no time twice [X.8]', async ({ postgres }) => {
    const { process, published } = await setUp(postgres, '2026-05-01T08:30:00Z');
    const { schedules } = process();
    await schedules.put(schedule());
    for (const time of ['09:00', '08:10', '09:00', '10:30', '09:59', '10:00']) {
      await schedules.fire(at(`2026-05-01T${time}:00Z`));
    }
    expect(await published()).toEqual(['report', 'report']);
  });

  test('Times that pass while it is paused are left out, and a schedule that is made anew loses none [X.8]', async ({
    postgres,
  }) => {
    const { process, published, clock } = await setUp(postgres, '2026-05-01T08:30:00Z');
    const { schedules } = process();
    await schedules.put(schedule());
    expect(await schedules.pause('report')).toBe(true);
    expect(await schedules.fire(at('2026-05-01T11:00:00Z'))).toEqual({ fired: 0, nextAt: undefined });
    clock.now = at('2026-05-01T11:20:00Z');
    await schedules.put(schedule({ delayMs: 90_000 }));
    expect(await schedules.get('report')).toMatchObject({ isPaused: true });
    const told: string[] = [];
    const forget = schedules.onChange(() => told.push('changed'));
    expect(await schedules.resume('report')).toBe(true);
    forget();
    expect(told).toEqual(['changed']);
    await schedules.fire(at('2026-05-01T11:59:59Z'));
    expect(await published()).toEqual([]);
    // Twelve has come, nobody has looked yet, and a service that starts makes its schedule: twelve is not lost.
    clock.now = at('2026-05-01T12:00:00.500Z');
    await schedules.put(schedule({ delivery: { ...schedule().delivery, body: 'newer' } }));
    await schedules.fire(clock.now);
    expect(await published()).toEqual(['newer']);
    // Another cron is another schedule.
    clock.now = at('2026-05-01T13:00:00.500Z');
    await schedules.put(schedule({ cron: '30 * * * *' }));
    await schedules.fire(clock.now);
    expect(await published()).toEqual(['newer']);
    expect([await schedules.pause('none'), await schedules.resume('none')]).toEqual([false, false]);
  });

  test('A schedule to a group goes to all its endpoints, and says why when it has none any more [X.8]', async ({
    postgres,
  }) => {
    const { process, published } = await setUp(postgres, '2026-05-01T08:30:00Z');
    const { schedules, urlGroups } = process();
    const to = { kind: 'group', name: 'all' } as const;
    expect(await schedules.put(schedule({ to }))).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('add endpoints to it first'),
    });
    await urlGroups.addEndpoints('all', [{ url: 'http://127.0.0.1:9/a' }, { url: 'http://127.0.0.1:9/b' }]);
    await schedules.put(schedule({ to }));
    await schedules.fire(at('2026-05-01T09:00:00Z'));
    expect(await published()).toEqual(['report', 'report']);
    expect(Object.keys((await schedules.get('report'))?.lastStates ?? {})).toHaveLength(2);
    await urlGroups.delete('all');
    await schedules.fire(at('2026-05-01T10:00:00Z'));
    expect(await schedules.get('report')).toMatchObject({
      lastError: expect.stringContaining('no URL group'),
      nextAt: at('2026-05-01T11:00:00Z'),
    });
  });

  test.for([
    [{ scheduleId: 'a b' }, 'letters, digits'],
    [{ cron: '0 0 30 2 *' }, 'never comes'],
    [{ to: { kind: 'url', url: 'ftp://a.example/' } }, 'add http:// or https://'],
    [{ delivery: { method: 'POST', retries: 0, headers: {}, queue: 'q', flowKey: 'k' } }, 'not both'],
  ] as const)(
    'A schedule that cannot be is refused with the next step: %j [X.8]',
    async ([change, part], { postgres }) => {
      const { process } = await setUp(postgres, '2026-05-01T08:30:00Z');
      const outcome = await process().schedules.put(schedule(change));
      expect(outcome).toMatchObject({ kind: 'refused', message: expect.stringContaining(part) });
    },
  );
});

function weekly(): ScheduleInput['delivery'] {
  return { ...schedule().delivery, body: 'weekly' };
}
