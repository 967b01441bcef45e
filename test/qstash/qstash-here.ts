import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client } from '@upstash/qstash';
import { Pool } from 'pg';
import { afterAll } from 'vitest';
import { checkDestination } from '../../src/delivery/address-guard.ts';
import { startDeliveries } from '../../src/delivery/delivery-server.ts';
import { postgresDelivery, type PostgresDelivery } from '../../src/postgres/delivery/postgres-delivery.ts';
import { migrate, postgres } from '../../src/postgres/index.ts';
import { type QstashApi, qstashApi, type QstashApiOptions } from '../../src/qstash/index.ts';
import type { TestServer } from '../support/needs.ts';
import { Sink } from './sink.ts';

/** A delivery server, a destination, and the vendor's client. */
export interface QstashHere {
  readonly url: string;
  readonly token: string;
  readonly client: Client;
  /** A destination of its own: one that fails is a breaker that opens, for all that goes there. */
  openSink(): Promise<Sink>;
  readonly deliveries: PostgresDelivery;
  readonly schema: string;
  readonly pool: Pool;
  /** Another API over the same store. */
  another(options: Partial<QstashApiOptions>): Promise<string>;
}

const SECRET = 'a secret of thirty-two characters or more';
const ADDRESSES = { loopback: true };

type Closing = (() => unknown)[];

let schemas = 0;

/** One for all tests of a file: made for the first test that asks, ended after the last. */
export function sharedQstash(): (server: TestServer) => Promise<QstashHere> {
  const closing: Closing = [];
  let opened: Promise<QstashHere> | undefined;
  // The last that was opened is closed first.
  afterAll(async () => {
    for (const close of closing.toReversed()) await close();
  });
  return (server) => (opened ??= open(server, closing));
}

async function open({ url: connectionString, namespace }: TestServer, closing: Closing): Promise<QstashHere> {
  const schema = `${namespace}_qstash_${(schemas += 1)}`;
  const pool = new Pool({ connectionString, max: 10 });
  closing.push(() => pool.end());
  const connection = await pool.connect();
  await migrate(connection, { schema }).finally(() => connection.release());
  const refuseUrl = (url: string): string | undefined => {
    const verdict = checkDestination(url, ADDRESSES);
    return verdict.kind === 'refused' ? verdict.why : undefined;
  };
  const deliveries = postgresDelivery({ pool, schema, secret: SECRET, refuseUrl });
  const running = await startDeliveries({
    store: postgres({ pool, schema }),
    sender: deliveries.sender,
    schedules: deliveries.schedules,
    addresses: ADDRESSES,
  });
  closing.push(() => running.stop());
  const openSink = async (): Promise<Sink> => {
    const sink = new Sink();
    closing.push(() => sink.close());
    await sink.listen(await deliveries.signingKeys.get());
    return sink;
  };
  const { token } = await deliveries.tokens.create('tests', ['admin']);
  const url = await listen(qstashApi({ deliveries }), closing);
  const another = (options: Partial<QstashApiOptions>): Promise<string> =>
    listen(qstashApi({ deliveries, ...options }), closing);
  return { url, token, client: clientOf(url, token), openSink, deliveries, schema, pool, another };
}

/** The vendor's client, without retries of its own: what fails should be seen. */
export function clientOf(baseUrl: string, token: string, headers: Record<string, string> = {}): Client {
  return new Client({ baseUrl, token, retry: false, headers });
}

async function listen({ listener }: QstashApi, closing: Closing): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
