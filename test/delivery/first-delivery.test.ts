import { Receiver } from '@upstash/qstash';
import { Pool } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { startDeliveries } from '../../src/delivery/index.ts';
import { postgresDelivery } from '../../src/postgres/delivery/postgres-delivery.ts';
import { postgres } from '../../src/postgres/index.ts';
import { freshSchema } from '../support/fresh-schema.ts';
import { needs } from '../support/needs.ts';
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

needs('postgres')(
  'what is published to a database arrives, and its log and its engine agree [X.8]',
  async ({ postgres: server }) => {
    const { url, arrived } = await sink();
    const schema = await freshSchema(server);
    const pool = new Pool({ connectionString: server.url, max: 10 });
    const store = postgresDelivery({ pool, schema, secret: 'a secret of more than 32 characters' });
    const running = await startDeliveries({
      store: postgres({ pool, schema }),
      sender: store.sender,
      addresses: { loopback: true },
      leaseMs: 2_000,
    });
    onTestFinished(async () => {
      await running.stop();
      await pool.end();
    });
    const to = { kind: 'url', url: `${url}/jobs` } as const;
    const delivery = { method: 'POST', headers: {}, retries: 3, body: 'one' } as const;
    const [outcome] = await store.publishing.publish([{ to, delivery }]);
    await expect.poll(() => arrived.map(({ body }) => String(body))).toEqual(['one']);
    expect(outcome).toMatchObject({ messages: [{ messageId: arrived[0]?.headers['upstash-message-id'] }] });
    await running.whenIdle();
    const { rows } = await pool.query(`select status, attempt from "${schema}".http_event where attempt > 0`);
    expect(rows).toEqual([{ status: 200, attempt: 1 }]);
  },
);
