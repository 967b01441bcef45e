import {
  context,
  propagation,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  ParentBasedSampler,
  type ReadableSpan,
  AlwaysOnSampler,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { event, holdfast, type NewMessage, outgoing } from '../../src/index.ts';
import { type CarriedTrace, runWrapped, type RunAbout } from '../../src/relay/run-wrapper.ts';
import { traceRelay, type TraceRelayOptions, traceSends } from '../../src/telemetry/index.ts';
import { delivery, dead, done, failed, SPAN_ID, TRACE_ID } from './made-events.ts';

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({
  sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
  spanProcessors: [new SimpleSpanProcessor(exporter)],
});
beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(provider);
});
beforeEach(() => exporter.reset());
afterAll(async () => {
  trace.disable();
  context.disable();
  propagation.disable();
  await provider.shutdown();
});

const about = (own: Partial<RunAbout> = {}): RunAbout => ({
  handler: 'charge',
  delivery: delivery(),
  attempt: 1,
  ...own,
});
const traces = (options?: TraceRelayOptions): ReturnType<typeof traceRelay> =>
  traceRelay(trace.getTracer('holdfast'), options);
const spanNamed = (name: string): ReadableSpan => {
  const span = exporter.getFinishedSpans().find((one) => one.name === name);
  if (!span) throw new Error(`no span ${name} was exported`);
  return span;
};

test('a run is a span below the one in which its message was sent, whatever is active around it [S1.10]', async () => {
  const { observe, wrapRun } = traces();
  await trace.getTracer('test').startActiveSpan('the relay was started here', async (around) => {
    await runWrapped(wrapRun, about(), async () => undefined);
    around.end();
  });
  expect(exporter.getFinishedSpans().map((span) => span.name)).toEqual(['the relay was started here']);
  observe(done());
  const span = spanNamed('handle order.placed');
  expect(span.kind).toBe(SpanKind.CONSUMER);
  expect(span.spanContext().traceId).toBe(TRACE_ID);
  expect(span.parentSpanContext).toMatchObject({ traceId: TRACE_ID, spanId: SPAN_ID, isRemote: true });
  expect(span.attributes).toEqual({
    'messaging.system': 'holdfast',
    'messaging.operation.type': 'process',
    'messaging.operation.name': 'handle',
    'messaging.destination.name': 'order.placed',
    'messaging.message.id': delivery().id,
    'messaging.message.conversation_id': 'corr-1',
    'messaging.consumer.group.name': 'charge',
    'holdfast.handler': 'charge',
    'holdfast.attempt': 1,
    'holdfast.source': 'orders',
    'holdfast.outcome': 'done',
  });
  expect(span.status.code).toBe(SpanStatusCode.UNSET);
});

test('spans of the handler are its children, and what the handler sends carries the trace on [S1.10]', async () => {
  const { observe, wrapRun } = traces();
  const sent: NewMessage[] = [];
  const append = async (
    _: unknown,
    messages: readonly NewMessage[],
  ): Promise<readonly { kind: 'stored'; id: string }[]> => {
    sent.push(...messages);
    return messages.map(({ id }) => ({ kind: 'stored' as const, id }));
  };
  const hf = holdfast({ service: 'billing', store: { append } });
  await runWrapped(wrapRun, about(), async () => {
    await new Promise((wake) => setImmediate(wake));
    await hf.send({}, event('order.charged'), { ok: true });
    trace.getTracer('app').startSpan('call the bank').end();
  });
  observe(done());
  const { traceId, spanId } = spanNamed('handle order.placed').spanContext();
  expect(spanNamed('call the bank').parentSpanContext).toMatchObject({ traceId: TRACE_ID, spanId });
  expect(sent[0]?.traceparent).toBe(`00-${traceId}-${spanId}-01`);
});

