import type { Holdfast } from 'holdfast';
import type { PoolClient } from 'pg';
import { invoiceIssued } from './invoice-event.ts';
import { grossCents, UnknownTaxCode } from './ledger.ts';

/** Registers both handlers, as this generation of the code has them. */
export function registerHandlers(hf: Holdfast<PoolClient>, generation: number): void {
  // Terminal: an unknown tax code fails at once. The default policy is for everything else: 5 attempts, 1 s doubling.
  hf.on(
    invoiceIssued,
    'ledger',
    async ({ invoiceId, netCents, taxCode }, ctx) => {
      const cents = grossCents(generation, netCents, taxCode);
      await ctx.commit((tx) =>
        tx.query('insert into billing.ledger_entry values ($1, $2, $3)', [invoiceId, cents, generation]),
      );
    },
    { terminalErrors: [UnknownTaxCode], onDead: 'pass' },
  );

  // Transient: whoever it calls is away at first. The key is the same at every attempt, so that the customer is told once.
  hf.on(invoiceIssued, 'notify-customer', async ({ invoiceId }, ctx) => {
    if (ctx.attempt === 1) {
      throw Object.assign(new Error('the notification service refused the connection'), { code: 'ECONNREFUSED' });
    }
    await ctx.commit((tx) =>
      tx.query('insert into billing.customer_notice values ($1, $2, $3, $4)', [
        invoiceId,
        ctx.idempotencyKey,
        ctx.attempt,
        generation,
      ]),
    );
  });
}
