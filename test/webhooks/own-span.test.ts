import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { expect, onTestFinished, test } from 'vitest';
import { idempotency, memoryIdempotency } from '../../src/idempotency/index.ts';
import { type JobHandler, qstash, type ReceiveRequest, signedJobs } from '../../src/webhooks/index.ts';
import { tracedSpans } from '../support/spans.ts';
import { KEYS, qstashToken } from './sign.ts';

const spans = tracedSpans();
const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const BODY = '{"id":7}';

function receiver(handler: JobHandler<unknown, never>): ReceiveRequest {
  const idem = idempotency({ service: 'jobs', store: memoryIdempotency() });
  return signedJobs({ idempotency: idem, scheme: qstash(KEYS) })({ name: 'send-reminder', retries: 1 }, handler);
}

function request(headers: Readonly<Record<string, string>> = {}): Request {
  const signed = { 'upstash-signature': qstashToken(BODY), 'upstash-message-id': 'm-1', 'upstash-retried': '1' };
  return new Request('http://localhost/jobs', { method: 'POST', headers: { ...signed, ...headers }, body: BODY });
}

test('a job that arrives outside of any span gets one of its own, with what is said of its delivery; the handler runs in it [S3.4]', async () => {
  const post = receiver(() => {
    trace.getTracer('app').startSpan('send mail').end();
  });
  expect((await post(request())).status).toBe(200);
  const [mail, own, ...more] = spans();
  expect(more).toEqual([]);
  expect([own?.name, own?.kind, own?.parentSpanContext]).toEqual([
    'handle send-reminder',
    SpanKind.CONSUMER,
    undefined,
  ]);
  expect(mail?.parentSpanContext?.spanId).toBe(own?.spanContext().spanId);
  expect(own?.attributes).toEqual({
    'qstash.attempt': 2,
    'qstash.max_retries': 1,
    'qstash.final_attempt': true,
    'qstash.dlq': false,
  });
  expect(own?.status).toEqual({ code: SpanStatusCode.UNSET });
});

test('a job that fails ends its span as an error, without a word of what was thrown [S3.4]', async () => {
  const post = receiver(() => {
    throw new Error('card 4242');
  });
  expect((await post(request())).status).toBe(500);
  const [own, ...more] = spans();
  expect([more, own?.status, own?.events]).toEqual([[], { code: SpanStatusCode.ERROR }, []]);
});

test('a span of its own is below that of the sender, where the application reads trace headers [S3.4]', async () => {
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  onTestFinished(() => propagation.disable());
  const post = receiver(() => {});
  await post(request({ traceparent: PARENT }));
  await post(request());
  const [below, alone] = spans();
  expect([below?.spanContext().traceId, below?.parentSpanContext?.spanId]).toEqual(PARENT.split('-').slice(1, 3));
  expect(alone?.parentSpanContext).toBeUndefined();
});

test('a job that arrives inside a span opens none [S3.4]', async () => {
  const post = receiver(() => {});
  await trace.getTracer('app').startActiveSpan('POST /jobs', async (span) => {
    await post(request());
    span.end();
  });
  expect(spans().map(({ name, attributes }) => [name, attributes['qstash.attempt']])).toEqual([['POST /jobs', 2]]);
});

test('without OpenTelemetry a job is done all the same [S3.4]', async () => {
  trace.disable();
  context.disable();
  expect((await receiver(() => {})(request())).status).toBe(200);
  expect(spans()).toEqual([]);
});
