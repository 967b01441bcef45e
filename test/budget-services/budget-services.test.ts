import { execFile } from 'node:child_process';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { status } from '@grpc/grpc-js';
import { Redis } from 'ioredis';
import { expect, onTestFinished } from 'vitest';
import type { Span } from '../../examples/budget-services/traces/span.ts';
import { run } from '../agent-chat/process.ts';
import { needs } from '../support/needs.ts';
import type { BareMessage } from './bare-readers.ts';
import { mutate, requestOf, spentOf } from './requests.ts';
import { type Budget, BUDGET_SERVERS, sharedBudget } from './shared-budget.ts';

const BIN = fileURLToPath(new URL('../../examples/budget-services/bin', import.meta.url));
const NODE = dirname(process.execPath);

/** Types `budget-manager …`, with nothing but the databases in the environment; a failure rejects. */
function budgetManager({ env }: Budget, args: readonly string[]): Promise<{ readonly stdout: string }> {
  const found = {
    PATH: [BIN, NODE, '/usr/bin', '/bin'].join(':'),
    DATABASE_URL: env['DATABASE_URL'],
    MONGODB_URL: env['MONGODB_URL'],
  };
  return promisify(execFile)('budget-manager', args, { env: found });
}

/** The example runs once for all of them. */
const theBudget = sharedBudget();
const test = needs(...BUDGET_SERVERS).extend<{ budget: Budget }>({
  budget: async ({ postgres, mongodb, redis, rabbitmq, kafka }, use) =>
    use(await theBudget({ postgres, mongodb, redis, rabbitmq, kafka })),
});

/** How the spans of a trace hang together: `process: span < parent`. */
function linesOf(spans: readonly Span[]): ReadonlySet<string> {
  const names = new Map(spans.map(({ spanId, name }) => [spanId, name]));
  return new Set(
    spans.map(
      ({ service, name, parentSpanId = '' }) => `${service}: ${name} < ${names.get(parentSpanId) ?? parentSpanId}`,
    ),
  );
}

/** What follows from an expense, whoever filed it. */
const AFTER_EXPENSE = [
  'expenses: publish expense.booked < send expense.booked',
  'transactions: handle expense.booked < publish expense.booked',
  'transactions: send transaction.recorded < handle expense.booked',
  'transactions: publish transaction.recorded < send transaction.recorded',
  'transactions: handle transaction.recorded < publish transaction.recorded',
];

const CHAINS = {
  REST: (caller: string) => [
    `orders: POST /api/orders < ${caller}`,
    'orders: send order.placed < POST /api/orders',
    'orders-relay: publish order.placed < send order.placed',
    'expenses: handle order.placed < publish order.placed',
    'expenses: send expense.booked < handle order.placed',
    ...AFTER_EXPENSE,
  ],
  GraphQL: (caller: string) => [
    `expenses: POST /graphql < ${caller}`,
    'expenses: send expense.booked < POST /graphql',
    ...AFTER_EXPENSE,
  ],
  gRPC: (caller: string) => [
    `transactions: budget.Transactions/Record < ${caller}`,
    'transactions: send transaction.recorded < budget.Transactions/Record',
    'transactions: publish transaction.recorded < send transaction.recorded',
    'transactions: handle transaction.recorded < publish transaction.recorded',
  ],
};

/** The kinds of span in the numbers of OTLP: a producer, a consumer; a server is 2. */
const KINDS: Readonly<Record<string, number>> = { send: 4, publish: 4, handle: 5 };

/** All that a client which knows nothing of Holdfast has read off both brokers about a budget. */
function published({ rabbitmq, kafka }: Budget, budgetId: string): readonly BareMessage[] {
  return [...rabbitmq.seen, ...kafka.seen].filter(({ payload }) => payload['budgetId'] === budgetId);
}

