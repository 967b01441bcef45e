/** No unique key on transactions, on purpose: a second one would be seen, and would be in the sum of its budget. */
export const TRANSACTION_TABLES = `
  create table if not exists budget_transactions.transaction (
    transaction_id uuid not null,
    expense_id uuid,
    budget_id text not null,
    description text not null,
    amount_cents bigint not null
  );
  create table if not exists budget_transactions.budget (
    budget_id text primary key,
    spent_cents bigint not null,
    transactions bigint not null
  );
`;
