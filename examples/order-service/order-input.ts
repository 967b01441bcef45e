import { z } from 'zod';
import type { NewOrder } from './place-order.ts';

/** Something a client sent, checked; or what it should have sent. */
export type Checked<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

const MOST = 1_000_000;

const OrderBody = z.object({
  item: z.string().trim().min(1, 'name what is ordered').max(80, 'use at most 80 characters'),
  total: z
    .number('write a number, such as 12.5')
    .positive('write more than 0')
    .max(MOST, `write at most ${MOST}`)
    .refine((total) => Math.abs(total * 100 - Math.round(total * 100)) < 1e-6, 'write at most two decimals'),
  email: z.email('write an e-mail address').max(200, 'use at most 200 characters'),
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/, 'write three capital letters, such as EUR')
    .default('EUR'),
});

const ReasonBody = z.object({ reason: z.string().trim().min(1, 'say why').max(500, 'use at most 500 characters') });

const RateBody = z.object({ euro: z.number('write a number').positive('write more than 0').nullable() });

/** A new order: `item`, `total`, `email`, and `currency` if it is not the euro. */
export function checkOrder(body: unknown): Checked<NewOrder> {
  const checked = check(OrderBody, body);
  if (!checked.ok) return checked;
  const { item, total, email, currency } = checked.value;
  return { ok: true, value: { item, totalCents: Math.round(total * 100), email, currency } };
}

/** Why somebody does something. */
export function checkReason(body: unknown): Checked<{ readonly reason: string }> {
  return check(ReasonBody, body);
}

/** What one unit of a currency is in euro; `null`: nobody knows. */
export function checkRate(body: unknown): Checked<{ readonly euro: number | null }> {
  return check(RateBody, body);
}

function check<T>(schema: z.ZodType<T>, body: unknown): Checked<T> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return { ok: true, value: parsed.data };
  const problems = parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'the body'}: ${message}`);
  return { ok: false, problem: problems.join(' · ') };
}
