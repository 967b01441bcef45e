import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Pool } from 'pg';
import { describe, expect, onTestFinished, test as plainTest } from 'vitest';
import { serviceClient } from '../../src/http/index.ts';
import { idempotency, memoryIdempotency } from '../../src/idempotency/index.ts';
import { systemEffects } from '../../src/index.ts';
import { type FactRecorder, factRecorder, type LostFacts, postgresOperator } from '../../src/postgres/index.ts';
import { startService } from '../http/local-service.ts';
import { connect, freshSchema, pooled } from '../postgres/support/fresh-schema.ts';
import { postgresWire } from '../../src/testing/index.ts';
import { needs, type TestServer } from '../support/needs.ts';

const test = needs('postgres');

const FAST = { maxAttempts: 3, baseDelayMs: 1, maxDelayMs: 1 };

type Options = Partial<Parameters<typeof factRecorder>[0]>;

/** A recorder that ends with the test, what it has lost, and a connection to look at what it has kept. */
async function recorder(
  server: TestServer,
  options: Options = {},
): Promise<{ facts: FactRecorder; lost: LostFacts[]; schema: string; kept: (column: string) => Promise<unknown[]> }> {
  const schema = await freshSchema(server);
  const client = await connect(server);
  const lost: LostFacts[] = [];
  const onLost = (one: LostFacts): void => void lost.push(one);
  const facts = factRecorder({ service: 'shop', pool: pooled(server), schema, onLost, ...options });
  onTestFinished(() => facts.stop());
  const kept = async (column: string): Promise<unknown[]> => {
    const { rows } = await client.query({ text: `select ${column} from ${schema}.fact order by id`, rowMode: 'array' });
    return rows.map((row) => (row as unknown[])[0]);
  };
  return { facts, lost, schema, kept };
}

/** Where nobody listens, or somebody who never answers. */
async function poolOf(silent: boolean): Promise<Pool> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => void sockets.push(socket.on('error', () => undefined)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = (): void => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  if (silent) onTestFinished(close);
  else close();
  const pool = new Pool({ host: '127.0.0.1', port, user: 'nobody', database: 'nothing' });
  onTestFinished(() => pool.end());
  return pool;
}

