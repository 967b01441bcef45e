import { describe, expect } from 'vitest';
import { z } from 'zod';
import { constant, event, outgoing, policy, TerminalHandlerError } from '../../src/index.ts';
import { needs } from '../support/needs.ts';
import { testService, type TestService } from './service.ts';

const test = needs('postgres');
const placed = event<{ n: number }>('order.placed');
const quick = policy({ maxAttempts: 3, schedule: constant(1) });

async function sendNumbers({ hf, inTransaction }: TestService, count: number): Promise<void> {
  await inTransaction(async (tx) => {
    for (let n = 1; n <= count; n += 1) await hf.send(tx, placed, { n });
  });
}

const errorCodes = '$.delivery where state = 2';

describe('a message', () => {
  test('that was committed is handled once, and one that was rolled back never [S1.4] [S4.1]', async ({ postgres }) => {
    const service = await testService(postgres);
    const seen: number[] = [];
    service.hf.on(placed, 'note', ({ n }) => void seen.push(n));
    await service.start();
    await service
      .inTransaction(async (tx) => {
        await service.hf.send(tx, placed, { n: 0 });
        throw new Error('no');
      })
      .catch(() => undefined);
    await sendNumbers(service, 3);
    await expect.poll(() => service.column('select count(*)::int from $.delivered')).toEqual([3]);
    expect(seen.toSorted((a, b) => a - b)).toEqual([1, 2, 3]);
    expect(await service.column('select status from $.outbox')).toEqual(['delivered', 'delivered', 'delivered']);
  });

  test('goes to each of its handlers, and one that fails does not hold up the other [S0.11]', async ({ postgres }) => {
    const service = await testService(postgres);
    service.hf.on(placed, 'fails', () => {
      throw new TerminalHandlerError('never');
    });
    const seen: number[] = [];
    service.hf.on(placed, 'works', ({ n }) => void seen.push(n));
    await service.start();
    await sendNumbers(service, 2);
    await expect.poll(() => seen).toHaveLength(2);
    await expect.poll(() => service.column('select status from $.outbox')).toEqual(['failed', 'failed']);
    expect(await service.column(`select handler::int from $.delivered`)).toEqual([2, 2]);
  });

  test('sent before any handler was known is handled once there is one', async ({ postgres }) => {
    const service = await testService(postgres);
    await sendNumbers(service, 2);
    expect(await service.column('select handler::int from $.delivery')).toEqual([0, 0]);
    const seen: number[] = [];
    service.hf.on(placed, 'late', ({ n }) => void seen.push(n));
    await service.start();
    await expect.poll(() => seen).toEqual([1, 2]);
  });

  test('whose payload is large is handled like any other', async ({ postgres }) => {
    const service = await testService(postgres);
    const big = event<string>('big');
    const seen: number[] = [];
    service.hf.on(big, 'note', (text) => void seen.push(text.length));
    await service.start();
    const noise = Array.from({ length: 50_000 }, () => Math.random().toString(36)).join('');
    await service.inTransaction((tx) => service.hf.send(tx, big, noise.slice(0, 500_000)));
    await expect.poll(() => seen).toEqual([500_000]);
  });
});

