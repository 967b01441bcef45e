import { expect, test } from 'vitest';
import {
  type AtomicIdempotencyStore,
  type Claim,
  idempotency,
  type IdempotencyStore,
  memoryIdempotency,
  type RunEnd,
} from '../../src/idempotency/index.ts';
import { HoldfastError } from '../../src/kernel/error.ts';
import { type JobHandler, qstash, signedJobs } from '../../src/webhooks/index.ts';
import { receiver } from './receiver.ts';
import { KEYS, qstashToken } from './sign.ts';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** The same signature in other letters: the last of 43 holds two bits that nobody reads. */
function inOtherLetters(token: string): string {
  const last = ALPHABET.indexOf(token.at(-1) ?? '');
  return `${token.slice(0, -1)}${ALPHABET[last ^ 1]}`;
}

/** A memory that writes down what it is asked. */
function watched(): { readonly store: IdempotencyStore; readonly claims: Claim[]; readonly ends: string[] } {
  const memory = memoryIdempotency();
  const claims: Claim[] = [];
  const ends: string[] = [];
  const note = (claim: Claim, end: RunEnd): void => void ends.push(`${claim.domain.split(':').at(-1)} ${end.kind}`);
  const store: IdempotencyStore = {
    ...memory,
    claim: (claim) => (claims.push(claim), memory.claim(claim)),
    end: (claim, end) => (note(claim, end), memory.end(claim, end)),
  };
  return { store, claims, ends };
}

/** A memory with transactions of which `commit` decides what becomes. */
function atomic(commit: (end: () => Promise<unknown>) => Promise<void>): AtomicIdempotencyStore<string[]> {
  const memory = memoryIdempotency();
  return {
    ...memory,
    transaction: (work) => work([]),
    commit: async (claim, work) => {
      const { value, end } = await work([]);
      await commit(() => memory.end(claim, end));
      return { kind: 'ended', value };
    },
  };
}