test('a message on its way to a broker is a span of a producer, and goes on with that span [S1.10]', async () => {
  const { observe, wrapRun } = traces();
  let carried: CarriedTrace | undefined;
  const published = delivery({ tracestate: 'a=1' });
  await runWrapped(wrapRun, about({ handler: 'to-kafka', delivery: published, isPublish: true }), async (given) => {
    carried = given;
  });
  observe(done({}, 'to-kafka'));
  const span = spanNamed('publish order.placed');
  expect(span.kind).toBe(SpanKind.PRODUCER);
  expect(span.parentSpanContext).toMatchObject({ traceId: TRACE_ID, spanId: SPAN_ID });
  expect(span.attributes).toMatchObject({
    'messaging.operation.type': 'send',
    'messaging.operation.name': 'publish',
    'holdfast.handler': 'to-kafka',
    'holdfast.outcome': 'done',
  });
  expect(span.attributes).not.toHaveProperty('messaging.consumer.group.name');
  expect(carried).toEqual({ traceparent: `00-${TRACE_ID}-${span.spanContext().spanId}-01`, tracestate: 'a=1' });
});

test('a link, or a tracer that makes no spans, leaves a published message the trace it was sent with [S1.10]', async () => {
  const untraced = delivery({ traceparent: undefined });
  for (const [{ wrapRun }, of] of [
    [traces({ join: 'link' }), delivery()],
    [traceRelay(new ProxyTracerProvider().getTracer('none')), untraced],
  ] as const) {
    let carried: CarriedTrace | undefined = { traceparent: 'not called' };
    await runWrapped(wrapRun, about({ delivery: of, isPublish: true }), async (given) => void (carried = given));
    expect(carried).toBeUndefined();
  }
});

test('a send is a span below the one that is active, and what is sent belongs to it [S1.10]', async () => {
  const sent: NewMessage[] = [];
  const hf = holdfast({
    service: 'billing',
    store: {
      append: async (_: unknown, messages) => {
        sent.push(...messages);
        return messages.map(({ id }, place) => ({ kind: place === 0 ? 'stored' : 'duplicate', id }) as const);
      },
    },
    wrapSend: traceSends(trace.getTracer('holdfast')),
  });
  const placed = event<{ n: number }>('order.placed', { key: ({ n }) => String(n) });
  const request = await trace.getTracer('app').startActiveSpan('POST /orders', async (span) => {
    await hf.send({}, placed, { n: 1 });
    await hf.sendAll({}, [outgoing(placed, { n: 2 }), outgoing(event<object>('order.paid'), {})]);
    await hf.sendAll({}, []);
    span.end();
    return span.spanContext();
  });
  const [one, many, ...more] = exporter.getFinishedSpans();
  expect(more.map(({ name }) => name)).toEqual(['POST /orders']);
  expect(one).toMatchObject({ name: 'send order.placed', kind: SpanKind.PRODUCER, parentSpanContext: request });
  expect(one?.attributes).toEqual({
    'messaging.system': 'holdfast',
    'messaging.operation.type': 'create',
    'messaging.operation.name': 'send',
    'messaging.destination.name': 'order.placed',
    'messaging.message.id': sent[0]?.id,
    'holdfast.source': 'billing',
  });
  expect(many).toMatchObject({
    name: 'send',
    attributes: { 'messaging.batch.message_count': 2, 'holdfast.duplicates': 1 },
  });
  const spanIds = [one, many, many].map((span) => span?.spanContext().spanId ?? '');
  expect(sent.map(({ traceparent }) => traceparent)).toEqual(spanIds.map((id) => `00-${request.traceId}-${id}-01`));
});

test('a send that is refused fails its span without a word of what it said, and throws as it did [S1.10]', async () => {
  const refusal = Object.assign(new Error('password=hunter2'), { code: '23505' });
  const store = { append: () => Promise.reject(refusal) };
  const hf = holdfast({ service: 'billing', store, wrapSend: traceSends(trace.getTracer('holdfast')) });
  await expect(hf.send({}, event('order.charged'), { ok: true })).rejects.toBe(refusal);
  await expect(hf.send({}, 'order.charged' as never, {})).rejects.toThrow('event');
  const [span, unnamed] = exporter.getFinishedSpans();
  expect(span).toMatchObject({ status: { code: SpanStatusCode.ERROR }, attributes: { 'error.type': '23505' } });
  expect(JSON.stringify([span?.attributes, span?.events, span?.status])).not.toContain('hunter2');
  expect(unnamed).toMatchObject({ name: 'send unknown', status: { code: SpanStatusCode.ERROR } });
});

