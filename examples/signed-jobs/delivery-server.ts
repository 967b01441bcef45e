import type { Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { checkDestination, startDeliveries } from 'holdfast/delivery';
import { postgres, postgresDelivery, type PostgresDelivery } from 'holdfast/postgres';
import { qstashApi } from 'holdfast/qstash';
import { boundedServer } from 'holdfast/server';
import type { Pool } from 'pg';

/** A delivery server of our own. */
export interface DeliveryServer {
  /** For `QSTASH_URL`. */
  readonly url: string;
  /** For `QSTASH_TOKEN`. */
  readonly token: string;
  readonly deliveries: PostgresDelivery;
  close(): Promise<void>;
}

// The routes are on this machine; elsewhere public addresses alone are called.
const ADDRESSES = { loopback: true };

/** What `holdfast serve --deliver` does, in this process: takes in messages as QStash does, and delivers them signed. */
export async function startDeliveryServer(pool: Pool, secret: string): Promise<DeliveryServer> {
  const deliveries = postgresDelivery({
    pool,
    secret,
    refuseUrl: (url) => {
      const verdict = checkDestination(url, ADDRESSES);
      return verdict.kind === 'refused' ? verdict.why : undefined;
    },
  });
  const { sender, schedules } = deliveries;
  const running = await startDeliveries({ store: postgres({ pool }), sender, schedules, addresses: ADDRESSES });
  const server = boundedServer<Server>(qstashApi({ deliveries }).listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { token } = await deliveries.tokens.create('signed-jobs', ['publish']);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token,
    deliveries,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await running.stop();
    },
  };
}
