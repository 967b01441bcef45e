import { describe, expect, test } from 'vitest';

import { endpointProblem } from './check-endpoint.ts';
import { isEventType, patternsOf } from './event-types.ts';
import { newWebhookSecret, webhookSecretBytes } from './webhook-secret.ts';

describe('what an endpoint may be', () => {
  test.for([
    [{ url: 'hooks' }, 'not absolute'],
    [{ url: 'ftp://a.example/' }, 'another scheme'],
    [{ url: 'https://a:b@a.example/' }, 'send a header instead'],
    [{ url: 'https://a.example/#x' }, 'leave it out'],
    [{ eventTypes: ['order.'] }, 'write order.paid'],
    [{ eventTypes: ['*.paid'] }, 'write order.paid'],
    [{ headers: { 'a b': 'c' } }, 'no name of a header'],
    [{ headers: { Host: 'c' } }, 'written by the server'],
    [{ headers: { 'Webhook-Signature': 'v1,x' } }, 'written by the server'],
    [{ headers: { a: 'b\r\nc: d' } }, 'on one line'],
    [{ retrySeconds: [86_401] }, 'seconds from 0'],
    [{ retrySeconds: [-1] }, 'seconds from 0'],
    [{ timeoutMs: 0 }, 'timeoutMs is not within'],
    [{ ratePerSecond: 1.5 }, 'ratePerSecond is not within'],
    [{ secret: 'whsec_c2hvcnQ=' }, 'leave it out for a new one'],
    [{ description: 'x'.repeat(3_000) }, 'shorten it'],
  ] as const)('The endpoint %j is refused, and the next step is told [X.8]', ([change, part]) => {
    expect(endpointProblem({ url: 'https://a.example/', ...change })).toContain(part);
  });

  test('An endpoint with everything that may be given is taken [X.8]', () => {
    const all = {
      url: 'https://a.example/hooks?tenant=1',
      eventTypes: ['order.*', '*', 'invoice.paid'],
      headers: { 'x-tenant': '7' },
      retrySeconds: [0, 0.5, 86_400],
      timeoutMs: 15_000,
      ratePerSecond: 10,
      secret: newWebhookSecret(),
    };
    expect(endpointProblem(all)).toBeUndefined();
  });

  test('A type of events is meant by itself, by each pattern above it, and by everything [X.8]', () => {
    expect(patternsOf('order.paid.eu')).toEqual(['order.paid.eu', 'order.*', 'order.paid.*', '*']);
    expect(patternsOf('order')).toEqual(['order', '*']);
    expect([isEventType('order.paid'), isEventType('order..paid'), isEventType('')]).toEqual([true, false, false]);
  });

  test('A secret is whsec_ and 24 to 64 bytes in base64 [X.8]', () => {
    const secretOf = (bytes: number): string => `whsec_${Buffer.alloc(bytes, 7).toString('base64')}`;
    expect([23, 24, 64, 65].map((bytes) => webhookSecretBytes(secretOf(bytes))?.length)).toEqual([
      undefined,
      24,
      64,
      undefined,
    ]);
    expect(webhookSecretBytes(Buffer.alloc(32).toString('base64'))).toBeUndefined();
  });
});
