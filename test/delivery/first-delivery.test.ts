import { Receiver } from '@upstash/qstash';
import { expect, test } from 'vitest';
import { deliveries, sink } from './kit.ts';

const receiver = new Receiver({ currentSigningKey: 'sig_current', nextSigningKey: 'sig_next' });

test('a message arrives as it was given, signed so that the receiver of QStash takes it [X.8]', async () => {
  const { url, arrived } = await sink();
  const { publish, sender } = await deliveries();
  const address = `${url}/jobs/7?a=1`;
  const headers = { 'Content-Type': ['application/json'], 'X-Mine': ['a', 'b'], Connection: ['x-hop'], 'X-Hop': ['1'] };
  const messageId = await publish({ url: address, headers, body: '{"text":"grüße"}', callerIp: '198.51.100.7' });
  await expect.poll(() => sender.reports.length).toBe(1);
  const [one] = arrived;
  expect(one).toMatchObject({ method: 'POST', path: '/jobs/7?a=1' });
  expect(one?.headers).toMatchObject({
    'content-type': 'application/json',
    'x-mine': 'a, b',
    'user-agent': 'Upstash-QStash',
    'upstash-message-id': messageId,
    'upstash-retried': '0',
    'upstash-caller-ip': '198.51.100.7',
  });
  expect(one?.headers).not.toHaveProperty('x-hop');
  const body = String(one?.body);
  const signature = String(one?.headers['upstash-signature']);
  expect(await receiver.verify({ signature, body, url: address })).toBe(true);
  expect(sender.reports[0]).toMatchObject({ messageId, attempt: 1, cycle: 0, state: 'DELIVERED', responseStatus: 200 });
});
