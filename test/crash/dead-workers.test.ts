import { describe, expect, test } from 'vitest';
import { CrashDatabase } from './crash-database.ts';
import { SCHEMA, type Step } from './crash-events.ts';
import { Crew, until, type Member } from './crew.ts';
import { privatePostgres } from './private-postgres.ts';
import { sendSteps } from './send-steps.ts';

// Far longer than any test may take: what passes does not wait for it.
const LEASE_MS = 3_600_000;

function stepsOf(keys: number, from: number, upTo: number): Step[] {
  const numbers = Array.from({ length: upTo - from + 1 }, (_, i) => from + i);
  return numbers.flatMap((n) => Array.from({ length: keys }, (_, key) => ({ key: `key-${key}`, n })));
}

/** It takes part, and its lock stands in its row. */
async function isWatched(database: CrashDatabase, { name, journal }: Member): Promise<boolean> {
  if (!journal.look().marks.includes('ready')) return false;
  const locks = await database.rows(`select 1 from ${SCHEMA}.worker where name = $1 and liveness_lock is not null`, [
    name,
  ]);
  return locks.length === 1;
}

interface Scene {
  readonly url: string;
  readonly database: CrashDatabase;
  readonly crew: Crew;
  hire(leaseMs?: number): Promise<Member>;
}

async function scene(): Promise<Scene> {
  const { url } = await privatePostgres();
  const database = await CrashDatabase.make(url);
  const crew = new Crew({ url, leaseMs: LEASE_MS, clockOffMs: 0, workMs: [1, 5] });
  const hire = async (leaseMs = LEASE_MS): Promise<Member> => {
    const member = crew.hire({ leaseMs });
    await until(`${member.name} is ready`, () => isWatched(database, member));
    return member;
  };
  return { url, database, crew, hire };
}

const NOTHING_WRONG = { lost: 0, second: 0, outOfOrder: 0, invented: 0, open: 0, dead: 0 };

describe('a worker that was killed', () => {
  test('is replaced by a survivor as soon as its connections are gone, under load, long before its lease ends [X.2]', async () => {
    const { url, database, hire } = await scene();
    const [victim, survivor] = [await hire(), await hire()];
    await sendSteps(url, stepsOf(40, 1, 10));
    await until('the victim is at work', () => victim.journal.look().inFlight.size > 0);
    victim.process.kill('SIGKILL');
    await sendSteps(url, stepsOf(40, 11, 20));
    await until(
      'the survivor has handled all',
      () => database.isDone(),
      () => database.leftovers(),
    );
    expect(await database.ledger()).toMatchObject({ sent: 800, effects: 1_600, ...NOTHING_WRONG });
    expect(survivor.journal.look().marks.filter((mark) => mark.startsWith('lost'))).toEqual([]);
  });

  test('is replaced by itself, started again, as soon as its connections are gone [X.2]', async () => {
    const { url, database, hire } = await scene();
    const victim = await hire();
    await sendSteps(url, stepsOf(40, 1, 5));
    await until('it is at work', () => victim.journal.look().inFlight.size > 0);
    victim.process.kill('SIGKILL');
    await hire();
    await until(
      'all is handled',
      () => database.isDone(),
      () => database.leftovers(),
    );
    expect(await database.ledger()).toMatchObject({ sent: 200, effects: 400, ...NOTHING_WRONG });
  });
});
