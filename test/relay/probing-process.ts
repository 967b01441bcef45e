// node probing-process.ts <url> <schema>
//
// A worker whose handler fails once, as in an outage, and never comes back from the probe that follows. Says so on its output.
import { Pool } from 'pg';
import { event, holdfast } from '../../src/index.ts';
import { postgres } from '../../src/postgres/index.ts';

const [, , connectionString, schema] = process.argv;
const pool = new Pool({ connectionString, max: 5 });
const hf = holdfast({ service: 'orders', store: postgres({ pool, ...(schema !== undefined && { schema }) }) });
let runs = 0;
hf.on(
  event('charge.asked'),
  'charge',
  async () => {
    if ((runs += 1) === 1) throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' });
    process.stdout.write('probing\n');
    await new Promise(() => undefined);
  },
  { breaker: { dependency: 'stripe', failures: 1, probeAfterMs: 10, maxProbeAfterMs: 10 }, concurrency: 1 },
);
await hf.start({ leaseMs: 1_000 });