test.for(['REST', 'REST expense', 'REST transaction', 'GraphQL', 'gRPC'] as const)(
  'the budget services: over %s a request that comes again gets the same reply, has one effect and is published once [S1.1] [S1.3] [S1.4]',
  // The first of them starts everything.
  { timeout: 120_000 },
  async (protocol, { budget }) => {
    const budgetId = `again-${protocol}`;
    const { send } = requestOf(budget, protocol, budgetId);
    const first = await send();
    const made = { GraphQL: 200, gRPC: status.OK, REST: 201, 'REST expense': 201, 'REST transaction': 201 }[protocol];
    expect(first).toMatchObject({ status: made, isReplay: false });
    for (let n = 0; n < 3; n++) expect(await send()).toEqual({ ...first, isReplay: true });
    expect(await send(200)).toMatchObject({ status: protocol === 'gRPC' ? status.INVALID_ARGUMENT : 422 });

    await expect.poll(() => spentOf(budget, budgetId)).toMatchObject({ spentCents: 100, transactions: 1 });
    const toExpense = ['expense.booked'];
    const types = {
      REST: ['order.placed', ...toExpense],
      'REST expense': toExpense,
      'REST transaction': [],
      GraphQL: toExpense,
      gRPC: [],
    }[protocol];
    const seen = (): readonly BareMessage[] => published(budget, budgetId);
    const typeOf = ({ headers }: BareMessage): unknown => headers['cloudEvents_type'] ?? headers['ce_type'];
    await expect.poll(() => seen().map(typeOf)).toEqual(expect.arrayContaining([...types, 'transaction.recorded']));
    // A relay that lost its lease may publish a message again; a repetition of the request may not make another.
    const ids = seen().map(({ headers }) => headers['cloudEvents_id'] ?? headers['ce_id']);
    expect(new Set(ids).size).toBe(types.length + 1);
  },
);

test.for(['REST', 'GraphQL', 'gRPC'] as const)(
  'the budget services: from a %s request to the last handler is one trace, exported by each process and joined by the headers at the brokers [S1.10]',
  async (protocol, { budget }) => {
    const budgetId = `traced-${protocol}`;
    const { send, traceId, spanId } = requestOf(budget, protocol, budgetId);
    await send();
    const traced = (): readonly Span[] => budget.collector.traces.get(traceId) ?? [];
    await expect.poll(() => linesOf(traced())).toEqual(new Set(CHAINS[protocol](spanId)));
    for (const { name, kind } of traced()) expect([name, kind]).toEqual([name, KINDS[name.split(' ')[0] ?? ''] ?? 2]);
    // What a bare client reads off the broker names the span that published it.
    const publishing = traced().filter(({ name }) => name.startsWith('publish'));
    const spans = publishing.map((span) => `00-${traceId}-${span.spanId}-01`);
    const seen = (): readonly BareMessage[] => published(budget, budgetId);
    await expect.poll(() => seen().length).toBeGreaterThanOrEqual(spans.length);
    for (const { headers } of seen()) expect(spans).toContain(headers['traceparent']);
  },
);

test('the budget services: an expense that cannot be booked is refused over REST, stores nothing, and its refusal is the reply of its key [S1.1]', async ({
  budget,
}) => {
  const { send } = requestOf(budget, 'REST expense', 'refused', 'islands');
  const first = await send();
  expect(first).toEqual({ status: 422, isReplay: false, text: '{"error":"there is no account for islands"}' });
  expect(await send()).toEqual({ ...first, isReplay: true });
  expect(await budget.mongo.collection('expenses').countDocuments({ budgetId: 'refused' })).toBe(0);
});

