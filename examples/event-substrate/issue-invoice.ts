import type { Holdfast } from 'holdfast';
import type { Pool, PoolClient } from 'pg';
import { type Invoice, invoiceIssued } from './invoice-event.ts';

/** Stores the invoice and its event in one transaction; answers the event's id. */
export async function issueInvoice(
  pool: Pool,
  hf: Pick<Holdfast<PoolClient>, 'send'>,
  invoice: Invoice,
): Promise<string> {
  const client = await pool.connect();
  let failure: Error | undefined;
  try {
    await client.query('begin');
    const { invoiceId, customerId, netCents, taxCode } = invoice;
    await client.query('insert into billing.invoice values ($1, $2, $3, $4)', [
      invoiceId,
      customerId,
      netCents,
      taxCode,
    ]);
    const { id } = await hf.send(client, invoiceIssued, invoice, { target: 'ledger' });
    await client.query('commit');
    return id;
  } catch (error) {
    failure = error as Error;
    await client.query('rollback').catch(() => undefined);
    throw error;
  } finally {
    client.release(failure);
  }
}