interface Line {
  readonly level: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

function atomicReceiver(
  store: AtomicIdempotencyStore<string[]>,
  handler: JobHandler<unknown, string[]>,
): { readonly log: Line[]; send(id: string): Promise<Response> } {
  const log: Line[] = [];
  const line = (level: string) => (fields: Line['fields']) => void log.push({ level, fields });
  const logger = { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
  const post = signedJobs({ idempotency: idempotency({ service: 'jobs', store }), scheme: qstash(KEYS), logger })(
    'send-reminder',
    handler,
  );
  const send = (id: string): Promise<Response> => {
    const headers = { 'upstash-signature': qstashToken('{}'), 'upstash-message-id': id };
    return post(new Request('http://localhost/jobs', { method: 'POST', headers, body: '{}' }));
  };
  return { log, send };
}

test('a request that was seen is not let in under another id when its signature is written in other letters [S3.2]', async () => {
  const { send, effects } = await receiver({});
  const token = qstashToken('{"id":7}');
  expect((await send({ id: 'm1', token })).status).toBe(200);
  for (const other of [inOtherLetters(token), `${token}=`]) {
    expect((await send({ id: 'm2', token: other })).status).toBe(401);
  }
  expect(effects).toHaveLength(1);
});

test('a message is remembered for as long as its signature is good, whatever doneTtlSeconds says [S3.2] [S3.3]', async () => {
  const { store, claims } = watched();
  const { send } = await receiver({ doneTtlSeconds: 1, retries: 0 }, undefined, store);
  expect((await send()).status).toBe(200);
  expect(claims.map(({ domain }) => domain.split(':').at(-1))).toEqual(['signature', 'message']);
  // And five minutes more, for receivers whose clocks are behind.
  for (const { keepMs } of claims) expect(keepMs).toBeGreaterThan(598_000);
});

test('a lock is not forgotten before it ends, and locks of a day are locks of a day [S3.3]', async () => {
  const { store, claims } = watched();
  const times = { doneTtlSeconds: 1, retries: 0, lockTtlSeconds: 3_600, reservationTtlSeconds: 86_400 };
  let aborted: boolean | undefined;
  const { send } = await receiver(
    { ...times, businessKey: () => 'k' },
    () => (_payload, run) => void (aborted = run.signal.aborted),
    store,
  );
  expect((await send()).status).toBe(200);
  expect(aborted).toBe(false);
  const [, message, business] = claims;
  expect([message?.leaseMs, business?.leaseMs]).toEqual([3_600_000, 86_400_000]);
  expect(message?.keepMs).toBeGreaterThanOrEqual(3_600_000);
  expect(business?.keepMs).toBeGreaterThanOrEqual(86_400_000);
  await expect(receiver({ lockTtlSeconds: 86_401 })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
});

test.each<[string, Parameters<typeof receiver>[0], number]>([
  [
    'a schema that throws',
    {
      schema: {
        '~standard': { version: 1, vendor: 'x', validate: () => Promise.reject(new Error('lookup away')) },
      },
    },
    500,
  ],
  [
    'a business key that throws',
    {
      businessKey: () => {
        throw new Error('lookup away');
      },
    },
    500,
  ],
  ['an empty business key', { businessKey: () => '' }, 489],
  ['a business key that is no text', { businessKey: () => 7 as never }, 489],
  ['a business key that is too long', { businessKey: () => 'k'.repeat(256) }, 489],
])('%s leaves the message free for its next delivery [S3.3]', async (_name, job, status) => {
  const { store, ends } = watched();
  const { send, effects } = await receiver(job, undefined, store);
  expect((await send({ id: 'm1' })).status).toBe(status);
  expect((await send({ id: 'm1', retried: 1 })).status).toBe(status);
  expect(ends.filter((end) => end === 'message release')).toHaveLength(2);
  expect(effects).toEqual([]);
});

test('a message id that cannot be kept is refused [S3.3]', async () => {
  const { send, effects } = await receiver({});
  expect((await send({ id: 'm'.repeat(256) })).status).toBe(401);
  expect((await send({ id: 'm'.repeat(255) })).status).toBe(200);
  expect(effects).toHaveLength(1);
});

test('the mark that counts is written before the other one, and both are taken back after a failure [S3.3] [S3.5]', async () => {
  const { store, ends } = watched();
  let isBroken = true;
  const { send } = await receiver(
    { businessKey: () => 'k' },
    () => () => {
      if (isBroken) throw new Error('away');
    },
    store,
  );
  expect((await send({ id: 'm1' })).status).toBe(500);
  isBroken = false;
  expect((await send({ id: 'm1', retried: 1 })).status).toBe(200);
  const marks = ends.filter((end) => !end.startsWith('signature'));
  expect(marks).toEqual(['business release', 'message release', 'business finish', 'message finish']);
});

test('a delivery that dies before its second mark is found done by the next process [S3.3]', async () => {
  const memory = memoryIdempotency();
  const never = new Promise<never>(() => undefined);
  let isDead = false;
  const dying: IdempotencyStore = {
    ...memory,
    renew: (claim) => (isDead ? never : memory.renew(claim)),
    end: async (claim, end) => {
      if (isDead) return never;
      isDead = claim.domain.endsWith(':business');
      return memory.end(claim, end);
    },
  };
  const job = { businessKey: () => 'k', lockTtlSeconds: 1 };
  const first = await receiver(job, undefined, dying);
  const second = await receiver(job, undefined, memory);
  await first.send({ id: 'm1' });
  expect((await second.send({ id: 'm1', retried: 1 })).status).toBe(409);
  await expect.poll(async () => (await second.send({ id: 'm1', retried: 2 })).status).toBe(200);
  expect([first.effects.length, second.effects.length]).toEqual([1, 0]);
});

test('a business key that is being done under another message frees its own message, and marks it later [S3.3]', async () => {
  let open = (): void => undefined;
  const door = new Promise<void>((resolve) => (open = resolve));
  const { store, ends } = watched();
  const { send, effects } = await receiver(
    { businessKey: () => 'k' },
    (done) => async () => {
      done.push('began');
      await door;
    },
    store,
  );
  const first = send({ id: 'm1' });
  await expect.poll(() => effects.length).toBe(1);
  expect((await send({ id: 'm2' })).status).toBe(409);
  expect(ends.filter((end) => end.startsWith('message'))).toEqual(['message release']);
  open();
  expect((await first).status).toBe(200);
  const second = await send({ id: 'm2', retried: 1 });
  expect([second.status, await second.json()]).toEqual([200, { result: 'already done' }]);
  expect(ends.filter((end) => end.startsWith('message'))).toEqual([
    'message release',
    'message finish',
    'message finish',
  ]);
  expect(effects).toHaveLength(1);
});

test('a message id that comes with another body is refused [S3.2] [S3.3]', async () => {
  const { send, effects } = await receiver({});
  expect((await send({ id: 'm1' })).status).toBe(200);
  expect((await send({ id: 'm1', body: '{"id":8}' })).status).toBe(401);
  expect(effects).toHaveLength(1);
});

test('a body that is not UTF-8 is no JSON, and is not mended [S3.5]', async () => {
  const { send, effects } = await receiver({});
  expect((await send({ body: Uint8Array.of(0x22, 0xff, 0x22) })).status).toBe(489);
  expect(effects).toEqual([]);
});

test('a job that ends after another has taken over is not told as done [S3.3]', async () => {
  const memory = memoryIdempotency();
  for (const what of ['message', 'business']) {
    const store: IdempotencyStore = {
      ...memory,
      end: async (claim, end) =>
        claim.domain.endsWith(`:${what}`) && end.kind === 'finish' ? 'late' : memory.end(claim, end),
    };
    const { send } = await receiver(what === 'message' ? {} : { businessKey: () => 'k' }, undefined, store);
    expect((await send()).status).toBe(409);
  }
});

test('nothing is done when the store fails at any of its claims [S3.3]', async () => {
  const memory = memoryIdempotency();
  for (const what of ['signature', 'message', 'business']) {
    const store: IdempotencyStore = {
      ...memory,
      claim: async (claim) => {
        if (claim.domain.endsWith(`:${what}`)) throw new Error('away');
        return memory.claim(claim);
      },
    };
    const { send, effects } = await receiver({ businessKey: () => 'k' }, undefined, store);
    expect([what, (await send()).status, effects]).toEqual([what, 503, []]);
  }
});

test('a job whose lock is longer than a usual run may run as long [S3.3]', async () => {
  const asked: (number | undefined)[] = [];
  const idem = idempotency({ service: 'jobs', store: memoryIdempotency() });
  const enter: typeof idem.enter = (request) => {
    asked.push(request.maxRunMs);
    return idem.enter(request);
  };
  const receive = signedJobs({ idempotency: { ...idem, enter }, scheme: qstash(KEYS) });
  for (const lockTtlSeconds of [240, 3_600]) {
    const post = receive({ name: 'send-reminder', lockTtlSeconds }, () => undefined);
    const headers = { 'upstash-signature': qstashToken('{}'), 'upstash-message-id': String(lockTtlSeconds) };
    await post(new Request('http://localhost/jobs', { method: 'POST', headers, body: '{}' }));
  }
  expect(asked).toEqual([undefined, undefined, undefined, 3_600_000]);
});

test('a handler knows its attempt and whether it is the last [S3.4]', async () => {
  const { send, effects } = await receiver({ retries: 2 }, (done) => (_payload, { attempt, isFinalAttempt }) => {
    done.push(`${attempt} ${isFinalAttempt}`);
  });
  for (const retried of [0, 1, 2]) await send({ retried });
  expect(effects).toEqual(['1 false', '2 false', '3 true']);
});

test('the windows are those of the requirement unless a job says otherwise [S3.3]', async () => {
  const { store, claims } = watched();
  const { send } = await receiver({ businessKey: () => 'k' }, undefined, store);
  await send({ body: `"${'x'.repeat(1_048_574)}"` });
  expect(claims.slice(1).map(({ leaseMs, keepMs }) => [leaseMs, keepMs])).toEqual([
    [240_000, 86_400_000],
    [300_000, 86_400_000],
  ]);
  expect((await send({ body: `"${'x'.repeat(1_048_575)}"` })).status).toBe(489);
});

test('a hint of when to come again is passed on [S3.5]', async () => {
  const { send } = await receiver({}, () => () => {
    throw Object.assign(new Error('slow down'), { status: 429, headers: { 'retry-after': '7' } });
  });
  const answer = await send();
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([500, '7']);
});

test('a commit of which nobody knows is tried again, and found done when it was [S3.5]', async () => {
  const effects: string[] = [];
  const store = atomic(async (end) => {
    await end();
    throw new HoldfastError('IDEMPOTENCY_COMMIT_UNKNOWN', { domain: 'job', waitedMs: 1 });
  });
  const { send, log } = atomicReceiver(store, async (_payload, run) => {
    await run.commit(async () => effects.push('done'));
  });
  expect((await send('m1')).status).toBe(500);
  const again = await send('m1');
  expect([again.status, await again.json()]).toEqual([200, { result: 'already done' }]);
  expect([effects, log]).toEqual([['done'], []]);
});

test('a commit that nobody waits for decides all the same whether the job is done [S3.5]', async () => {
  let isBroken = true;
  const effects: string[] = [];
  const store = atomic(async (end) => {
    await Promise.resolve();
    if (isBroken) throw Object.assign(new Error('serialization failure'), { code: '40001' });
    await end();
  });
  const { send } = atomicReceiver(store, (_payload, run) => {
    run.commit(async () => effects.push('tried')).catch(() => undefined);
  });
  expect((await send('m1')).status).toBe(500);
  isBroken = false;
  expect((await send('m1')).status).toBe(200);
  expect(effects).toEqual(['tried', 'tried']);
});

test('a handler that gives up its commit on purpose has done its job [S3.5]', async () => {
  const store = atomic(async () => Promise.reject(new Error('not needed any more')));
  const { send } = atomicReceiver(store, (_payload, run) => run.commit(async () => undefined).catch(() => undefined));
  const answers = [await send('m1'), await send('m1')];
  expect(await Promise.all(answers.map((answer) => answer.json()))).toEqual([
    { result: 'done' },
    { result: 'already done' },
  ]);
});

test('what fails after the commit does not undo it, and is logged [S3.5]', async () => {
  const effects: string[] = [];
  const { send, log } = atomicReceiver(
    atomic(async (end) => void (await end())),
    async (_payload, run) => {
      await run.commit(async () => effects.push('done'));
      throw new RangeError('the mail server is away');
    },
  );
  expect((await send('m1')).status).toBe(200);
  expect((await send('m1')).status).toBe(200);
  expect(effects).toEqual(['done']);
  expect(log).toEqual([{ level: 'warn', fields: expect.objectContaining({ eventId: 'm1', errorName: 'RangeError' }) }]);
});

test('a body over the limit is logged with nothing that came with it [S3.4]', async () => {
  const { send, log } = await receiver({ maxBodyBytes: 10 });
  await send({ id: 'secret-id', body: 'x'.repeat(11) });
  expect(log).toEqual([
    {
      level: 'warn',
      fields: { operation: 'send-reminder', source: 'qstash', retryable: false },
      message: expect.any(String),
    },
  ]);
});
