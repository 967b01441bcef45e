// node shop-process.ts <options as JSON>
//
// One process of a service with two handlers. As long as the table says so they fail for good; then they write down each run, in the
// commit that completes it.
import { Pool, type PoolClient } from 'pg';
import { event, holdfast, TerminalHandlerError } from '../../src/index.ts';
import { postgres } from '../../src/postgres/index.ts';

/** How such a process is started. */
export interface ShopOptions {
  readonly url: string;
  readonly schema: string;
}

const { url, schema } = JSON.parse(process.argv[2] ?? '') as ShopOptions;
const pool = new Pool({ connectionString: url, max: 10 });
// Connections that are lost while idle are told here.
pool.on('error', () => undefined);
const orderPlaced = event<{ n: number }>('order.placed');
const hf = holdfast({ service: 'shop', store: postgres({ pool, schema }) });

let isBroken = true;

/** Where all of them fail, whatever the message. */
async function charge(n: number): Promise<void> {
  if (isBroken) isBroken = (await pool.query(`select from "${schema}".broken`)).rows.length > 0;
  if (isBroken)
    throw new TerminalHandlerError(`customer ${n} of ${process.pid} has no ${n % 2 === 0 ? 'card' : 'money'}`);
}

for (const name of ['charge', 'receipt']) {
  hf.on(orderPlaced, name, async ({ n }, ctx) => {
    await charge(n);
    const insert = `insert into "${schema}".ran values ($1, $2, $3)`;
    await ctx.commit((tx: PoolClient) => tx.query(insert, [ctx.id, name, process.pid]));
  });
}

await hf.start({ leaseMs: 1_000, pollMs: 50 });
process.send?.('ready');
process.once('disconnect', () => process.exit());
