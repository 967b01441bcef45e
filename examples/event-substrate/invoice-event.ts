import { event } from 'holdfast';
import { z } from 'zod';

/** What the billing service tells about an invoice. */
export const Invoice = z.object({
  invoiceId: z.string().min(1),
  customerId: z.string().min(1),
  netCents: z.number().int().positive(),
  taxCode: z.string().min(1),
});

export type Invoice = z.infer<typeof Invoice>;

/** Events of one customer are handled one after the other. */
export const invoiceIssued = event('invoice.issued', {
  schema: Invoice,
  key: (invoice) => invoice.customerId,
  aggregate: (invoice) => ({ type: 'invoice', id: invoice.invoiceId }),
});
