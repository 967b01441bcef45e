// node holdfast-process.ts <database url> <secret> <concurrency>
//
// Our side, as `holdfast serve --deliver` has it: the QStash API and the deliveries in one process. Tells its port once it delivers.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startDeliveries } from 'holdfast/delivery';
import { postgres, postgresDelivery } from 'holdfast/postgres';
import { qstashApi } from 'holdfast/qstash';
import { poolOn } from '../engine/bench-database.ts';

const [, , url = '', secret = '', concurrency = ''] = process.argv;
const pool = poolOn(url, 20);
const deliveries = postgresDelivery({ pool, secret });
const { listener } = qstashApi({ deliveries });
const server = createServer(listener);
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
await startDeliveries({
  store: postgres({ pool }),
  sender: deliveries.sender,
  addresses: { loopback: true },
  concurrency: Number(concurrency),
});

process.on('disconnect', () => process.exit());
process.on('message', () => process.send?.(process.cpuUsage()));
process.send?.((server.address() as AddressInfo).port);
