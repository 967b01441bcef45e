// node --expose-gc outage-process.ts <options as JSON>
//
// One process of a service: publishes, receives and handles. Says what failed at the broker, and how much memory it has when it is asked.
import { createInterface } from 'node:readline';
import { event, holdfast, type RelayEvent } from 'holdfast';
import { postgres } from 'holdfast/postgres';
import { Pool, type PoolClient } from 'pg';
import { openTransport, type StormBroker } from './storm-transport.ts';

/** How it is started. */
export interface OutageProcessOptions {
  readonly url: string;
  readonly schema: string;
  readonly broker: StormBroker;
}

/** One step of a key, by its number in it, with something to carry. */
export interface OutageStep {
  readonly key: string;
  readonly n: number;
  readonly filling: string;
}

export const OUTAGE_SERVICE = 'outage';
export const outageStep = event<OutageStep, OutageStep>('outage.step', { key: ({ key }) => key });

function say(what: string): void {
  process.stdout.write(`${what}\n`);
}

async function run({ url, schema, broker }: OutageProcessOptions): Promise<void> {
  const pool = new Pool({ connectionString: url, max: 8 });
  pool.on('error', () => undefined);
  const hf = holdfast({
    service: OUTAGE_SERVICE,
    store: postgres({ pool, schema }),
    transport: await openTransport(broker),
  });
  hf.projectAll(outageStep, 'book', async (batch, tx: PoolClient) => {
    const rows = batch.map(({ payload: { key, n } }) => ({ id: key, n }));
    // In their order: the number of a row tells when it was made.
    const found = `rows from (json_to_recordset($1::json) as (id text, n int)) with ordinality as r (id, n, place)`;
    const text = `insert into ${schema}.effect (id, n) select id, n from ${found} order by place`;
    await tx.query(text, [JSON.stringify(rows)]);
  });
  const observe = (told: RelayEvent): void => {
    if (told.kind === 'transport-failed') say(`failed ${told.during}`);
  };
  await hf.start({ leaseMs: 5_000, observers: [observe] });
  createInterface({ input: process.stdin }).on('line', () => {
    globalThis.gc?.();
    const { heapUsed, external, rss } = process.memoryUsage();
    say(`memory ${heapUsed + external} ${rss}`);
  });
  say('ready');
}

// Imported for its words, it does nothing.
if (process.argv[1]?.endsWith('outage-process.ts'))
  await run(JSON.parse(process.argv[2] ?? '') as OutageProcessOptions);
