// node release-process.ts <folder of a built package> <database url> <schema> <name of the release>
//
// A worker of one release: each step has one effect, which says who had it. Tells when it runs; ends on SIGTERM, after what it has started.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as root from 'holdfast';
import type * as store from 'holdfast/postgres';
import { Pool, type PoolClient } from 'pg';

const [, , folder = '', url = '', schema = '', release = ''] = process.argv;
const load = async <T>(file: string): Promise<T> => (await import(pathToFileURL(join(folder, 'dist', file)).href)) as T;
const { event, holdfast } = await load<typeof root>('index.js');
const { postgres } = await load<typeof store>('postgres/index.js');

const pool = new Pool({ connectionString: url, max: 8 });
pool.on('error', () => undefined);
const hf = holdfast({ service: 'steps', store: postgres({ pool, schema }) });
const stepTaken = event<{ key: string; n: number }>('step.taken', { key: ({ key }) => key });
hf.on(stepTaken, 'note', async ({ key, n }, ctx) => {
  await ctx.commit(async (tx: PoolClient) => {
    await tx.query(`insert into ${schema}_effect (key, n, release) values ($1, $2, $3)`, [key, n, release]);
  });
});

try {
  const running = await hf.start({ name: release, pollMs: 50, leaseMs: 3_000 });
  process.once('SIGTERM', () => void running.stop().then(() => pool.end()));
  process.send?.('running');
} catch (error) {
  console.error((error as Error).message);
  process.exit(1);
}
