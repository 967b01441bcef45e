import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { ROOT, runProgram } from '../../scripts/run-tool.ts';
import { freshSchema } from '../support/fresh-schema.ts';
import { needs } from '../support/needs.ts';
import { olderNode } from '../support/older-node.ts';

const { engines, exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  engines: { node: string };
  exports: Record<string, unknown>;
};

/** What somebody does with it who has just begun: all of it is loaded, a message is sent and handled, a call is tried again. */
const PROGRAM = `
  const [, url, schema, names] = process.argv;
  for (const name of JSON.parse(names)) await import(name);
  const { event, holdfast, withRetry } = await import('holdfast');
  const { postgres } = await import('holdfast/postgres');
  const { Pool } = (await import('pg')).default;
  const pool = new Pool({ connectionString: url });
  const hf = holdfast({ service: 'old', store: postgres({ pool, schema }) });
  const placed = event('order.placed');
  const handled = Promise.withResolvers();
  hf.on(placed, 'charge', async (order, ctx) => {
    await ctx.commit((tx) => tx.query('select 1'));
    handled.resolve(order.orderId);
  });
  const running = await hf.start({ pollMs: 50 });
  const tx = await pool.connect();
  await tx.query('begin');
  await hf.send(tx, placed, { orderId: 'ord_1' });
  await tx.query('commit');
  tx.release();
  let calls = 0;
  const answer = await withRetry('call', async () => {
    if (++calls === 1) throw Object.assign(new Error('no'), { code: 'ECONNRESET' });
    return 'well';
  });
  console.log(process.version, await handled.promise, answer, calls);
  await running.stop();
  await pool.end();
`;

needs('postgres')(
  'The oldest Node that package.json names loads all of it, handles messages and tries again [X.19]',
  async ({ postgres }) => {
    const version = /\d+\.\d+/.exec(engines.node)?.[0] ?? '';
    const node = await olderNode(`${version}.0`);
    const schema = await freshSchema(postgres);
    const names = Object.keys(exports)
      .filter((path) => path !== './package.json')
      .map((path) => `holdfast${path.slice(1)}`);
    const args = ['--input-type=module', '--eval', PROGRAM, postgres.url, schema, JSON.stringify(names)];
    const { ok, output } = await runProgram([node, ...args], { cwd: ROOT });
    expect({ ok, output: output.trim() }).toEqual({ ok: true, output: `v${version}.0 ord_1 well 2` });
    const help = await runProgram([node, join(ROOT, 'dist', 'cli', 'main.js'), '--version'], { cwd: ROOT });
    expect(help.ok, help.output).toBe(true);
  },
);
