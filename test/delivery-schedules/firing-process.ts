import { Pool } from 'pg';

import { postgresDelivery } from '../../src/postgres/index.ts';

// Publishes what is due at a time, as a process of its own does: <database> <schema> <time>.
const [, , url = '', schema = '', now = ''] = process.argv;
const pool = new Pool({ connectionString: url, max: 1 });
const { schedules } = postgresDelivery({ pool, schema, answerTimeoutMs: 60_000 });
await schedules.list();
process.stdout.write('ready\n');
const { fired } = await schedules.fire(new Date(now));
process.stdout.write(`fired ${fired}\n`);
await pool.end();
