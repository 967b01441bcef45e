// node server-process.ts <database url> <token>
//
// The operator's API over a socket, in a process of its own. Tells its parent its port.
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { postgresOperator } from 'holdfast/postgres';
import { boundedServer, operatorServer } from 'holdfast/server';
import { poolOn } from '../engine/bench-database.ts';

const [, , url = '', token = ''] = process.argv;
const server = operatorServer({
  operator: postgresOperator({ pool: poolOn(url, 10) }),
  tokens: [{ token, role: 'admin', actor: 'bench' }],
  writesPerMinute: 1_000_000,
});
const http = boundedServer<Server>(server.listener, { stallMs: 5_000 });
http.listen(0, '127.0.0.1', () => process.send?.((http.address() as AddressInfo).port));
process.once('disconnect', () => process.exit());
