import { Pool } from 'pg';
import { describe, expect, onTestFinished } from 'vitest';
import { issueInvoice } from '../../examples/event-substrate/issue-invoice.ts';
import { billing, prepare } from '../../examples/event-substrate/substrate.ts';
import { type Program, run } from '../agent-chat/process.ts';
import { freshDatabase } from '../order-service/fresh-database.ts';
import { needs, type TestServer } from '../support/needs.ts';

const test = needs('postgres');

async function substrate(server: TestServer): Promise<{ readonly url: string; readonly pool: Pool }> {
  const url = await freshDatabase(server);
  const pool = new Pool({ connectionString: url });
  // Its database goes away by force, perhaps before its last connection.
  pool.on('error', () => undefined);
  onTestFinished(() => pool.end());
  await prepare(pool);
  return { url, pool };
}

/** A worker of one generation, in a process of its own. */
async function worker(url: string, generation: number): Promise<Program> {
  const program = run('../event-substrate/main.ts', ['worker', '--generation', String(generation)], {
    DATABASE_URL: url,
  });
  await program.until(/is at work/);
  return program;
}

/** How many entries each generation wrote for each invoice. */
async function ledger(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ line: string }>(
    `select invoice_id || ' by ' || generation || ' ' || count(*) || 'x' as line from billing.ledger_entry
     group by invoice_id, generation order by invoice_id`,
  );
  return rows.map(({ line }) => line);
}

describe('two generations over a rolling deployment', () => {
  test('handle their own events only, while both run and when one comes and goes [S4.5]', async ({ postgres }) => {
    const { url, pool } = await substrate(postgres);
    const old = await worker(url, 1);
    const wanted: string[] = [];
    const send = async (generation: number, number: number): Promise<void> => {
      const invoiceId = `inv_${String(number).padStart(3, '0')}`;
      const invoice = { invoiceId, customerId: `cus_${number % 5}`, netCents: 100, taxCode: 'DE19' };
      await issueInvoice(pool, billing(pool, generation), invoice);
      wanted.push(`${invoiceId} by ${generation} 1x`);
    };
    for (let n = 0; n < 10; n++) await send(1, n);
    const fresh = await worker(url, 2);
    for (let n = 10; n < 40; n++) await send((n % 2) + 1, n);
    old.child.kill('SIGINT');
    expect(await old.ended).toBe(0);
    for (let n = 40; n < 50; n++) await send(2, n);
    for (let n = 50; n < 55; n++) await send(1, n);
    // The events of the old generation wait for it.
    const ofNew = wanted.filter((line) => line.includes(' by 2 '));
    await expect.poll(async () => (await ledger(pool)).filter((line) => line.includes(' by 2 '))).toEqual(ofNew);
    expect(await ledger(pool)).not.toContain('inv_050 by 2 1x');
    const back = await worker(url, 1);
    await expect.poll(() => ledger(pool)).toEqual(wanted);
    for (const program of [fresh, back]) {
      program.child.kill('SIGINT');
      expect(await program.ended).toBe(0);
    }
  });

  test(
    'of two operators who replay at once, one does and the other is told so; the effect is there once [S4.4] [S4.7]',
    {
      timeout: 120_000,
    },
    async ({ postgres }) => {
      const { url, pool } = await substrate(postgres);
      await worker(url, 1);
      const invoice = { invoiceId: 'inv_1', customerId: 'cus_1', netCents: 100, taxCode: 'GB20' };
      const id = await issueInvoice(pool, billing(pool, 1), invoice);
      const failed = `select attempts, status from holdfast.outbox where status = 'failed' and deleted_at is null`;
      await expect.poll(async () => (await pool.query(failed)).rows).toEqual([{ attempts: 1, status: 'failed' }]);
      await worker(url, 2);
      const replay = async (who: string): Promise<string> => {
        const { rows } = await pool.query<{ answer: string }>(
          `select holdfast.outbox_replay($1, 2, $2) ->> 'answer' as answer`,
          [id, who],
        );
        return rows[0]?.answer ?? '';
      };
      const answers = await Promise.all(['ann', 'bob', 'cem'].map(replay));
      expect(answers.toSorted((a, b) => a.localeCompare(b))).toEqual(['not_failed', 'not_failed', 'replayed']);
      await expect.poll(() => ledger(pool)).toEqual(['inv_1 by 2 1x']);
      expect(await replay('dan')).toBe('not_failed');
      expect(await ledger(pool)).toEqual(['inv_1 by 2 1x']);
    },
  );
});
