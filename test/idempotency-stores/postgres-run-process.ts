// node postgres-run-process.ts <options as JSON>
//
// Claims, and commits one effect with its reply; then says so and ends. It is killed on its way by its parent, who holds the wire.
import { Pool } from 'pg';
import postgresJs from 'postgres';
import type { Claim } from '../../src/idempotency/idempotency-store.ts';
import { postgresIdempotency } from '../../src/postgres/index.ts';
import { sqlRunner, type SqlTransaction } from '../../src/postgres/sql-runner.ts';

/** How the process is started. */
export interface RunOptions {
  readonly client: 'pg' | 'postgres.js';
  readonly url: string;
  readonly schema: string;
  readonly claim: Claim;
}

const { client, url, schema, claim } = JSON.parse(process.argv[2] ?? '') as RunOptions;
const pool = client === 'pg' ? new Pool({ connectionString: url }) : postgresJs(url, { prepare: false });
const store = postgresIdempotency({ pool, schema });
const { kind } = await store.claim(claim);
if (kind === 'claimed') {
  await store.commit(claim, async (tx) => {
    const sql = sqlRunner(tx as SqlTransaction);
    await sql.query(`insert into ${schema}.effect values ($1::text)`, [claim.id]);
    const reply = { head: '{}', body: new TextEncoder().encode('done') };
    return { value: undefined, end: { kind: 'finish', status: 'completed', reply } };
  });
}
process.stdout.write('over\n');
process.exit();
