import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import { type BreakerOptions, event, type Holdfast, outgoing, type RelayEvent } from '../../src/index.ts';
import { postgresOperator } from '../../src/postgres/index.ts';
import type { PoolClient } from 'pg';
import { needs } from '../support/needs.ts';
import { testService, type TestService } from './service.ts';

const test = needs('postgres');
const BY = { actor: 'ann', reason: 'provider maintenance' };
const QUICK: BreakerOptions = { dependency: 'stripe', failures: 3, probeAfterMs: 200, maxProbeAfterMs: 800 };

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
  hf.on(charged, 'charge', call, { breaker, policy: { maxAttempts: 3, baseDelayMs: 5, maxDelayMs: 10 } });
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

test('an outage spends the attempts that opened the breaker and no more, and afterwards all is delivered once, in order [X.10]', async ({
  postgres,
}) => {
  const service = await testService(postgres);
  const stripe = await provider();
  const second = service.another({});
  for (const hf of [service.hf, second]) charge(hf, stripe);
  await service.start();
  await service.start({ of: second });
  await send(service, 20, 10);
  // Several probes have failed, of several messages.
  await expect.poll(() => told(service.events, 'open', 'probe')).toBeGreaterThan(3);
  // Each of the two may have counted to three by itself.
  expect(await service.column('select coalesce(sum(attempts), 0)::int from $.delivery')).toSatisfy(
    ([spent]) => spent >= 3 && spent <= 6,
  );
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

test('while a breaker is open one process tries one message at a time, however many there are, and a hint is waited for [X.10]', async ({
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
  expect(await service.column('select sum(attempts)::int from $.delivery')).toEqual([1]);
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