describe('what leaves no row of its own', () => {
  test('is kept: requests, notes, each attempt of a call, and what became of idempotency keys [X.7] [S0.5]', async ({
    postgres,
  }) => {
    const { facts, lost, schema, kept } = await recorder(postgres);
    const service = await startService((_, response, index) => response.writeHead([503, 200][index] ?? 404).end('{}'));
    onTestFinished(() => service[Symbol.asyncDispose]());
    const client = serviceClient({ baseUrl: service.url, policy: FAST, onAttempt: facts.call });
    const about = { requestId: 'req-1', idempotencyKey: 'key-1', user: 'user-1', logFields: { runId: 'run-1' } };
    await client.request({ operation: 'charge', path: '/charges', json: { card: '4111' }, ...about });
    await client.find({ operation: 'look', path: '/charges/7', ...about });
    const gone = await startService(() => undefined);
    await gone[Symbol.asyncDispose]();
    const down = serviceClient({
      baseUrl: gone.url,
      policy: { ...FAST, maxAttempts: 1 },
      onAttempt: facts.call,
    });
    await expect(down.request({ operation: 'down', path: '/', requestId: 'req-1' })).rejects.toThrow('down');
    facts.request({ operation: 'POST /pay', httpStatus: 201, latencyMs: 7, requestId: 'req-1', userId: 'user-1' });
    facts.request({ method: 'GET', url: '/balance', httpStatus: 200, requestId: 'req-1' });
    facts.note('card was checked', { requestId: 'req-1' });
    facts.note('card was charged', { requestId: 'req-1', operation: 'bank' });
    const guarded = idempotency({ service: 'shop', store: memoryIdempotency(), observers: [facts.idempotency] });
    for (const _ of [1, 2]) await guarded.once('key-1', async () => ({ paid: true }), { domain: 'pay' });
    await facts.stop();
    expect(lost).toEqual([]);
    expect(await kept(`fields ->> 'url'`)).toContain(`${service.url}/charges`);
    const answer = await postgresOperator({ pool: pooled(postgres), schema }).trace('req-1');
    if (answer.kind !== 'trace') throw new Error(answer.kind);
    const told = answer.entries.map(({ step, what, outcome, detail }) => [step, what, outcome, detail]);
    expect(told.toSorted((a, b) => (String(a) < String(b) ? -1 : 1))).toEqual([
      ['call', 'charge', 'failed', 'status 503, overload, attempt 1 of 3, may be tried again'],
      ['call', 'charge', 'ok', 'status 200, attempt 2 of 3'],
      ['call', 'down', 'failed', 'network ECONNREFUSED, attempt 1 of 1, may be tried again'],
      ['call', 'look', 'ok', 'status 404, attempt 1 of 3'],
      ['idempotency', 'pay', undefined, 'attempt 1, let in'],
      ['idempotency', 'pay', 'ok', 'answered with what was kept'],
      ['idempotency', 'pay', 'ok', 'attempt 1, run kept'],
      ['note', 'bank', undefined, 'card was charged'],
      ['note', 'card was checked', undefined, undefined],
      ['request', 'GET /balance', 'ok', 'status 200'],
      ['request', 'POST /pay', 'ok', 'status 201'],
    ]);
    const record = answer.entries.find(({ step }) => step === 'idempotency');
    const same = await postgresOperator({ pool: pooled(postgres), schema }).trace(record?.ids['recordId'] ?? '');
    expect(same).toMatchObject({ kind: 'trace', as: ['idempotency key'] });
  });

  test('is kept without secrets, and odd values hurt nobody [X.7]', async ({ postgres }) => {
    const { facts, lost, kept } = await recorder(postgres);
    const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl';
    facts.request({
      operation: `GET https://ann:hunter2@shop.example/?token=abc123`,
      authorization: 'Bearer s3cr3t-s3cr3t',
      password: 'hunter2',
      note: `the password is hunter2hunter2`,
      requestId: `req ${jwt}`,
      userId: jwt,
      idempotencyKey: 'order-7:token:v1',
    });
    const circle: Record<string, unknown> = {};
    circle['circle'] = circle;
    const trap = Object.defineProperty({}, 'requestId', {
      enumerable: true,
      get: () => {
        throw new Error('trap');
      },
    });
    const odd = [{ ...circle, n: 7n, f: () => 1, nan: NaN, requestId: 'a\u0000b\uD800' }, trap, null, undefined, 'x'];
    for (const fields of odd) facts.request(fields as never);
    facts.call({ operation: 'x'.repeat(10_000), requestId: 'y'.repeat(10_000) });
    facts.note('long', Object.fromEntries(Array.from({ length: 39 }, (_, n) => [`text${n}`, 'z'.repeat(400)])));
    facts.request({ operation: 'GET /', latencyMs: 1e300 });
    facts.note(7 as never, Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`field${n}`, n])));
    await facts.stop();
    const text = JSON.stringify(await kept(`row_to_json(fact)::text`));
    for (const secret of ['hunter2', 's3cr3t', 'abc123', jwt.slice(0, 20)]) expect(text).not.toContain(secret);
    expect(text).toContain('order-7:token:v1');
    expect(text.length).toBeLessThan(12_000);
    expect(await kept('ids')).toContainEqual(['ab\uFFFD']);
    expect(await kept('ids')).toContainEqual(['order-7:token:v1']);
    expect(lost).toEqual([]);
  });

  test('has the time of the database, however wrong the clock of a process is [X.7]', async ({ postgres }) => {
    const hourMs = 3_600_000;
    const late = {
      ...systemEffects,
      now: () => ({ ...systemEffects.now(), wallMs: systemEffects.now().wallMs - 5 * hourMs }),
    };
    const { facts, kept } = await recorder(postgres, { effects: late });
    facts.request({ operation: 'GET /', latencyMs: hourMs });
    await facts.stop();
    const [age] = await kept('extract(epoch from clock_timestamp() - at)::int');
    expect(Number(age)).toBeGreaterThanOrEqual(3_600);
    expect(Number(age)).toBeLessThan(2 * 3_600);
  });

  test('is written once although the answer was lost with the connection [X.7]', async ({ postgres }) => {
    const wire = await postgresWire(postgres.url);
    onTestFinished(() => wire.close());
    const pool = new Pool({ connectionString: wire.url });
    onTestFinished(() => pool.end());
    const { facts, lost, kept } = await recorder(postgres, { pool });
    const stopped = wire.stopAt('.fact (id, at', 'answered');
    for (let n = 0; n < 600; n += 1) facts.note(`note ${n}`, {});
    (await stopped).cut();
    await expect.poll(() => facts.counts()).toEqual({ kept: 600, lost: 0, waiting: 0 });
    expect(await kept('1')).toHaveLength(600);
    expect(lost).toEqual([]);
  });

  test('is told as lost when the database refuses it, with what it said [X.7]', async ({ postgres }) => {
    const { facts, lost } = await recorder(postgres, { schema: 'not_migrated' });
    facts.note('nowhere', {});
    await expect.poll(() => lost).toMatchObject([{ count: 1, reason: 'refused', error: { code: '42P01' } }]);
    expect(facts.counts()).toEqual({ kept: 0, lost: 1, waiting: 0 });
  });
});

describe('a database that does not answer', () => {
  for (const [how, silent] of [
    ['is away', false],
    ['takes connections and says nothing', true],
  ] as const) {
    plainTest(
      `and ${how} holds up nobody: what waits is bounded, what is lost is counted and told [X.7] [S0.6]`,
      async () => {
        const lost: LostFacts[] = [];
        const onLost = (one: LostFacts): void => {
          lost.push(one);
          throw new Error('dropped');
        };
        const facts = factRecorder({ service: 'shop', pool: await poolOf(silent), maxWaiting: 100, onLost });
        for (let n = 0; n < 1_000; n += 1) facts.request({ operation: 'GET /', requestId: `req-${n}` });
        expect(facts.counts()).toEqual({ kept: 0, lost: 900, waiting: 100 });
        const stops = [facts.stop({ timeoutMs: 50 }), facts.stop()];
        expect(stops[0]).toBe(stops[1]);
        await Promise.all(stops);
        facts.note('too late', {});
        const told = lost.map(({ count, reason }) => [reason, count]);
        expect(told.filter(([reason]) => reason === 'full')).toEqual([['full', 900]]);
        expect(told.filter(([reason]) => reason === 'stopped')).toEqual([
          ['stopped', 100],
          ['stopped', 1],
        ]);
        expect(facts.counts()).toEqual({ kept: 0, lost: 1_001, waiting: 0 });
      },
    );
  }

  plainTest('a recorder without a service or a pool is refused, all at once [X.7]', () => {
    expect(() => factRecorder({ service: '', pool: {} as never, maxWaiting: 0, onLost: 1 as never })).toThrow(
      /service.*maxWaiting.*onLost.*pool/s,
    );
  });
});