describe('ctx.commit', () => {
  test('keeps effect, completion and further sends together [X.3]', async ({ postgres }) => {
    const service = await testService(postgres);
    const shipped = event<{ n: number }>('order.shipped');
    service.hf.on(placed, 'ship', async ({ n }, ctx) => {
      await ctx.commit(async (tx) => {
        await tx.query(`insert into "${service.schema}".effect values ($1, $2)`, [ctx.id, n]);
        await service.hf.send(tx, shipped, { n }, { causationId: ctx.id });
      });
    });
    const seen: number[] = [];
    service.hf.on(shipped, 'note', ({ n }) => void seen.push(n));
    await service.start();
    await sendNumbers(service, 3);
    await expect.poll(() => seen.toSorted((a, b) => a - b)).toEqual([1, 2, 3]);
    expect(await service.column('select n from $.effect order by n')).toEqual([1, 2, 3]);
  });

  test('keeps nothing of an effect that throws, and the next attempt is given the same idempotency key [X.3]', async ({
    postgres,
  }) => {
    const service = await testService(postgres);
    const keys: string[] = [];
    service.hf.on(
      placed,
      'flaky',
      async ({ n }, ctx) => {
        keys.push(ctx.idempotencyKey);
        await ctx.commit(async (tx) => {
          await tx.query(`insert into "${service.schema}".effect values ($1, $2)`, [ctx.id, n]);
          if (ctx.attempt === 1) throw new Error('not yet');
        });
      },
      { policy: quick },
    );
    await service.start();
    await sendNumbers(service, 1);
    await expect.poll(() => service.column('select attempts from $.delivered')).toEqual([2]);
    expect(await service.column('select n from $.effect')).toEqual([1]);
    expect(new Set(keys).size).toBe(1);
    expect(keys).toHaveLength(2);
  });

  test('that has succeeded is the end of the message, whatever the handler does afterwards', async ({ postgres }) => {
    const service = await testService(postgres);
    service.hf.on(placed, 'late-thrower', async ({ n }, ctx) => {
      await ctx.commit(async (tx) => tx.query(`insert into "${service.schema}".effect values ($1, $2)`, [ctx.id, n]));
      await ctx.commit(async () => undefined);
    });
    await service.start();
    await sendNumbers(service, 1);
    await expect.poll(() => service.column('select attempts from $.delivered')).toEqual([1]);
    expect(await service.column('select n from $.effect')).toEqual([1]);
  });

  test('is refused when an operator discarded the message meanwhile, and the effect is rolled back', async ({
    postgres,
  }) => {
    const service = await testService(postgres);
    const entered = Promise.withResolvers<void>();
    const gone = Promise.withResolvers<void>();
    let refused: unknown;
    service.hf.on(placed, 'slow', async ({ n }, ctx) => {
      entered.resolve();
      await gone.promise;
      refused = await ctx
        .commit(async (tx) => tx.query(`insert into "${service.schema}".effect values ($1, $2)`, [ctx.id, n]))
        .catch((error: unknown) => error);
    });
    await service.start();
    await sendNumbers(service, 1);
    await entered.promise;
    await service.column('delete from $.delivery');
    gone.resolve();
    await expect.poll(() => refused).toMatchObject({ code: 'DELIVERY_TAKEN' });
    expect(await service.column('select n from $.effect')).toEqual([]);
    await expect.poll(() => service.events.map(({ kind }) => kind)).toContain('run-refused');
  });
});

describe('an effect whose run is aborted', () => {
  test('writes nothing outside its transaction: it is waited for, and then refused [X.3]', async ({ postgres }) => {
    const service = await testService(postgres);
    const entered = Promise.withResolvers<void>();
    const mayGoOn = Promise.withResolvers<void>();
    let isOver = false;
    service.hf.project(placed, 'slow', async ({ n }, tx, ctx) => {
      entered.resolve();
      await mayGoOn.promise;
      await tx.query(`insert into "${service.schema}".effect values ($1, $2)`, [ctx.id, n]);
      isOver = true;
    });
    const relay = await service.start();
    await sendNumbers(service, 1);
    await entered.promise;
    // As if the process had been taken for dead: its units go to nobody, and what runs is aborted.
    await service.column('delete from $.worker');
    await expect.poll(() => service.events.map(({ kind }) => kind)).toContain('units-lost');
    // And as if another had taken them: until somebody has, the effect would still be the only one.
    await service.column('update $.lease set epoch = epoch + 1');
    const stopped = relay.stop({ drainMs: 1 });
    mayGoOn.resolve();
    await stopped;
    await expect.poll(() => isOver).toBe(true);
    expect(await service.column('select n from $.effect')).toEqual([]);
  });
});

describe('project', () => {
  test('handles many messages in one commit, and one that fails takes no other with it [X.3]', async ({ postgres }) => {
    const service = await testService(postgres);
    service.hf.project(
      placed,
      'table',
      async ({ n }, tx, ctx) => {
        await tx.query(`insert into "${service.schema}".effect values ($1, $2)`, [ctx.id, n]);
        if (n === 37) throw new TerminalHandlerError('bad number');
      },
      { concurrency: 1 },
    );
    await sendNumbers(service, 1);
    await service.start();
    await sendNumbers(service, 80);
    await expect.poll(() => service.column('select count(*)::int from $.delivered')).toEqual([80]);
    await expect.poll(() => service.column(`select count(*)::int from ${errorCodes}`)).toEqual([1]);
    expect(await service.column('select count(*)::int from $.effect')).toEqual([80]);
    expect(await service.column('select count(distinct id)::int from $.effect')).toEqual([80]);
    expect(await service.column('select count(*)::int from $.effect where n = 37')).toEqual([0]);
    const commits = await service.column('select count(distinct xmin::text)::int from $.effect');
    expect(commits[0]).toBeLessThan(40);
  });
});