test('the budget services: each process shows what it counts at /metrics [S1.10]', async ({ budget }) => {
  const { send } = requestOf(budget, 'REST', 'counted');
  for (let n = 0; n < 2; n++) await send();
  for (const protocol of ['REST expense', 'REST transaction'] as const)
    await requestOf(budget, protocol, 'counted').send();
  await expect.poll(() => spentOf(budget, 'counted')).toMatchObject({ transactions: 3 });
  const page = async (port: number): Promise<string> => {
    const response = await fetch(`http://127.0.0.1:${port}/metrics`);
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      expect.stringContaining('version=0.0.4'),
    ]);
    return response.text();
  };
  const { orders, ordersRelay, expenses, transactionsRest } = budget.ports;
  const relay = /^outbox_published_total\{[^}]*\} [1-9]/m;
  const consumer = /^consumer_processed_total\{[^}]*\} [1-9]/m;
  const requests = /^idempotency_requests_total\{[^}]*outcome="first"[^}]*\} [1-9]/m;
  for (const [port, patterns] of [
    [orders, [requests, /^idempotency_cache_hits_total\{[^}]*\} [1-9]/m]],
    [ordersRelay, [relay, /^outbox_pending \d/m]],
    [expenses, [relay, consumer, requests]],
    [transactionsRest, [relay, consumer, requests]],
  ] as const) {
    for (const pattern of patterns) await expect.poll(() => page(port)).toMatch(pattern);
    // The texts of two libraries are joined: no metric may be declared twice.
    const declared = [...(await page(port)).matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
    expect(new Set(declared).size).toBe(declared.length);
  }
});

test('the budget services: a reply is stored in Redis and in PostgreSQL as it was sent, for a day [S1.3]', async ({
  budget,
  redis,
}) => {
  const client = new Redis(redis.url);
  onTestFinished(() => client.disconnect());
  const sent = await requestOf(budget, 'REST', 'kept').send();
  const stored = await budget.query<{ readonly id: string; readonly person: string; readonly fingerprint: string }>(
    `select id, person, fingerprint, status, head::jsonb ->> 'status' as code, convert_from(body, 'UTF8') as body,
       expires_at - updated_at as lifetime from budget_orders.idempotency where convert_from(body, 'UTF8') = $1`,
    [sent.text],
  );
  expect(stored).toMatchObject([{ status: 'completed', code: '201', body: sent.text, lifetime: { days: 1 } }]);
  const [{ id, person, fingerprint } = { id: '', person: '', fingerprint: '' }] = stored;
  const key = `${budget.prefix}orders:c:{${person}}:${id}`;
  // Its texts stand in it one after the other. It is put there after the reply was sent.
  await expect.poll(async () => (await client.getBuffer(key))?.toString()).toContain(sent.text);
  const cached = (await client.getBuffer(key))?.toString();
  for (const text of [fingerprint, 'completed', '"status":201']) expect(cached).toContain(text);
  const leftMs = await client.pttl(key);
  expect([leftMs > 0, leftMs <= 86_400_000]).toEqual([true, true]);
});

