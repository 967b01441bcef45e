import type { Collection, Db } from 'mongodb';

/** An expense. Its `_id` is made by the driver: a second one for the same order would be seen. */
interface Expense {
  readonly expenseId: string;
  /** The order it comes from; `null` when it was filed by hand. */
  readonly orderId: string | null;
  readonly budgetId: string;
  readonly account: string;
  readonly description: string;
  readonly amountCents: number;
}

/** What the service owns, beside `outbox_events`, `inbox_messages` and `idempotency_keys` in the same database. */
export interface ExpenseCollections {
  readonly expenses: Collection<Expense>;
  /** How a mutation that runs again, after its process was killed, finds what it has done. `_id`: the key of the request. */
  readonly requests: Collection<{ _id: string; readonly expenseId: string }>;
  /** Which account a category is booked on. `_id`: the category. */
  readonly accounts: Collection<{ _id: string; readonly account: string }>;
}

/** The collections of a database. */
export function expenseCollections(db: Db): ExpenseCollections {
  return {
    expenses: db.collection('expenses'),
    requests: db.collection('requests'),
    accounts: db.collection('accounts'),
  };
}

const ACCOUNTS = { office: '4930', travel: '4660' };

/** Makes collections and indexes, and opens the first accounts. */
export async function prepareExpenses(db: Db): Promise<void> {
  const { expenses, requests, accounts } = expenseCollections(db);
  const there = new Set((await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name));
  const missing = [expenses, requests, accounts].filter(({ collectionName }) => !there.has(collectionName));
  for (const { collectionName } of missing) await db.createCollection(collectionName);
  await expenses.createIndex({ budgetId: 1 });
  for (const [category, account] of Object.entries(ACCOUNTS)) await openAccount(accounts, category, account);
}

/** Opens an account unless the category has one. */
export async function openAccount(
  accounts: ExpenseCollections['accounts'],
  category: string,
  account: string,
): Promise<void> {
  await accounts.updateOne({ _id: category }, { $setOnInsert: { account } }, { upsert: true });
}
