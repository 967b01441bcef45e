import { Pool } from 'pg';
import { describe, expect, onTestFinished } from 'vitest';
import { event, holdfast, TerminalHandlerError } from '../../src/index.ts';
import { postgres, postgresOperator } from '../../src/postgres/index.ts';
import { storeContract } from '../../src/testing/index.ts';
import { freshSchema } from '../support/fresh-schema.ts';
import { needs } from '../support/needs.ts';
import { pgClient } from './sql-clients.ts';
import { sqlHarness } from './sql-harness.ts';

const test = needs('postgres');
const placed = event<{ n: number }>('order.placed');

/** What a role or a database may be set to, each to what our statements would read or write wrongly if they went by it. */
const ODD = {
  default_transaction_isolation: 'serializable',
  search_path: 'pg_temp',
  standard_conforming_strings: 'off',
  DateStyle: 'SQL, DMY',
  IntervalStyle: 'sql_standard',
  TimeZone: 'Asia/Kathmandu',
  bytea_output: 'escape',
  extra_float_digits: '-15',
  backslash_quote: 'on',
  xmlbinary: 'hex',
};

/** The URL of the same server, whose sessions begin with these settings. */
function withSettings(url: string, settings: Readonly<Record<string, string>>): string {
  const odd = new URL(url);
  const words = Object.entries(settings).map(([name, value]) => `-c ${name}=${value.replaceAll(' ', '\\ ')}`);
  odd.searchParams.set('options', words.join(' '));
  return odd.href;
}

describe('on PostgreSQL with odd settings and serializable transactions', () => {
  for (const { name, run } of storeContract()) {
    // The transactions in it are a sender's own: of two serializable ones PostgreSQL refuses one, and the sender tries again.
    if (name === 'of two senders at once with one idempotency key, one stores it') continue;
    test(`${name} [X.12]`, async ({ postgres: server }) => {
      const schema = await freshSchema(server);
      const url = withSettings(server.url, ODD);
      await expect(run(await sqlHarness(await pgClient(url, schema), schema))).resolves.toBeUndefined();
    });
  }
});

for (const isolation of ['serializable', 'repeatable read']) {
  test(`a service starts, sends, handles and is operated where transactions begin as ${isolation} [X.12]`, async ({
    postgres: server,
  }) => {
    const schema = await freshSchema(server);
    const pool = new Pool({
      connectionString: withSettings(server.url, { ...ODD, default_transaction_isolation: isolation }),
    });
    pool.on('error', () => undefined);
    onTestFinished(() => pool.end());
    const hf = holdfast({ service: 'shop', store: postgres({ pool, schema }) });
    const operator = postgresOperator({ pool, schema });
    const handled: number[] = [];
    let isBroken = true;
    let failures = 0;
    hf.on(placed, 'take', async ({ n }, ctx) => {
      if (n === 3 && isBroken) {
        failures += 1;
        throw new TerminalHandlerError('not the third');
      }
      await ctx.commit(async () => void handled.push(n));
    });
    const workers = await Promise.all([hf.start(), hf.start()]);
    onTestFinished(async () => void (await Promise.all(workers.map((worker) => worker.stop()))));
    const sent: string[] = [];
    for (let n = 0; n < 8; n += 1) {
      const tx = await pool.connect();
      await tx.query('begin');
      sent.push((await hf.send(tx, placed, { n })).id);
      await tx.query('commit');
      tx.release();
    }
    const all = [0, 1, 2, 3, 4, 5, 6, 7];
    const seen = (): readonly number[] => [...new Set(handled)].sort((a, b) => a - b);
    await expect.poll(seen).toEqual(all.filter((n) => n !== 3));
    await expect.poll(() => failures).toBe(1);
    isBroken = false;
    const replay = (): Promise<{ readonly kind: string }> =>
      operator.replay(sent[3] ?? '', { actor: 'ann', reason: 'test' });
    await expect.poll(async () => (await replay()).kind).toBe('replayed');
    await expect.poll(seen).toEqual(all);
  });
}
