import { expect } from 'vitest';
import { event, holdfast, TerminalHandlerError } from '../../src/index.ts';
import { postgres } from '../../src/postgres/index.ts';
import type { TestServer } from '../support/needs.ts';
import { OperatorDatabase } from '../operator/operator-database.ts';

const orderPlaced = event<{ n: number; customer: { id: number; email: string } }>('order.placed', {
  key: ({ customer }) => `c${customer.id}`,
});

/** A database in which the handler `charge` has failed so many messages, `ledger` has taken them, and nobody works any more. */
export async function failedShop(server: TestServer, count: number): Promise<OperatorDatabase> {
  const database = await OperatorDatabase.open(server);
  const { pool, schema, operator } = database;
  const hf = holdfast({ service: 'shop', store: postgres({ pool, schema }) });
  hf.on(orderPlaced, 'charge', ({ customer }) => {
    throw new TerminalHandlerError(`no card of ${customer.email}`);
  });
  hf.on(orderPlaced, 'ledger', () => undefined, { repeatable: true });
  const running = await hf.start({ pollMs: 20 });
  try {
    const client = await pool.connect();
    await client.query('begin');
    for (let n = 1; n <= count; n++) {
      await hf.send(client, orderPlaced, { n, customer: { id: n, email: `customer${n}@example.com` } });
    }
    await client.query('commit');
    client.release();
    await expect.poll(async () => (await operator.deadLetters()).items.length, { interval: 30 }).toBe(count);
    await expect
      .poll(async () => (await operator.messages({ status: 'failed' })).items.length, { interval: 30 })
      .toBe(count);
  } finally {
    await running.stop();
  }
  return database;
}
