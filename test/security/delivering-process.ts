import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'pg';
import { startDeliveries } from '../../src/delivery/delivery-server.ts';
import { postgresDelivery } from '../../src/postgres/delivery/postgres-delivery.ts';
import { postgres } from '../../src/postgres/index.ts';
import { qstashApi } from '../../src/qstash/index.ts';

/** A server in a process of its own that takes messages in and delivers them. Tells its port, and how much memory it had at most. */
const [url = '', schema = ''] = process.argv.slice(2);
const pool = new Pool({ connectionString: url, max: 10 });
const deliveries = postgresDelivery({ pool, schema, secret: 'a secret of thirty-two characters or more' });
const { sender, schedules } = deliveries;
await startDeliveries({ store: postgres({ pool, schema }), sender, schedules, addresses: { loopback: true } });
const server = createServer(qstashApi({ deliveries }).listener).listen(0, '127.0.0.1', () => {
  process.send?.({ port: (server.address() as AddressInfo).port });
});
process.on('message', () => process.send?.({ peakBytes: process.resourceUsage().maxRSS * 1_024 }));
process.on('disconnect', () => process.exit());