describe('projectAll', () => {
  test('does one statement for many messages, and one that fails takes no other with it [X.3]', async ({
    postgres,
  }) => {
    const service = await testService(postgres);
    const sizes: number[] = [];
    service.hf.projectAll(
      placed,
      'table',
      async (batch, tx) => {
        sizes.push(batch.length);
        const ids = batch.map(({ ctx }) => ctx.id);
        const numbers = batch.map(({ payload }) => payload.n);
        await tx.query(`insert into "${service.schema}".effect select * from unnest($1::text[], $2::int[])`, [
          ids,
          numbers,
        ]);
        if (numbers.includes(37)) throw new TerminalHandlerError('bad number');
      },
      { concurrency: 1 },
    );
    const relay = await service.start();
    await relay.stop();
    await sendNumbers(service, 80);
    await service.start();
    await expect.poll(() => service.column('select count(*)::int from $.delivered')).toEqual([79]);
    await expect.poll(() => service.column(`select count(*)::int from ${errorCodes}`)).toEqual([1]);
    expect(await service.column('select count(distinct id)::int from $.effect')).toEqual([79]);
    expect(await service.column('select count(*)::int from $.effect')).toEqual([79]);
    expect(Math.max(...sizes)).toBe(80);
    // The halves of 80 until 37 is alone: two calls for each of seven steps, and the first.
    expect(sizes.length).toBeLessThan(16);
    expect(service.events.filter(({ kind }) => kind === 'run-failed')).toHaveLength(1);
  });

  test('keeps the order within a key, and what stands behind one that failed waits [S4.3]', async ({ postgres }) => {
    const service = await testService(postgres);
    const keyed = event<{ k: string; n: number }>('step.taken', { key: ({ k }) => k });
    let isMended = false;
    service.hf.projectAll(
      keyed,
      'steps',
      async (batch, tx) => {
        for (const { payload } of batch) {
          await tx.query(`insert into "${service.schema}".effect values ($1, $2)`, [payload.k, payload.n]);
          if (payload.k === 'a' && payload.n === 3 && !isMended) throw new Error('not yet');
        }
      },
      { policy: policy({ maxAttempts: 1_000, schedule: constant(20) }) },
    );
    await (await service.start()).stop();
    const steps = ['a', 'b', 'c'].flatMap((k) => Array.from({ length: 10 }, (_, n) => outgoing(keyed, { k, n })));
    await service.inTransaction((tx) => service.hf.sendAll(tx, steps));
    await service.start();
    await expect.poll(() => service.column('select count(*)::int from $.effect')).toEqual([23]);
    expect(await service.column(`select n from $.effect where id = 'a' order by n`)).toEqual([0, 1, 2]);
    isMended = true;
    await expect.poll(() => service.column('select count(*)::int from $.delivered')).toEqual([30]);
    for (const k of ['a', 'b', 'c']) {
      expect(await service.column(`select n from $.effect where id = '${k}' order by place`)).toEqual([
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
      ]);
    }
  });
});

