import type { PoolClient } from 'pg';
import { describe, expect } from 'vitest';
import { constant, event, policy } from '../../src/index.ts';
import { needs } from '../support/needs.ts';
import { testService, type TestService } from './service.ts';

const test = needs('postgres');
const placed = event<{ n: number; does?: string }>('order.placed', { key: ({ n }) => String(n) });
const twice = policy({ maxAttempts: 2, schedule: constant(1) });
const NEIGHBOURS = 40;
// Two that are free, then as many as the policy has attempts.
const MOST_ALONE = 2 + 2;
// In a commit with others each of the first may be one of a search by halves, of which a hundred take seven.
const MOST = MOST_ALONE + 7;

/** What an effect may do to its connection, each time it runs. */
const MISDEEDS: Record<string, (tx: PoolClient) => unknown> = {
  'kills its session': (tx) => tx.query('select pg_terminate_backend(pg_backend_pid())'),
  'sets itself read only': (tx) => tx.query('set transaction read only'),
  'releases tx': (tx) => tx.release(true),
  'ends tx': (tx) => (tx as unknown as { end(): Promise<void> }).end(),
  'takes rights away from itself': (tx) => tx.query('set local role pg_monitor'),
  'throws what a replica says': () => {
    throw Object.assign(new Error('read only elsewhere'), { code: '25006' });
  },
  'throws what a lost connection says': () => {
    throw Object.assign(new Error('elsewhere'), { code: '08006' });
  },
  'throws what a server says that ends': () => {
    throw Object.assign(new Error('elsewhere'), { code: '57P01' });
  },
  'throws null': () => {
    throw null;
  },
  'throws undefined': () => {
    throw undefined;
  },
  'throws what cannot be looked at': () => {
    throw new Proxy(
      {},
      {
        get: () => {
          throw new Error('a trap');
        },
      },
    );
  },
};

/** Runs, by what the message does; the effects are in the table. */
type Runs = Record<string, number>;

function workOf({ schema }: TestService, runs: Runs) {
  return async ({ n, does }: { n: number; does?: string }, tx: PoolClient): Promise<void> => {
    await tx.query(`insert into "${schema}".effect values ('x', $1)`, [n]);
    if (does === undefined) return;
    runs[does] = (runs[does] ?? 0) + 1;
    await MISDEEDS[does]?.(tx);
  };
}

const WAYS: Record<string, (service: TestService, runs: Runs) => void> = {
  'ctx.commit': (service, runs) => {
    const work = workOf(service, runs);
    service.hf.on(placed, 'book', (payload, ctx) => ctx.commit((tx) => work(payload, tx)), {
      policy: twice,
      breaker: false,
      maxOutageMs: 0,
    });
  },
  project: (service, runs) => {
    service.hf.project(placed, 'book', workOf(service, runs), { policy: twice });
  },
  projectAll: (service, runs) => {
    const work = workOf(service, runs);
    service.hf.projectAll(
      placed,
      'book',
      async (batch, tx) => {
        for (const { payload } of batch) await work(payload, tx);
      },
      { policy: twice },
    );
  },
};

// What the guard of the transaction refuses is final at its first attempt.
const STATES = `select payload ->> 'does' || ': ' || state || ' ' || (attempts between 1 and 2) from $.delivery order by 1`;

describe.for(Object.keys(WAYS))('effects of %s that misuse their connection each time', (way) => {
  test('run a bounded number of times and become dead letters, their neighbours are handled once [X.3] [S4.2]', async ({
    postgres,
  }) => {
    const service = await testService(postgres);
    const runs: Runs = {};
    WAYS[way]?.(service, runs);
    await service.inTransaction(async (tx) => {
      for (const [n, does] of Object.keys(MISDEEDS).entries()) await service.hf.send(tx, placed, { n: -1 - n, does });
      for (let n = 1; n <= NEIGHBOURS; n += 1) await service.hf.send(tx, placed, { n });
    });
    await service.start();
    const done = `select count(distinct n) || ' ' || count(*) from $.effect`;
    await expect.poll(() => service.column(done)).toEqual([`${NEIGHBOURS} ${NEIGHBOURS}`]);
    const dead = Object.keys(MISDEEDS).map((does) => `${does}: 2 true`);
    await expect.poll(() => service.column(STATES), { timeout: 20_000 }).toEqual(dead.toSorted());
    const most = way === 'ctx.commit' ? MOST_ALONE : MOST + Object.keys(MISDEEDS).length;
    for (const [does, count] of Object.entries(runs)) expect(count, does).toBeLessThanOrEqual(most);
  });
});

test('why a message waits that loses its connection, and what it died of, are seen by operators and observers [X.3] [X.10]', async ({
  postgres,
}) => {
  const service = await testService(postgres);
  WAYS['ctx.commit']?.(service, {});
  await service.start();
  await service.inTransaction((tx) => service.hf.send(tx, placed, { n: 1, does: 'kills its session' }));
  const error = `select error ->> 'code' || ' ' || (error ->> 'message') from $.delivery where attempts < 2`;
  await expect
    .poll(() => service.column(error))
    .toEqual([expect.stringMatching(/^DATABASE_FAULT a run of .*because of/)]);
  const died = `select error ->> 'message' from $.delivery where state = 2`;
  await expect
    .poll(() => service.column(died))
    .toEqual([expect.stringMatching(/^4 runs in a row of .*tx.*because of/)]);
  const heard = service.events.flatMap((one) =>
    one.kind === 'run-interrupted' ? [`${one.reason} ${one.faults}`] : one.kind === 'run-failed' ? [one.next.kind] : [],
  );
  expect(heard).toEqual(['database-fault 1', 'database-fault 2', 'retry', 'dead']);
});