test('a failed attempt is an error with the kept error, and says what follows [S1.10]', async () => {
  const { observe, wrapRun } = traces();
  for (const told of [failed({ delivery: delivery({ attempts: 1 }) }), dead()]) {
    exporter.reset();
    const boom = runWrapped(wrapRun, about({ delivery: told.delivery }), () =>
      Promise.reject(new Error('password=hunter2')),
    );
    await expect(boom).rejects.toThrow('hunter2');
    observe(told);
    const span = spanNamed('handle order.placed');
    expect(span.status).toEqual({ code: SpanStatusCode.ERROR, message: 'Error: read ECONNRESET' });
    expect(span.attributes).toMatchObject({ 'holdfast.outcome': told.next.kind, 'error.type': 'ECONNRESET' });
    expect(span.events.map((one) => [one.name, one.attributes])).toEqual([
      ['exception', { 'exception.type': 'Error', 'exception.message': 'read ECONNRESET' }],
    ]);
    expect(JSON.stringify([span.attributes, span.events, span.status])).not.toContain('hunter2');
  }
});

test('a refused result is no error, and says why', async () => {
  const { observe, wrapRun } = traces();
  await runWrapped(wrapRun, about(), async () => undefined);
  observe({ kind: 'run-refused', handler: 'charge', delivery: delivery(), reason: 'lease-lost' });
  const span = spanNamed('handle order.placed');
  expect(span.status.code).toBe(SpanStatusCode.UNSET);
  expect(span.attributes).toMatchObject({ 'holdfast.outcome': 'refused', 'holdfast.refused_reason': 'lease-lost' });
});

test('as a link, a run is a trace of its own', async () => {
  const { observe, wrapRun } = traces({ join: 'link' });
  await runWrapped(wrapRun, about(), async () => undefined);
  observe(done());
  const span = spanNamed('handle order.placed');
  expect(span.parentSpanContext).toBeUndefined();
  expect(span.spanContext().traceId).not.toBe(TRACE_ID);
  expect(span.links.map((link) => link.context.spanId)).toEqual([SPAN_ID]);
});

test('a trace that was not sampled stays so, and vendor state travels on', async () => {
  const { observe, wrapRun } = traces();
  await runWrapped(
    wrapRun,
    about({ delivery: delivery({ traceparent: `00-${TRACE_ID}-${SPAN_ID}-00` }) }),
    async () => undefined,
  );
  observe(done());
  expect(exporter.getFinishedSpans()).toEqual([]);
  await runWrapped(wrapRun, about({ delivery: delivery({ tracestate: 'a=1, b=2=3,broken' }) }), async () => {
    expect(trace.getActiveSpan()?.spanContext().traceState?.set('c', '4').unset('a').serialize()).toBe('c=4,b=2=3');
  });
  observe(done());
  expect(spanNamed('handle order.placed').spanContext().traceState?.get('b')).toBe('2=3');
});

test('a message that was sent without a span, or with one that is none, begins a new trace', async () => {
  const { observe, wrapRun } = traces();
  for (const traceparent of [undefined, 'nonsense']) {
    exporter.reset();
    await trace.getTracer('test').startActiveSpan('the relay was started here', async () => {
      await runWrapped(wrapRun, about({ delivery: delivery({ traceparent }) }), async () => undefined);
    });
    observe(done());
    expect(spanNamed('handle order.placed').parentSpanContext).toBeUndefined();
  }
});

test('every span ends: of a run that was broken off when it runs again, of all when the relay stops', async () => {
  const { observe, wrapRun } = traces();
  await runWrapped(wrapRun, about(), async () => undefined);
  await runWrapped(wrapRun, about(), async () => undefined);
  expect(spanNamed('handle order.placed').attributes['holdfast.outcome']).toBe('unknown');
  observe(done());
  await runWrapped(wrapRun, about({ handler: 'mail' }), async () => undefined);
  observe({ kind: 'stopped' });
  expect(exporter.getFinishedSpans().map((span) => span.attributes['holdfast.outcome'])).toEqual([
    'unknown',
    'done',
    'unknown',
  ]);
  expect(context.active()).toBe(ROOT_CONTEXT);
});

test('options of traceRelay that cannot work are refused', () => {
  expect(() => traceRelay(provider as never, { join: 'child' } as never)).toThrow(/tracer is.*join is "child"/);
  expect(() => traceSends(provider as never)).toThrow(/tracer is/);
  const wrapSend = trace.getTracer('holdfast') as never;
  expect(() => holdfast({ service: 'x', store: { append: async () => [] }, wrapSend })).toThrow(/wrapSend is/);
});
