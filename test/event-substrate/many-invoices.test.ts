import { expect, onTestFinished } from 'vitest';
import { Pool } from 'pg';
import { issueInvoice } from '../../examples/event-substrate/issue-invoice.ts';
import { registerHandlers } from '../../examples/event-substrate/handlers.ts';
import { billing, prepare } from '../../examples/event-substrate/substrate.ts';
import type { RelayEvent } from '../../src/index.ts';
import { type Alert, alertOnDead } from '../../src/telemetry/index.ts';
import { freshDatabase } from '../order-service/fresh-database.ts';
import { needs } from '../support/needs.ts';

const INVOICES = 400;

needs('postgres')(
  '400 invoices drain at once, although the first notice of each is refused: each has one retry, none is dead [S4.2] [X.10]',
  async ({ postgres }) => {
    const pool = new Pool({ connectionString: await freshDatabase(postgres) });
    // Its database goes away by force, perhaps before its last connection.
    pool.on('error', () => undefined);
    onTestFinished(() => pool.end());
    await prepare(pool);
    const hf = billing(pool, 1);
    registerHandlers(hf, 1);
    const issued = Array.from({ length: INVOICES }, async (_, n) =>
      issueInvoice(pool, hf, { invoiceId: `inv_${n}`, customerId: `cus_${n}`, netCents: 100, taxCode: 'DE19' }),
    );
    await Promise.all(issued);
    const [events, alerts]: [RelayEvent[], Alert[]] = [[], []];
    const running = await hf.start({
      observers: [(one) => void events.push(one), alertOnDead({ sink: (alert) => void alerts.push(alert) })],
    });
    onTestFinished(() => running.stop());
    const once = async (table: string): Promise<unknown> =>
      (await pool.query(`select count(*)::int as all, count(distinct invoice_id)::int as once from billing.${table}`))
        .rows[0];
    for (const table of ['ledger_entry', 'customer_notice'])
      await expect.poll(() => once(table)).toEqual({ all: INVOICES, once: INVOICES });
    expect(events.filter(({ kind }) => kind === 'run-failed')).toHaveLength(INVOICES);
    expect(alerts.filter(({ kind }) => kind === 'dead')).toEqual([]);
  },
);
