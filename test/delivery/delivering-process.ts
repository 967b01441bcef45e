// node delivering-process.ts <options as JSON>
//
// A delivery server without its API: it delivers what others publish, until it is killed.
import { startDeliveries } from 'holdfast/delivery';
import { postgres, postgresDelivery } from 'holdfast/postgres';
import { Pool } from 'pg';

/** How one is started. */
export interface DeliveringOptions {
  readonly url: string;
  readonly schema: string;
  readonly secret: string;
  readonly leaseMs: number;
}

const { url, schema, secret, leaseMs } = JSON.parse(process.argv[2] ?? '') as DeliveringOptions;
const pool = new Pool({ connectionString: url, max: 8 });
const { sender } = postgresDelivery({ pool, schema, secret });
await startDeliveries({
  store: postgres({ pool, schema }),
  sender,
  addresses: { loopback: true },
  leaseMs,
  pollMs: 50,
});
process.stdout.write('ready\n');
