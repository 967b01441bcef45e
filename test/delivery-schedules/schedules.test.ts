import { Pool } from 'pg';
import { describe, expect, onTestFinished } from 'vitest';

import type { ScheduleInput } from '../../src/delivery/schedules.ts';
import { postgresDelivery, type PostgresDelivery } from '../../src/postgres/index.ts';
import { systemEffects } from '../../src/system/effects.ts';
import { freshSchema } from '../support/fresh-schema.ts';
import { needs, type TestServer } from '../support/needs.ts';

const test = needs('postgres');

interface Setting {
  readonly pool: Pool;
  readonly schema: string;
  /** Times are this clock's. */
  readonly clock: { now: Date };
  readonly delivery: PostgresDelivery;
  /** The times for which something was published, in order. */
  readonly published: () => Promise<readonly string[]>;
}

async function setUp(server: TestServer, now: string): Promise<Setting> {
  const schema = await freshSchema(server);
  const pool = new Pool({ connectionString: server.url, max: 5 });
  onTestFinished(() => pool.end());
  const clock = { now: new Date(now) };
  const effects = { ...systemEffects, now: () => ({ wallMs: clock.now.getTime(), monoMs: performance.now() }) };
  const delivery = postgresDelivery({ pool, schema, effects });
  const published = async (): Promise<readonly string[]> => {
    const text = `select payload ->> 'scheduleId' || ' ' || coalesce(payload ->> 'body', '-') as line from "${schema}".delivery order by seq`;
    return (await pool.query<{ line: string }>(text)).rows.map(({ line }) => line);
  };
  return { pool, schema, clock, delivery, published };
}

function hourly(change: Partial<ScheduleInput> = {}): ScheduleInput {
  return {
    scheduleId: 'report',
    cron: '0 * * * *',
    to: { kind: 'url', url: 'http://127.0.0.1:9/report' },
    delivery: { method: 'POST', retries: 3, headers: {}, body: 'x' },
    ...change,
  };
}

function at(time: string): Date {
  return new Date(time);
}

describe('schedules', () => {
  test('A schedule is published at its time once, however often and by however many it is looked [X.8]', async ({
    postgres,
  }) => {
    const { delivery, clock, published } = await setUp(postgres, '2026-05-01T08:30:00Z');
    expect(await delivery.schedules.put(hourly())).toEqual({ kind: 'scheduled', scheduleId: 'report' });
    expect(await delivery.schedules.fire(at('2026-05-01T08:59:59.999Z'))).toEqual({
      fired: 0,
      nextAt: at('2026-05-01T09:00:00Z'),
    });
    clock.now = at('2026-05-01T09:00:00.004Z');
    const looks = await Promise.all(Array.from({ length: 4 }, () => delivery.schedules.fire(clock.now)));
    expect(looks.reduce((sum, { fired }) => sum + fired, 0)).toBe(1);
    expect(await published()).toEqual(['report x']);
    expect(await delivery.schedules.get('report')).toMatchObject({
      lastAt: at('2026-05-01T09:00:00Z'),
      nextAt: at('2026-05-01T10:00:00Z'),
      lastStates: { [Object.keys((await delivery.schedules.get('report'))?.lastStates ?? {})[0] ?? '']: 'IN_PROGRESS' },
    });
  });
});
