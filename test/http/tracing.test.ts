import { SpanStatusCode } from '@opentelemetry/api';
import { expect, test } from 'vitest';
import { serviceClient } from '../../src/http/index.ts';
import { realTracing } from '../support/spans.ts';
import { fastWaits } from './fast-waits.ts';
import { keptLog } from './kept-log.ts';
import { sendJson, startService } from './local-service.ts';

const spanOf = realTracing();

test('requests are decisions plus one, carry one key and count as resends 1, 2, 3; the span of a late success is no error [F.25] [S0.5]', async () => {
  await using service = await startService((_, response, i) => sendJson(response, i < 3 ? 503 : 200, {}));
  const { options, waits } = fastWaits();
  const { logger, lines } = keptLog();
  const client = serviceClient({ baseUrl: service.url, policy: { maxAttempts: 5 }, logger, ...options });

  const span = await spanOf(() =>
    client.request({ operation: 'pay', path: '/pay', json: {}, idempotencyKey: 'order:1:pay' }),
  );

  expect(service.seen).toHaveLength(waits.length + 1);
  expect(waits).toHaveLength(3);
  expect(new Set(service.seen.map((one) => one.headers['idempotency-key']))).toEqual(new Set(['order:1:pay']));

  expect(span.status).toEqual({ code: SpanStatusCode.UNSET });
  const sent = span.events.filter((event) => event.name === 'http.request').map((event) => event.attributes);
  const { hostname, port } = new URL(service.url);
  const common = { 'http.request.method': 'POST', 'server.address': hostname, 'server.port': Number(port) };
  expect(sent).toEqual([
    { ...common, 'http.response.status_code': 503, 'error.type': '503' },
    { ...common, 'http.response.status_code': 503, 'error.type': '503', 'http.request.resend_count': 1 },
    { ...common, 'http.response.status_code': 503, 'error.type': '503', 'http.request.resend_count': 2 },
    { ...common, 'http.response.status_code': 200, 'http.request.resend_count': 3 },
  ]);
  const ends = lines.filter((line) => line.message.startsWith('attempt '));
  expect(ends.map((line) => line.fields['resendCount'])).toEqual([undefined, 1, 2, 3]);
});
