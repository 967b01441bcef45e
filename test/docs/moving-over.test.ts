import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { ROOT, runProgram } from '../../scripts/run-tool.ts';
import { freshDatabase } from '../order-service/fresh-database.ts';
import { needs } from '../support/needs.ts';

const JOBS = 20;

/** The new side: one handler that notes each order it was given, and `done`, which waits until all have come. */
const OURS = `
import { event, holdfast } from 'holdfast';
import { migrate, postgres } from 'holdfast/postgres';
import { Pool } from 'pg';
const url = process.env.DATABASE_URL;
const pool = new Pool({ connectionString: url });
const hf = holdfast({ service: 'shop', store: postgres({ pool }) });
const chargeDue = event('charge.due', { key: ({ orderId }) => orderId });
const orderPlaced = chargeDue;
hf.on(chargeDue, 'charge', (order, ctx) => ctx.commit((tx) => tx.query('insert into charged values ($1)', [order.orderId])));
const client = await pool.connect();
await migrate(client);
client.release();
await pool.query('create table charged (order_id text)');
const running = await hf.start();
const orders = Array.from({ length: ${JOBS} }, (_, i) => ({ orderId: 'ord_' + i }));
const done = async () => {
  for (;;) {
    const { rows } = await pool.query('select count(*)::int as n, count(distinct order_id)::int as orders from charged');
    if (rows[0].orders === ${JOBS}) return console.log(rows[0].n + ' of ' + rows[0].orders);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
};
const end = async () => { await running.stop(); await pool.end(); };
`;

/** The block of a page that hands jobs over, with what it declares left to the test. */
function bridgeOf(page: string): string {
  const text = readFileSync(join(ROOT, 'docs/migrate', page), 'utf8');
  const blocks = [...text.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, code = '']) => code);
  const bridge = blocks.findLast((code) => code.includes('idempotencyKey: `'));
  if (bridge === undefined) throw new Error(`${page} hands nothing over`);
  return bridge.replaceAll(/^declare .*$/gm, '');
}

/** Runs a program with the package and our development dependencies; answers what it printed. */
async function runAsUser(code: string, env: NodeJS.ProcessEnv): Promise<string> {
  const root = mkdtempSync(join(realpathSync(tmpdir()), 'holdfast-moving-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const folder = join(root, 'user');
  mkdirSync(join(folder, 'node_modules'), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules', 'holdfast'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(folder, 'move.ts'), code);
  const { ok, output } = await runProgram([process.execPath, 'move.ts'], { cwd: folder, env });
  expect(ok, output).toBe(true);
  return output;
}

const ONCE_EACH = `${JOBS} of ${JOBS}`;
const test = needs('postgres');

test('jobs of pg-boss come over by the bridge of its page, each once [S1.13]', async ({ postgres }) => {
  const before = `${OURS}
import { PgBoss } from 'pg-boss';
const boss = new PgBoss(url);
boss.on('error', console.error);
await boss.start();
await boss.createQueue('charge');
for (const order of orders) await boss.send('charge', order);
`;
  const after = 'await done(); await boss.stop({ graceful: false }); await end();';
  const said = await runAsUser(before + bridgeOf('pg-boss.md') + after, {
    DATABASE_URL: await freshDatabase(postgres),
  });
  expect(said).toContain(ONCE_EACH);
});

test('jobs of graphile-worker come over by the task of its page, each once [S1.13]', async ({ postgres }) => {
  const after = `
import { Logger, run } from 'graphile-worker';
const runner = await run({ connectionString: url, taskList, noHandleSignals: true, logger: new Logger(() => () => undefined) });
for (const order of orders) await runner.addJob('charge', order, { queueName: order.orderId });
await done();
await runner.stop();
await end();
`;
  const said = await runAsUser(OURS + bridgeOf('graphile-worker.md') + after, {
    DATABASE_URL: await freshDatabase(postgres),
  });
  expect(said).toContain(ONCE_EACH);
});

test('rows of an outbox by hand change sides by the loop of its page, each once [S1.13]', async ({ postgres }) => {
  const before = `${OURS}
await pool.query('create table outbox (id bigserial primary key, type text, payload jsonb, published_at timestamptz)');
for (const order of orders) await pool.query('insert into outbox (type, payload) values ($1, $2)', ['order.placed', order]);
const stopper = new AbortController();
const stopped = stopper.signal;
void done().then(() => stopper.abort());
`;
  const after = `
const left = await pool.query('select count(*)::int as n from outbox');
console.log('left ' + left.rows[0].n);
await end();
`;
  const said = await runAsUser(before + bridgeOf('hand-written-outbox.md') + after, {
    DATABASE_URL: await freshDatabase(postgres),
  });
  expect(said).toContain(ONCE_EACH);
  expect(said).toContain('left 0');
});

needs('postgres', 'redis')(
  'jobs of BullMQ come over by the bridge of its page, each once [S1.13]',
  async ({ postgres, redis }) => {
    const { hostname, port } = new URL(redis.url);
    const name = `${redis.namespace}-charge`.replaceAll(':', '-');
    const bridge = bridgeOf('bullmq.md')
      .replace("{ host: 'localhost', port: 6379 }", JSON.stringify({ host: hostname, port: Number(port || 6379) }))
      .replace("  'charge',\n", `  '${name}',\n`);
    expect(bridge).toContain(name);
    const after = `
import { Queue } from 'bullmq';
const queue = new Queue('${name}', { connection: ${JSON.stringify({ host: hostname, port: Number(port || 6379) })} });
await queue.addBulk(orders.map((data) => ({ name: 'charge', data })));
await done();
await bridge.close();
await queue.obliterate({ force: true });
await queue.close();
await end();
`;
    const said = await runAsUser(OURS + bridge + after, { DATABASE_URL: await freshDatabase(postgres) });
    expect(said).toContain(ONCE_EACH);
  },
);