describe('a failure', () => {
  test('is tried again as the policy says, then is a dead letter with its error [S4.2] [S4.8]', async ({
    postgres,
  }) => {
    const service = await testService(postgres);
    const attempts: number[] = [];
    service.hf.on(
      placed,
      'broken',
      (_, { attempt }) => {
        attempts.push(attempt);
        throw Object.assign(new Error('down, password=hunter2secret'), { code: 'ODD' });
      },
      { policy: quick },
    );
    await service.start();
    await sendNumbers(service, 1);
    await expect.poll(() => service.column('select attempts from $.delivery where state = 2')).toEqual([3]);
    expect(attempts).toEqual([1, 2, 3]);
    const [error] = (await service.column('select error from $.delivery')) as { message: string; code: string }[];
    expect(error).toMatchObject({ code: 'ODD', name: 'Error', stack: expect.any(String) });
    expect(error?.message).not.toContain('hunter2');
    expect(service.events.filter(({ kind }) => kind === 'run-failed').map((e) => 'next' in e && e.next.kind)).toEqual([
      'retry',
      'retry',
      'dead',
    ]);
  });

  test.for([
    ['TerminalHandlerError', new TerminalHandlerError('no'), {}],
    ['an integrity error', Object.assign(new Error('duplicate'), { code: '23505' }), {}],
    ['a type the handler declared', new RangeError('no'), { terminalErrors: [RangeError] }],
  ] as const)('that is %s is final at once [S4.3]', async ([, error, options], { postgres }) => {
    const service = await testService(postgres);
    service.hf.on(
      placed,
      'final',
      () => {
        throw error;
      },
      options,
    );
    await service.start();
    await sendNumbers(service, 1);
    await expect.poll(() => service.column('select attempts from $.delivery where state = 2')).toEqual([1]);
  });

  test('of a payload the schema of the handler does not take is final [S4.3]', async ({ postgres }) => {
    const service = await testService(postgres);
    const strict = event('order.placed', { schema: z.object({ orderId: z.string() }) });
    service.hf.on(strict, 'strict', () => undefined);
    await service.start();
    await sendNumbers(service, 1);
    await expect
      .poll(() => service.column(`select error ->> 'code' from ${errorCodes}`))
      .toEqual(['PAYLOAD_UNREADABLE']);
  });

  test('to end in time counts as one, and the signal tells the handler', async ({ postgres }) => {
    const service = await testService(postgres);
    const reasons: unknown[] = [];
    service.hf.on(
      placed,
      'hangs',
      (_, { signal }) =>
        new Promise(() =>
          signal.addEventListener('abort', () => reasons.push((signal.reason as { code: string }).code)),
        ),
      { policy: policy({ maxAttempts: 1 }), timeoutMs: 20 },
    );
    await service.start();
    await sendNumbers(service, 1);
    await expect.poll(() => service.column(`select error ->> 'code' from ${errorCodes}`)).toEqual(['ATTEMPT_TIMEOUT']);
    expect(reasons).toEqual(['ATTEMPT_TIMEOUT']);
  });

  test('of a handler to know the type waits for one that does and counts nothing', async ({ postgres }) => {
    const service = await testService(postgres);
    const other = event<{ n: number }>('order.other');
    const newer = service.another({});
    newer.on([placed, other], 'grown', () => undefined);
    const relay = await service.start({ of: newer });
    await relay.stop();
    service.hf.on(placed, 'grown', () => undefined);
    await service.start();
    await service.inTransaction((tx) => service.hf.send(tx, other, { n: 1 }));
    await expect
      .poll(() => service.column(`select error ->> 'code' from $.delivery where state = 1 and attempts = 0`))
      .toEqual(['HANDLER_TYPE_UNKNOWN']);
  });
});

describe('registering', () => {
  test('refuses what cannot work, all named', async ({ postgres }) => {
    const { hf } = await testService(postgres);
    hf.on(placed, 'a', () => undefined);
    expect(() => hf.on(placed, 'a', () => undefined)).toThrow('already handles "order.placed"');
    expect(() => hf.project(event('x'), 'a', () => undefined)).toThrow('on(), or for project() and projectAll()');
    const wrong = { concurrency: 0, onDead: 'explode', retries: 2, policy: 5 } as never;
    expect(() => hf.on(event('x'), 'two words', 'fn' as never, wrong)).toThrow(
      /name is.*handler is.*retries is not an option.*policy is.*concurrency is.*onDead is/,
    );
    await expect(hf.start({ handlers: ['b'] })).rejects.toThrow('names that are registered: a');
    await expect(hf.start({ leaseMs: 1 })).rejects.toThrow('leaseMs');
  });

  test('nothing before start is refused with the next step', async ({ postgres }) => {
    const { another } = await testService(postgres);
    await expect(another({}).start()).rejects.toMatchObject({ code: 'HANDLERS_MISSING' });
  });
});
