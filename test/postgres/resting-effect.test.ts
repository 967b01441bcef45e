import { beforeAll, describe, expect, onTestFinished } from 'vitest';
import { constant, event, holdfast, type Holdfast, policy, type RunningRelay } from '../../src/index.ts';
import { sqlRunner, type SqlTransaction } from '../../src/postgres/sql-runner.ts';
import { needs } from '../support/needs.ts';
import { sharedPglite } from '../support/shared-pglite.ts';
import { EFFECT_CLIENTS, type EffectClient } from './support/effect-clients.ts';

const test = needs('postgres');
const placed = event<{ n: number }>('order.placed');
const twice = policy({ maxAttempts: 2, schedule: constant(1) });
const DEAD = `select attempts || ' ' || (error ->> 'code') from $.delivery where state = 2`;

interface Stage extends EffectClient {
  readonly hf: Holdfast<SqlTransaction>;
  start(): Promise<RunningRelay>;
  send(...numbers: readonly number[]): Promise<void>;
  write(tx: SqlTransaction, line: string): Promise<void>;
}

function stageOn(client: EffectClient): Stage {
  const hf = holdfast({ service: 'orders', store: client.store });
  return {
    ...client,
    hf,
    start: async () => {
      const relay = await hf.start({ leaseMs: 2_000, pollMs: 20 });
      onTestFinished(() => relay.stop({ drainMs: 1 }));
      return relay;
    },
    send: async (...numbers) => {
      await client.within(async (tx) => {
        for (const n of numbers) await hf.send(tx, placed, { n });
      });
    },
    write: async (tx, line) => {
      await sqlRunner(tx).query(`insert into ${client.schema}.effect values ($1::text)`, [line]);
    },
  };
}

beforeAll(async () => void (await sharedPglite()));

describe.for(EFFECT_CLIENTS)('an effect that hangs without a statement, over $name,', ({ open }) => {
  test('is given up, and a dead letter after its attempts; others go on [X.3] [S4.2]', async ({ postgres: server }) => {
    const { hf, start, send, write, column } = stageOn(await open(server));
    const mayGoOn = Promise.withResolvers<void>();
    let [begun, late] = [0, 0];
    hf.on(
      placed,
      'hangs',
      async ({ n }, ctx) => {
        await ctx.commit(async (tx) => {
          await write(tx, `before ${n}`);
          if (n > 1) return;
          begun += 1;
          await mayGoOn.promise;
          late += 1;
          await write(tx, `after ${n}`);
        });
      },
      { policy: twice, concurrency: 2 },
    );
    await start();
    await send(1);
    await expect.poll(() => column(DEAD)).toEqual(['2 TRANSACTION_RESTED']);
    await send(2, 3, 4);
    await expect.poll(() => column('select count(*)::int from $.delivered')).toEqual([3]);
    mayGoOn.resolve();
    await expect.poll(() => late).toBe(begun);
    await send(5);
    await expect.poll(() => column('select count(*)::int from $.delivered')).toEqual([4]);
    const kept = ['before 2', 'before 3', 'before 4', 'before 5'];
    expect(await column('select line from $.effect order by line')).toEqual(kept);
  });

  test('in project() takes no other message of its commit with it [X.3]', async ({ postgres: server }) => {
    const { hf, start, send, write, column } = stageOn(await open(server));
    hf.project(
      placed,
      'hangs',
      async ({ n }, tx) => {
        await write(tx, `before ${n}`);
        if (n === 2) await new Promise(() => undefined);
      },
      { policy: policy({ maxAttempts: 1 }), concurrency: 1 },
    );
    await start();
    await send(1, 2, 3);
    await expect.poll(() => column(DEAD)).toEqual(['1 TRANSACTION_RESTED']);
    await expect.poll(() => column('select count(*)::int from $.delivered')).toEqual([2]);
    expect(await column('select line from $.effect order by line')).toEqual(['before 1', 'before 3']);
  });
});
