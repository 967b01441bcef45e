import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';
import {
  type BreakerOptions,
  constant,
  event,
  type Holdfast,
  outgoing,
  policy,
  type RelayEvent,
} from '../../src/index.ts';
import { postgresOperator } from '../../src/postgres/index.ts';
import type { PoolClient } from 'pg';
import { needs } from '../support/needs.ts';
import { testService, type TestService } from './service.ts';

const test = needs('postgres');
const BY = { actor: 'ann', reason: 'provider maintenance' };
const QUICK: BreakerOptions = { dependency: 'stripe', failures: 3, probeAfterMs: 200, maxProbeAfterMs: 800 };

// None of those that opened a breaker comes again before the others have failed.
const ONE_SECOND = policy({ maxAttempts: 3, schedule: constant(1_000) });

interface Charge {
  readonly key: string;
  readonly n: number;
}
const charged = event<Charge>('charge.asked', { key: ({ key }) => key });

/** What handlers call: up or down, and what it took. */
interface Provider {
  readonly url: string;
  isDown: boolean;
  headers: Record<string, string>;
  readonly taken: Charge[];
  calls: number;
}

async function provider(): Promise<Provider> {
  const state: Provider = { url: '', isDown: true, headers: {}, taken: [], calls: 0 };
  const server: Server = createServer((request, response) => {
    state.calls += 1;
    const { searchParams } = new URL(request.url ?? '', 'http://provider');
    if (state.isDown) return void response.writeHead(503, state.headers).end();
    state.taken.push({ key: searchParams.get('key') ?? '', n: Number(searchParams.get('n')) });
    response.end('ok');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return Object.assign(state, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

function charge(hf: Holdfast<PoolClient>, at: Provider, breaker: BreakerOptions | false = QUICK): void {
  const call = async ({ key, n }: Charge): Promise<void> => {
    const response = await fetch(`${at.url}/?key=${key}&n=${n}`, { method: 'POST' });
    if (!response.ok) throw Object.assign(new Error('refused'), { status: response.status, headers: response.headers });
  };
  hf.on(charged, 'charge', call, { breaker, policy: ONE_SECOND });
}

async function send({ hf, inTransaction }: TestService, keys: number, each: number): Promise<void> {
  const charges = Array.from({ length: keys * each }, (_, i) => ({ key: `k${i % keys}`, n: Math.floor(i / keys) }));
  await inTransaction((tx) =>
    hf.sendAll(
      tx,
      charges.map((one) => outgoing(charged, one)),
    ),
  );
}

function told(events: readonly RelayEvent[], state: string, cause: string): number {
  return events.filter((one) => one.kind === 'breaker' && one.state === state && one.cause === cause).length;
}

test('an outage spends no attempts, and afterwards all is delivered once, in order [X.10]', async ({ postgres }) => {
  const service = await testService(postgres);
  const stripe = await provider();
  const second = service.another({});
  for (const hf of [service.hf, second]) charge(hf, stripe);
  await service.start();
  await service.start({ of: second });
  await send(service, 20, 10);
  // Several probes have failed, of several messages.
  await expect.poll(() => told(service.events, 'open', 'probe')).toBeGreaterThan(3);
  expect(await service.column('select sum(attempts)::int from $.delivery')).toEqual([0]);
  // All of them are counted, where they failed.
  const failures = `sum((retry -> 'outage' ->> 'failures')::int)::int`;
  expect(await service.column(`select ${failures} from $.delivery`)).toSatisfy(([count]) => count >= 3);
  expect(await service.column('select count(*)::int from $.delivery where state = 2')).toEqual([0]);
  expect(told(service.events, 'open', 'failures')).toBe(1);
  stripe.isDown = false;
  await expect.poll(() => service.column('select count(*)::int from $.delivered')).toEqual([200]);
  const byKey = Map.groupBy(stripe.taken, ({ key }) => key);
  expect(byKey.size).toBe(20);
  for (const taken of byKey.values()) expect(taken.map(({ n }) => n)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  await expect.poll(() => service.column('select state from $.breaker')).toEqual([0]);
  await expect
    .poll(() => told(service.events, 'closed', 'elsewhere') + told(service.events, 'closed', 'probe'))
    .toBe(2);
});

test('while a breaker is open one process tries one message at a time, however many processes there are [X.10]', async ({
  postgres,
}) => {
  const service = await testService(postgres);
  const stripe = await provider();
  let running = 0;
  let most = 0;
  const makeOne = (): Holdfast<PoolClient> => {
    const hf = service.another({});
    hf.on(
      charged,
      'charge',
      async () => {
        most = Math.max(most, (running += 1));
        await fetch(stripe.url, { method: 'POST' });
        running -= 1;
        throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' });
      },
      { breaker: { ...QUICK, failures: 1, probeAfterMs: 20, maxProbeAfterMs: 20 }, concurrency: 1 },
    );
    return hf;
  };
  const hfs = [makeOne(), makeOne(), makeOne()];
  for (const of of hfs) await service.start({ of });
  await service.inTransaction((tx) => hfs[0]?.send(tx, charged, { key: 'first', n: 0 }) ?? Promise.resolve(undefined));
  await expect.poll(() => told(service.events, 'open', 'failures')).toBe(1);
  // All know of it before there is more to try.
  await expect.poll(() => told(service.events, 'open', 'elsewhere')).toBeGreaterThanOrEqual(2);
  most = 0;
  const before = told(service.events, 'probing', 'probe');
  await send(service, 60, 1);
  await expect.poll(() => told(service.events, 'probing', 'probe')).toBeGreaterThan(before + 10);
  expect(most).toBe(1);
  expect(await service.column('select sum(attempts)::int from $.delivery')).toEqual([0]);
});

test('a breaker that was opened by hand stays open over restarts until it is closed by hand, and both are in the audit [X.10]', async ({
  postgres,
}) => {
  const service = await testService(postgres);
  const stripe = await provider();
  stripe.isDown = false;
  charge(service.hf, stripe);
  const operator = postgresOperator({ pool: service.pool, schema: service.schema });
  await (await service.start()).stop();
  expect(await operator.openBreaker('stripe', BY)).toMatchObject({
    kind: 'changed',
    breaker: {
      service: 'orders',
      name: 'stripe',
      handlers: ['charge'],
      state: 'open',
      probeAt: undefined,
      changed: BY,
    },
  });
  expect((await operator.openBreaker('orders/stripe', BY)).kind).toBe('unchanged');
  const again = service.another({});
  charge(again, stripe);
  const relay = await service.start({ of: again });
  await send(service, 2, 2);
  await relay.whenIdle();
  // All is read, and it goes on looking round.
  const beat = (): Promise<unknown[]> => service.column('select max(expires_at)::text from $.worker');
  const first = await beat();
  await expect.poll(beat).not.toEqual(first);
  expect(stripe.calls).toBe(0);
  expect((await operator.breakers()).items).toMatchObject([{ name: 'stripe', state: 'open', waiting: 4, failures: 3 }]);
  const [id] = await service.column('select id::text from $.delivery limit 1');
  expect(await operator.why(String(id))).toMatchObject({
    deliveries: [{ reason: { kind: 'breaker-open', breaker: 'stripe', probeAt: undefined } }],
  });
  expect(await operator.closeBreaker('stripe', BY)).toMatchObject({ kind: 'changed', breaker: { state: 'closed' } });
  expect((await operator.closeBreaker('stripe', BY)).kind).toBe('unchanged');
  await expect.poll(() => stripe.taken.length).toBe(4);
  expect((await operator.audit()).items).toMatchObject([
    { verb: 'close-breaker', ...BY, details: { service: 'orders', breaker: 'stripe' } },
    { verb: 'open-breaker', ...BY },
  ]);
  expect(await operator.closeBreaker('paypal', BY)).toEqual({
    kind: 'unknown-breaker',
    name: 'paypal',
    known: ['orders/stripe'],
  });
});

test('a process that is killed while it tries a message leaves that to another: the breaker does not probe for ever [X.10]', async ({
  postgres,
}) => {
  const service = await testService(postgres);
  const taken: number[] = [];
  const breaker = { dependency: 'stripe', failures: 1, probeAfterMs: 10, maxProbeAfterMs: 10 };
  service.hf.on(charged, 'charge', ({ n }) => void taken.push(n), { breaker });
  await (await service.start({ leaseMs: 1_000 })).stop();
  await send(service, 1, 3);
  const program = fileURLToPath(new URL('probing-process.ts', import.meta.url));
  const child = spawn(process.execPath, [program, postgres.url, service.schema], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  expect(await service.column('select state from $.breaker')).toEqual([1]);
  child.kill('SIGKILL');
  await once(child, 'exit');
  await service.start({ leaseMs: 1_000 });
  await expect.poll(() => taken).toEqual([0, 1, 2]);
  await expect.poll(() => service.column('select state from $.breaker')).toEqual([0]);
});

test('a hint of what is called is waited for before it is tried again [X.10]', async ({ postgres }) => {
  const service = await testService(postgres);
  const stripe = await provider();
  stripe.headers = { 'retry-after': '3600' };
  charge(service.hf, stripe, { ...QUICK, failures: 1 });
  await service.start();
  await send(service, 2, 1);
  await expect.poll(() => service.column('select count(*)::int from $.breaker where state = 2')).toEqual([1]);
  expect(await service.column(`select (probe_at > now() + interval '50 minutes') from $.breaker`)).toEqual([true]);
});

test('an operator sets how many messages of a handler run at once in each process, above and below what its code says [X.10]', async ({
  postgres,
}) => {
  const service = await testService(postgres);
  const operator = postgresOperator({ pool: service.pool, schema: service.schema });
  const waiting: (() => void)[] = [];
  service.hf.on(event('job.asked'), 'work', () => new Promise<void>((resolve) => void waiting.push(resolve)), {
    concurrency: 2,
  });
  await service.start();
  await service.inTransaction((tx) =>
    service.hf.sendAll(
      tx,
      Array.from({ length: 300 }, () => outgoing(event('job.asked'), {})),
    ),
  );
  await expect.poll(() => waiting.length).toBe(2);
  expect(await operator.limit('work', 5, BY)).toEqual({ kind: 'limited', limit: 5 });
  expect(await operator.limit('work', 5, BY)).toEqual({ kind: 'unchanged', limit: 5 });
  await expect.poll(() => waiting.length).toBe(5);
  expect(await operator.handlers()).toMatchObject([{ handler: 'work', limit: 5 }]);
  await expect(operator.limit('work', 0, BY)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
  await operator.limit('work', 1, BY);
  // What runs goes on; one after the other ends, until no more than one is left.
  const endOne = (): number => {
    if (waiting.length > 1) waiting.shift()?.();
    return waiting.length;
  };
  await expect.poll(endOne).toBe(1);
  waiting.shift()?.();
  await expect.poll(() => waiting.length).toBe(1);
  expect((await operator.limit('work', undefined, BY)).kind).toBe('limited');
  for (const done of waiting) done();
  expect((await operator.audit({ verb: 'limit' })).items).toMatchObject([
    { details: { limit: null, limitBefore: 1 } },
    { details: { limit: 1, limitBefore: 5 } },
    { handler: 'work', details: { limit: 5, limitBefore: null } },
  ]);
});

test('messages that fail by themselves do not keep a breaker open for those that would not, whichever were tried before [X.10]', async ({
  postgres,
}) => {
  const service = await testService(postgres);
  const done: number[] = [];
  // One handler, many destinations: the one of the keys `away` is.
  const call = ({ key, n }: Charge): void => {
    if (key.startsWith('away')) throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' });
    done.push(n);
  };
  const breaker = { failures: 3, probeAfterMs: 50, maxProbeAfterMs: 400 };
  service.hf.on(charged, 'charge', call, { breaker, policy: policy({ maxAttempts: 100, schedule: constant(10) }) });
  await service.start();
  const sendThem = (key: string, from: number, count: number): Promise<unknown> =>
    service.inTransaction((tx) =>
      service.hf.sendAll(
        tx,
        Array.from({ length: count }, (_, i) => outgoing(charged, { key: `${key}${from + i}`, n: from + i })),
      ),
    );
  await sendThem('away', 0, 6);
  await expect.poll(() => told(service.events, 'open', 'failures')).toBe(1);
  await sendThem('here', 100, 3);
  await expect.poll(() => done.length).toBe(3);
});
