import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { expect } from 'vitest';
import type { DrillReport } from '../../src/drills/index.ts';
import { runHoldfast, type Said } from '../cli/holdfast-process.ts';
import { needs, type TestServer } from '../support/needs.ts';

const CONFIG = fileURLToPath(new URL('../../examples/growth-backend/drills.config.ts', import.meta.url));
const BROKEN = fileURLToPath(new URL('broken-growth.config.ts', import.meta.url));

type Servers = Readonly<Record<'postgres' | 'redis', TestServer>>;

const test = needs('postgres', 'redis');

/** Everything takes its time: seven processes are started. */
const PATIENT = { timeout: 240_000 };

/** `holdfast drill …`, as a user types it. */
function drill({ postgres, redis }: Servers, ...args: string[]): Promise<Said> {
  const env = { DATABASE_URL: postgres.url, REDIS_URL: redis.url, GROWTH_SPEED: '100' };
  return runHoldfast(['drill', ...args], { env });
}

interface Answer {
  readonly held: boolean;
  readonly drills: readonly DrillReport[];
}

test(
  'the four drills of the growth backend hold, each with what it injected having hit, and leave nothing behind [S0.13] [X.11]',
  PATIENT,
  async ({ postgres, redis }) => {
    const { code, out, err } = await drill({ postgres, redis }, '--all', '--json', '--config', CONFIG);
    const { held, drills } = JSON.parse(out) as Answer;
    const wrong = drills.map(({ name, problem, checked }) => ({
      name,
      problem,
      failed: checked.filter((one) => !one.held),
    }));
    const all = ['dependency-stopped', 'duplicate-events', 'broken-credentials', 'replay-dead-letter'];
    expect(wrong).toEqual(all.map((name) => ({ name, problem: null, failed: [] })));
    expect({ code, held, err }).toEqual({ code: 0, held: true, err: '' });
    const hits = drills.flatMap(({ injected }) => injected.map((one) => one.hits));
    // Two services that are away for nine calls each, four copies, four projectors, one token, two projectors that fail four times.
    expect(hits).toEqual([9, 9, 4, 4, 1, 8]);

    const client = new Client({ connectionString: postgres.url });
    await client.connect();
    const left = await client.query(`select datname from pg_database where datname like 'growth_drill_%'`);
    await client.end();
    expect(left.rows).toEqual([]);
  },
);

test(
  'each of the four drills fails, with exit code 1 and what it saw, where the backend has the fault it looks for [S0.13] [X.11]',
  PATIENT,
  async ({ postgres, redis }) => {
    const args = ['--all', '--json', '--wait', '6s', '--config', BROKEN];
    const { code, out } = await drill({ postgres, redis }, ...args);
    const { held, drills } = JSON.parse(out) as Answer;
    expect({ code, held }).toEqual({ code: 1, held: false });
    const failed = drills.map(({ name, held: isHeld, checked }) => {
      return [name, isHeld, checked.find((one) => !one.held)?.what];
    });
    expect(failed).toEqual([
      ['dependency-stopped', false, 'interview ends as'],
      ['duplicate-events', false, 'projections after that'],
      ['broken-credentials', false, 'what is on record'],
      ['replay-dead-letter', false, 'projections after the replay'],
    ]);
  },
);
