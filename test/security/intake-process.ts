import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'pg';
import { postgresDelivery } from '../../src/postgres/delivery/postgres-delivery.ts';
import { qstashApi } from '../../src/qstash/index.ts';

/** A server in a process of its own that takes messages in and delivers none. Tells its port, and how much memory it had at most. */
const [url = '', schema = ''] = process.argv.slice(2);
const pool = new Pool({ connectionString: url, max: 4 });
const deliveries = postgresDelivery({ pool, schema, secret: 'a secret of thirty-two characters or more' });
const server = createServer(qstashApi({ deliveries }).listener).listen(0, '127.0.0.1', () => {
  process.send?.({ port: (server.address() as AddressInfo).port });
});
process.on('message', () => process.send?.({ peakBytes: process.resourceUsage().maxRSS * 1_024 }));
process.on('disconnect', () => process.exit());
