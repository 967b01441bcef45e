// node replay-process.ts <database url> <name> broken|mended
//
// One process of a service with two handlers. Broken, they fail for good, whatever comes. Mended, they write down each run in the commit
// that completes it, but for those that the table `still_broken` names. There is no unique key on what they write.
import { event, holdfast, TerminalHandlerError } from 'holdfast';
import { postgres } from 'holdfast/postgres';
import { Pool, type PoolClient } from 'pg';

/** What the messages say. */
export interface Order {
  readonly orderId: string;
}

/** Handled by a handler that commits by itself. */
export const ORDER_PLACED = event<Order>('order.placed', { key: ({ orderId }) => orderId });
/** Handled by a projector. */
export const ORDER_BOOKED = event<Order>('order.booked', { key: ({ orderId }) => orderId });

const INSERT = 'insert into effect (message, total) values ($1, 1)';

export function handlersOn(pool: Pool, fails: (orderId: string) => boolean) {
  const relay = holdfast({ service: 'shop', store: postgres({ pool }) });
  const check = ({ orderId }: Order): void => {
    if (fails(orderId)) throw new TerminalHandlerError(`there is no money for ${orderId}`);
  };
  relay.on(ORDER_PLACED, 'charge', async (order, ctx) => {
    check(order);
    await ctx.commit((tx: PoolClient) => tx.query(INSERT, [order.orderId]));
  });
  relay.project(ORDER_BOOKED, 'book', async (order, tx: PoolClient) => {
    check(order);
    await tx.query(INSERT, [order.orderId]);
  });
  return relay;
}

async function main(url: string, name: string, mode: string): Promise<void> {
  const pool = new Pool({ connectionString: url, max: 20, application_name: name });
  pool.on('error', () => undefined);
  const { rows } = await pool.query<{ message: string }>('select message from still_broken');
  const broken = new Set(rows.map(({ message }) => message));
  const relay = handlersOn(pool, (orderId) => mode === 'broken' || broken.has(orderId));
  const running = await relay.start({ name, leaseMs: 2_000, pollMs: 100 });
  process.send?.('ready');
  process.once('disconnect', () => void running.stop().then(() => process.exit()));
}

if (import.meta.main) await main(process.argv[2] ?? '', process.argv[3] ?? '', process.argv[4] ?? '');