test('the budget services: outbox_events, inbox_messages and idempotency_keys have the fields of their plan, and the rows of what happened [S1.2] [S1.4] [S1.6]', async ({
  budget,
}) => {
  const { send, traceId } = requestOf(budget, 'REST', 'plan');
  const order = JSON.parse((await send()).text) as { readonly orderId: string };
  await expect.poll(() => spentOf(budget, 'plan')).toMatchObject({ transactions: 1 });

  const events = `select "_id", "aggType", "aggId", "eventType", payload, "createdAt", "publishedAt", "createdAt" <= "publishedAt" as "isPublished",
    traceparent, tracestate from budget_orders.outbox_events where "aggId" = $1`;
  const sent = await budget.query<Readonly<Record<string, unknown>>>(events, [order.orderId]);
  expect(sent).toEqual([
    {
      _id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      aggType: 'order',
      aggId: order.orderId,
      eventType: 'order.placed',
      payload: order,
      createdAt: expect.any(Date),
      publishedAt: expect.any(Date),
      isPublished: true,
      traceparent: expect.stringContaining(traceId),
      tracestate: '',
    },
  ]);

  const times = { firstProcessedAt: expect.any(Date), lastProcessedAt: expect.any(Date) };
  const found = await budget.mongo
    .collection('inbox_messages')
    .findOne({ _id: `expenses ${sent[0]?.['_id'] as string}` as never });
  expect(found).toMatchObject({
    ...times,
    sourceId: expect.stringContaining(`amqp:${budget.prefix}order@order.placed@${sent[0]?.['_id'] as string}`),
    eventType: 'order.placed',
    createdAt: expect.any(Date),
  });
  // What a service only took in is not among what it sent.
  const ofExpenses = budget.mongo.collection('outbox_events');
  expect(await ofExpenses.distinct('eventType')).toEqual(['expense.booked']);
  expect(await ofExpenses.findOne({ 'payload.budgetId': 'plan' })).toMatchObject({
    _id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    aggType: 'expense',
    aggId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    eventType: 'expense.booked',
    payload: { budgetId: 'plan', amountCents: 100 },
    createdAt: expect.any(Date),
    publishedAt: expect.any(Date),
    traceparent: expect.stringContaining(traceId),
    tracestate: '',
  });

  const inbox = `select "_id", "firstProcessedAt", "lastProcessedAt",
    "firstProcessedAt" <= "lastProcessedAt" as "isInOrder" from budget_transactions.inbox_messages where "_id" like $1`;
  const byKafka = await budget.query(inbox, [`kafka:${budget.prefix}%`]);
  expect(byKafka.length).toBeGreaterThan(1);
  for (const row of byKafka)
    expect(row).toEqual({ _id: expect.stringMatching(/@\d+@\d+$/), ...times, isInOrder: true });

  const keys = `select "_id", "requestHash", response, "statusCode", "createdAt", "ttlAt", "createdAt" < "ttlAt" as "isKept"
    from budget_orders.idempotency_keys where response ->> 'orderId' = $1`;
  expect(await budget.query(keys, [order.orderId])).toEqual([
    {
      _id: expect.any(String),
      requestHash: expect.stringMatching(/^[\w-]{43}$/),
      response: order,
      statusCode: 201,
      createdAt: expect.any(Date),
      ttlAt: expect.any(Date),
      isKept: true,
    },
  ]);
  const expense = await requestOf(budget, 'REST expense', 'plan').send();
  const kept = { response: JSON.parse(expense.text) as object, statusCode: 201 };
  expect(await budget.mongo.collection('idempotency_keys').findOne({ response: kept.response })).toMatchObject({
    ...kept,
    _id: expect.any(String),
    requestHash: expect.stringMatching(/^[\w-]{43}$/),
    createdAt: expect.any(Date),
    ttlAt: expect.any(Date),
  });
  // Of gRPC: bytes, and a status of its own.
  await requestOf(budget, 'gRPC', 'plan').send();
  const newest = `select "statusCode", jsonb_typeof(response) as type from budget_transactions.idempotency_keys
    order by "createdAt" desc limit 1`;
  expect(await budget.query(newest)).toEqual([{ statusCode: status.OK, type: 'string' }]);
});

