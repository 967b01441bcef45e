import { expect, test } from 'vitest';
import type { DeliveryRequest } from './delivery-request.ts';
import { outgoingHeaders } from './outgoing-headers.ts';

const FACTS = { messageId: 'm1', attempt: 3, bodyLength: 5, signature: { 'Upstash-Signature': 'signed' } };

function request(change: Partial<DeliveryRequest> = {}): DeliveryRequest {
  return { url: 'https://a.example/', method: 'POST', retries: 3, headers: {}, signedBy: 'server', ...change };
}

test('a message cannot set what belongs to the connection, to the server or to the signature [X.8]', () => {
  const headers = {
    Host: ['internal'],
    'Content-Length': ['0'],
    'Transfer-Encoding': ['chunked'],
    Connection: ['keep-alive, X-Hop'],
    'X-Hop': ['1'],
    'Proxy-Authorization': ['secret'],
    TE: ['trailers'],
    Upgrade: ['websocket'],
    Expect: ['100-continue'],
    'upstash-signature': ['forged'],
    'Upstash-Message-Id': ['forged'],
    'USER-AGENT': ['forged'],
    'X-Mine': ['1', '2'],
    Authorization: ['Bearer theirs'],
  };
  expect(outgoingHeaders(request({ headers }), FACTS)).toEqual({
    'X-Mine': ['1', '2'],
    Authorization: ['Bearer theirs'],
    'User-Agent': 'Upstash-QStash',
    'Upstash-Message-Id': 'm1',
    'Upstash-Retried': '2',
    'Upstash-Signature': 'signed',
    'Content-Length': '5',
  });
});

test('a delivery says where it comes from: schedule, group and caller [X.8]', () => {
  const sent = outgoingHeaders(request({ scheduleId: 's1', group: 'all', callerIp: '198.51.100.7' }), FACTS);
  expect(sent).toMatchObject({
    'Upstash-Schedule-Id': 's1',
    'Upstash-Topic-Name': 'all',
    'Upstash-Caller-Ip': '198.51.100.7',
  });
});

test('a delivery to a registered endpoint has the headers of Standard Webhooks and none of QStash [X.8]', () => {
  const facts = { ...FACTS, bodyLength: 0, signature: { 'webhook-id': 'm1' } };
  expect(outgoingHeaders(request({ signedBy: 'endpoint' }), facts)).toEqual({
    'User-Agent': 'Holdfast',
    'webhook-id': 'm1',
    'Content-Length': '0',
  });
  expect(outgoingHeaders(request({ method: 'GET' }), { ...FACTS, bodyLength: 0 })).not.toHaveProperty('Content-Length');
});
