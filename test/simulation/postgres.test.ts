import { expect, onTestFinished } from 'vitest';
import { migrate } from '../../src/postgres/index.ts';
import { withClient } from '../contract/sql-clients.ts';
import { amount } from '../support/amount.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { replayCommand } from './many-seeds.ts';
import { PgDesk } from './pg-desk.ts';
import { type PgResult, PgSchedule } from './pg-schedule.ts';

const test = needs('postgres');
const FILE = 'test/simulation/postgres.test.ts';
const GIVEN = process.env['HOLDFAST_SEED'];
const SEEDS = GIVEN === undefined ? Array.from({ length: amount(40, 300) }, (_, i) => i + 1) : [Number(GIVEN)];
// Each has its own schema; together they need fewer connections than a server of default size has.
const AT_ONCE = 6;

async function openDesk({ url, namespace }: TestServer, n: number): Promise<PgDesk> {
  const schema = `${namespace}_sim${n}`;
  await withClient(url, async (client) => {
    await migrate(client, { schema });
  });
  const desk = new PgDesk(url, schema);
  onTestFinished(async () => {
    await desk.admin.end();
    await withClient(url, async (client) => client.query(`drop schema if exists ${schema} cascade`));
  });
  await desk.clear(false);
  await desk.deploy();
  return desk;
}

test(
  `hundreds of schedules on PostgreSQL, with faults between any two statements, keep the promises [X.12]`,
  { timeout: 600_000 },
  async ({ postgres: server }) => {
    const desks: PgDesk[] = [];
    for (let n = 0; n < Math.min(AT_ONCE, SEEDS.length); n++) desks.push(await openDesk(server, n));
    const left = [...SEEDS];
    const results: PgResult[] = [];
    const work = async (desk: PgDesk): Promise<void> => {
      for (let seed = left.shift(); seed !== undefined; seed = left.shift()) {
        results.push(await new PgSchedule(seed, desk).run());
      }
    };
    await Promise.all(desks.map(work));
    const broken = results.filter(({ problems }) => problems.length > 0);
    expect(broken.map(({ seed, problems }) => [replayCommand(FILE, seed), ...problems].join('\n  '))).toEqual([]);
    expect(results.length).toBe(SEEDS.length);
    if (SEEDS.length > 1)
      expect(results.reduce((sum, { faults }) => sum + faults, 0)).toBeGreaterThan(SEEDS.length / 10);
  },
);
