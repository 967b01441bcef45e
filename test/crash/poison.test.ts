import { expect, test } from 'vitest';
import { CrashDatabase } from './crash-database.ts';
import { SCHEMA } from './crash-events.ts';
import { Crew, until } from './crew.ts';
import { privatePostgres } from './private-postgres.ts';
import { sendSteps } from './send-steps.ts';

const KEYS = 20;
const PER_KEY = 15;
// Shorter than the default of 10 s: each death of a process costs one lease.
const LEASE_MS = 1_500;

test('a message that kills its process is set aside after a few deaths, and nobody else is blamed or lost [X.3] [X.4]', async () => {
  const server = await privatePostgres();
  const database = await CrashDatabase.make(server.url);
  const crew = new Crew({ url: server.url, leaseMs: LEASE_MS, clockOffMs: 0, workMs: [1, 10] });
  const deaths: string[] = [];
  let isOver = false;
  const keepAlive = async (): Promise<void> => {
    for (;;) {
      const member = crew.hire();
      const how = await member.ended;
      if (isOver) return;
      deaths.push(`${member.name} by ${how}`);
    }
  };
  void keepAlive();
  void keepAlive();
  await until('two workers are ready', () => crew.all.every((one) => one.journal.look().marks.includes('ready')));

  const steps = Array.from({ length: KEYS * PER_KEY }, (_, i) => ({
    key: `key-${i % KEYS}`,
    n: Math.floor(i / KEYS) + 1,
  }));
  const poison = { key: 'poison', n: 1, deed: 'kill' } as const;
  await sendSteps(server.url, [...steps.slice(0, 150), poison, ...steps.slice(150)]);

  const dead = (): Promise<{ code: string | null }[]> =>
    database.rows(`select error ->> 'code' as code from ${SCHEMA}.delivery where state = 2`);
  await until('the poison is set aside', async () => (await dead()).length > 0);
  await until('all others are handled', () => database.isDone());
  isOver = true;

  expect(await dead()).toEqual([{ code: 'PROCESS_KILLED' }]);
  expect(deaths.length).toBeGreaterThanOrEqual(5);
  expect(deaths.length).toBeLessThanOrEqual(6);
  const ledger = await database.ledger();
  // The effect of the poison's second handler is there; that of the handler it kills is not.
  expect(ledger).toMatchObject({
    sent: 301,
    effects: 601,
    lost: 1,
    second: 0,
    outOfOrder: 0,
    delivered: 601,
    dead: 1,
  });
});
