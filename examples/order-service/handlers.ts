import { type Holdfast, policy, steps, TerminalHandlerError } from 'holdfast';
import type { Pool, PoolClient } from 'pg';
import type { MailProvider } from './mail-provider.ts';
import { orderPlaced } from './order.ts';
import { isCustomer } from './traffic/customers.ts';

/** What the handlers work with. */
export interface HandlerTools {
  readonly pool: Pool;
  readonly mail: MailProvider;
  /** How many times shorter than real the waits are. */
  readonly speed: number;
}

/** The handlers of a placed order, in the order in which the page shows them. */
export const HANDLERS = ['dashboard', 'charge-card', 'email-receipt'] as const;

const RECEIPT_WAITS_MS = [4_000, 8_000, 16_000, 30_000];

/** How many attempts each handler has. */
export const MAX_ATTEMPTS: Readonly<Record<(typeof HANDLERS)[number], number>> = {
  dashboard: 5,
  'charge-card': 5,
  'email-receipt': RECEIPT_WAITS_MS.length + 1,
};

/** Registers the three handlers of a placed order. */
export function registerHandlers(hf: Holdfast<PoolClient>, { pool, mail, speed }: HandlerTools): void {
  // Database only: what it does to the counter and the completion of the message are one commit, shared by many messages.
  hf.project(orderPlaced, 'dashboard', async (order, tx) => {
    await tx.query(
      `insert into shop.sales (item, orders, cents) values ($1, 1, $2)
       on conflict (item) do update set orders = sales.orders + 1, cents = sales.cents + excluded.cents`,
      [order.item, order.totalCents],
    );
  });

  // The charge and the completion are one commit. A currency without a rate is no use trying again: a dead letter at once.
  hf.on(orderPlaced, 'charge-card', async (order, ctx) => {
    const { rows } = await pool.query<{ euro: string }>('select euro from shop.rate where currency = $1', [
      order.currency,
    ]);
    const euro = rows[0]?.euro;
    if (euro === undefined) throw new TerminalHandlerError(`there is no exchange rate for ${order.currency}`);
    const euroCents = Math.round(order.totalCents * Number(euro));
    await ctx.commit((tx) =>
      tx.query('insert into shop.charge (order_id, euro_cents) values ($1, $2)', [order.orderId, euroCents]),
    );
  });

  // Somebody else's service cannot be part of our commit: it gets the key under which it sends one mail only.
  hf.on(
    orderPlaced,
    'email-receipt',
    async (order, ctx) => {
      // Two of three orders find the provider overloaded, once or twice; of the live traffic, which is more, one of six.
      const failures = isCustomer(order.email) ? Number(order.number % 6 === 0) : order.number % 3;
      await mail.send({ email: order.email, failures }, ctx);
      await ctx.commit((tx) =>
        tx.query('insert into shop.receipt (order_id, email) values ($1, $2)', [order.orderId, order.email]),
      );
    },
    {
      policy: policy({ schedule: steps(RECEIPT_WAITS_MS.map((ms) => ms / speed)), timeoutMs: 10_000 }),
      // So that the page shows attempts being spent. Without this line an overloaded provider costs time and no attempts.
      maxOutageMs: 0,
      // Ten in a row, not the usual five: a provider that is often overloaded is not away for that.
      breaker: {
        dependency: 'mail-provider',
        failures: 10,
        probeAfterMs: 5_000 / speed,
        maxProbeAfterMs: 20_000 / speed,
      },
    },
  );
}
