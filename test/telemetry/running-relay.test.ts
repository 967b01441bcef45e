import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { afterAll, beforeAll, expect } from 'vitest';
import { constant, event, policy } from '../../src/index.ts';
import { type Alert, alertOnDead, logRelay, relayMetrics, traceRelay } from '../../src/telemetry/index.ts';
import { keptLog } from '../http/kept-log.ts';
import { testService } from '../relay/service.ts';
import { needs } from '../support/needs.ts';

const test = needs('postgres');
const placed = event<{ n: number }>('order.placed', { key: ({ n }) => String(n) });
const charged = event<{ n: number }>('order.charged');
const quick = policy({ maxAttempts: 3, schedule: constant(1) });

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(provider);
});
afterAll(async () => {
  trace.disable();
  context.disable();
  await provider.shutdown();
});

test('one action is one trace, from the request over a handler and what it sends to the last handler [S1.10]', async ({
  postgres,
}) => {
  const { hf, inTransaction, start } = await testService(postgres);
  hf.on(placed, 'charge', async ({ n }, ctx) => {
    trace.getTracer('app').startSpan('call the bank').end();
    await ctx.commit((tx) => hf.send(tx, charged, { n }));
  });
  hf.project(charged, 'book', () => undefined);
  const { observe, wrapRun } = traceRelay(trace.getTracer('holdfast'));
  await trace.getTracer('app').startActiveSpan('start the service', async (span) => {
    await start({ observers: [observe], wrapRun });
    span.end();
  });
  await trace.getTracer('app').startActiveSpan('POST /orders', async (span) => {
    await inTransaction((tx) => hf.send(tx, placed, { n: 1 }));
    span.end();
  });
  await expect.poll(() => exporter.getFinishedSpans().map(({ name }) => name)).toContain('handle order.charged');
  const spans = new Map(exporter.getFinishedSpans().map((span) => [span.name, span]));
  const parentOf = (name: string): string | undefined => {
    const parent = spans.get(name)?.parentSpanContext?.spanId;
    return [...spans.values()].find((span) => span.spanContext().spanId === parent)?.name;
  };
  expect(parentOf('handle order.placed')).toBe('POST /orders');
  expect(parentOf('call the bank')).toBe('handle order.placed');
  expect(parentOf('handle order.charged')).toBe('handle order.placed');
  expect(spans.get('handle order.charged')?.attributes).toMatchObject({
    'holdfast.handler': 'book',
    'holdfast.outcome': 'done',
  });
});

test('poison is retried, counted, logged and told of, without the secret in its error [S4.8] [S1.10] [S0.12]', async ({
  postgres,
}) => {
  const { hf, inTransaction, start, column } = await testService(postgres);
  hf.on(
    placed,
    'charge',
    ({ n }) => {
      if (n === 2)
        throw Object.assign(new Error('POST https://bank.example/pay?token=hunter2 answered 503'), { status: 503 });
    },
    { policy: quick, maxOutageMs: 0 },
  );
  const metrics = relayMetrics();
  const alerts: Alert[] = [];
  const { logger, lines } = keptLog();
  const running = await start({
    observers: [metrics.observe, logRelay(logger), alertOnDead({ sink: (alert) => alerts.push(alert) })],
  });
  const [, poison] = await inTransaction(async (tx) => [
    await hf.send(tx, placed, { n: 1 }),
    await hf.send(tx, placed, { n: 2 }),
  ]);
  await expect.poll(() => alerts).toHaveLength(1);
  expect(alerts[0]).toMatchObject({
    kind: 'dead',
    eventId: poison?.id,
    type: 'order.placed',
    source: 'orders',
    handler: 'charge',
    attempts: 3,
    error: { message: 'POST https://bank.example/pay?[hidden] answered 503', kind: 'overload' },
  });
  expect(await column(`select error ->> 'message' from $.delivery`)).toEqual([
    'POST https://bank.example/pay?[hidden] answered 503',
  ]);
  const about = 'handler="charge",type="order.placed"';
  const shown = metrics.text().split('\n');
  expect(shown).toContain(`dlq_messages_total{${about}} 1`);
  expect(shown).toContain(`consumer_processed_total{${about},outcome="retry"} 2`);
  expect(shown).toContain(`consumer_processed_total{${about},outcome="done"} 1`);
  const ofPoison = lines.filter(({ fields }) => fields.eventId === poison?.id);
  expect(ofPoison.map(({ level, fields }) => [level, fields.attempt, fields.httpStatus])).toEqual([
    ['warn', 1, 503],
    ['warn', 2, 503],
    ['error', 3, 503],
  ]);
  await expect.poll(() => metrics.text()).toMatch(/^outbox_pending \d+$/m);
  await running.stop();
  expect(metrics.text()).not.toMatch(/^outbox_pending \d+$/m);
});
