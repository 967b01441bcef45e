import { Pool } from 'pg';
import { Webhook } from 'standardwebhooks';
import { expect, onTestFinished } from 'vitest';

import { startDeliveries } from '../../src/delivery/index.ts';
import { postgres, postgresDelivery } from '../../src/postgres/index.ts';
import { sink } from '../delivery/kit.ts';
import { SECRET } from '../delivery-store/delivery-database.ts';
import { freshSchema } from '../support/fresh-schema.ts';
import { needs } from '../support/needs.ts';

const BY = { actor: 'ada' };

needs('postgres')(
  'Events reach an endpoint signed by all its secrets; a message follows the endpoint to where it is now, and 410 disables it until somebody enables it [X.8]',
  async ({ postgres: server }) => {
    let status = 500;
    const old = await sink((response) => response.writeHead(status).end());
    const { url, arrived } = await sink((response) => response.writeHead(status === 410 ? 410 : 204).end());
    const schema = await freshSchema(server);
    const pool = new Pool({ connectionString: server.url, max: 10 });
    const deliveries = postgresDelivery({ pool, schema, secret: SECRET });
    const running = await startDeliveries({
      store: postgres({ pool, schema }),
      sender: deliveries.sender,
      addresses: { loopback: true },
      leaseMs: 2_000,
      pollMs: 20,
    });
    onTestFinished(async () => {
      await running.stop();
      await pool.end();
    });
    const { endpoints } = deliveries;
    const made = await endpoints.create(
      { url: `${old.url}/in`, retrySeconds: [1, 1, 1, 1, 1], headers: { 'x-tenant': '7' } },
      BY,
    );
    if (made.kind !== 'done') throw new Error(made.kind);
    const { id } = made.endpoint;
    await endpoints.rotateSecret(id, BY);
    const { messageIds } = await endpoints.send({ type: 'order.paid', data: { id: 7 } });
    await expect.poll(() => old.arrived.length).toBeGreaterThan(0);
    expect(await endpoints.get(id)).toMatchObject({ state: 'enabled' });
    await endpoints.update(id, { url: `${url}/in` }, BY);
    await expect.poll(() => arrived.length).toBe(1);
    const [one] = arrived;
    expect(one?.headers).toMatchObject({
      'webhook-id': messageIds[0],
      'x-tenant': '7',
      'content-type': 'application/json',
    });
    const secrets = (await endpoints.secrets(id)) ?? [];
    expect(secrets).toHaveLength(2);
    for (const secret of secrets) {
      const verified = new Webhook(secret).verify(String(one?.body), one?.headers as Record<string, string>);
      expect(verified).toMatchObject({ type: 'order.paid', data: { id: 7 } });
    }
    // It says that it is gone: the message is dead, and nothing more is sent until it is enabled.
    status = 410;
    await endpoints.send({ type: 'order.paid', data: { id: 8 } });
    await expect.poll(async () => (await endpoints.get(id))?.disabledBecause).toBe('gone');
    await expect.poll(async () => (await deliveries.dead.list({}, { limit: 5 })).items.length).toBe(1);
    expect(await endpoints.recover(id, new Date(0), BY)).toBe(1);
    const seen = arrived.length;
    status = 200;
    await running.whenIdle();
    expect(arrived).toHaveLength(seen);
    await endpoints.enable(id, BY);
    await expect
      .poll(() => arrived.slice(seen).map(({ body }) => String(body)))
      .toEqual([expect.stringContaining('"id":8')]);
  },
);
