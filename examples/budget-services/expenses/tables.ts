/**
 * No unique key on expenses, on purpose: a second one would be seen. `request` is how a mutation that runs again, after its process was
 * killed, finds what it has done.
 */
export const EXPENSE_TABLES = `
  create table if not exists budget_expenses.expense (
    expense_id uuid not null,
    order_id uuid,
    budget_id text not null,
    account text not null,
    description text not null,
    amount_cents bigint not null
  );
  create table if not exists budget_expenses.request (request_key text primary key, expense_id uuid not null);
  create table if not exists budget_expenses.account (category text primary key, account text not null);
  insert into budget_expenses.account values ('office', '4930'), ('travel', '4660') on conflict do nothing;
`;