test('the budget services: poison is a dead letter after seven tries, and is replayed by the command line after the fix [S1.7] [S1.8] [S1.10]', async ({
  budget,
}) => {
  const said = async (...args: string[]): Promise<string> => (await budgetManager(budget, args)).stdout;
  const { send, traceId } = requestOf(budget, 'REST', 'poison', 'yachts');
  const { orderId } = JSON.parse((await send()).text) as { orderId: string };
  const messages = budget.mongo.collection('inbox_messages');
  await expect.poll(() => messages.countDocuments({ state: 'dead' })).toBe(1);
  const peeked = await said('dlq:peek', '--service', 'expenses');
  expect(peeked).toContain('NoAccountError: there is no account for yachts');
  expect(peeked).toContain('attempts: 7');
  expect(await said('dlq:peek', '--service', 'orders')).toContain('No dead letters');
  expect(await said('outbox:stats', '--service', 'expenses')).toMatch(/inbox .*\n1 dead letter;/s);
  await expect.poll(() => budget.deadCopies.seen).toHaveLength(1);
  expect(budget.deadCopies.seen[0]).toMatchObject({
    headers: { 'dlq-reason': 'NoAccountError', 'dlq-attempts': '7', 'dlq-service': 'expenses' },
    payload: { orderId },
  });

  expect((await mutate(budget, 'openAccount(category: "yachts", account: "0690")')).status).toBe(200);
  expect(await said('dlq:replay', '--service', 'expenses', '--since', '15m')).toContain('1 delivery will run again');
  await expect.poll(() => spentOf(budget, 'poison')).toMatchObject({ spentCents: 100, transactions: 1 });
  expect(await said('dlq:peek', '--service', 'expenses')).toContain('No dead letters');

  const outcomes = (): unknown[] =>
    (budget.collector.traces.get(traceId) ?? [])
      .filter(({ name }) => name === 'handle order.placed')
      .toSorted((a, b) => a.startMs - b.startMs)
      .map(({ attributes }) => attributes['holdfast.outcome']);
  await expect.poll(outcomes).toEqual([...Array.from({ length: 6 }, () => 'retry'), 'dead', 'done']);
  const lines = [...budget.output().matchAll(/^expenses +(\{.*message failed.*)$/gm)].map(
    ([, line = '']) => JSON.parse(line) as Record<string, unknown>,
  );
  expect(lines).toHaveLength(7);
  for (const line of lines)
    expect(line).toMatchObject({ sagaId: orderId, traceId, eventId: line['eventId'], idempotencyKey: line['eventId'] });
});

test('the budget services: a consumer that is killed in the middle of its work loses nothing and does nothing twice [S1.5] [S1.6]', async ({
  budget,
}) => {
  const orders = 40;
  const expenses = budget.mongo.collection('expenses');
  const booked = (): Promise<number> => expenses.countDocuments({ budgetId: 'killed' });
  const placing = (async () => {
    for (let n = 0; n < orders; n++) expect((await requestOf(budget, 'REST', 'killed').send()).status).toBe(201);
  })();
  await expect.poll(booked, { interval: 5 }).toBeGreaterThan(2);
  const before = budget.pidOf('expenses');
  process.kill(before, 'SIGKILL');
  const atKill = await booked();
  await placing;
  expect(atKill, 'the kill must meet unfinished work').toBeLessThan(orders);
  await expect.poll(() => spentOf(budget, 'killed')).toMatchObject({ spentCents: 100 * orders, transactions: orders });
  expect(budget.pidOf('expenses')).not.toBe(before);
  for (const [table, id] of [
    ['budget_orders.orders', 'order_id'],
    ['budget_transactions.transaction', 'expense_id'],
  ]) {
    const [row] = await budget.query(
      `select count(*)::int as rows, count(distinct ${id})::int as things from ${table} where budget_id = 'killed'`,
    );
    expect({ table, ...row }).toEqual({ table, rows: orders, things: orders });
  }
  expect(await booked()).toBe(orders);
  expect(await expenses.distinct('orderId', { budgetId: 'killed' })).toHaveLength(orders);
});

test('the budget services: what is missing at the start is named, all of it at once [X.19]', async () => {
  const main = '../budget-services/main.ts';
  const none = {
    DATABASE_URL: '',
    MONGODB_URL: '',
    REDIS_URL: '',
    RABBITMQ_URL: '',
    KAFKA_BROKERS: '',
    BUDGET_SPEED: 'fast',
  };
  const unset = run(main, [], none);
  const nowhere = run(main, [], {
    DATABASE_URL: 'postgres://ada:secret@127.0.0.1:1/x',
    MONGODB_URL: 'mongodb://ada:secret@127.0.0.1:1/x',
    REDIS_URL: 'redis://127.0.0.1:1',
    RABBITMQ_URL: 'amqp://ada:secret@127.0.0.1:1',
    KAFKA_BROKERS: '127.0.0.1:1',
  });
  expect(await unset.ended).toBe(1);
  for (const name of Object.keys(none)) expect(unset.output()).toMatch(new RegExp(`^${name} is `, 'm'));
  expect(await nowhere.ended).toBe(1);
  expect(nowhere.output().trimEnd().split('\n')).toEqual(
    ['PostgreSQL', 'MongoDB', 'Redis', 'RabbitMQ', 'Kafka'].map(
      (name) => expect.stringContaining(`${name} does not answer where`) as string,
    ),
  );
  expect(nowhere.output()).not.toContain('secret');
});
