/** No unique key on purpose: a second order for one request would be seen. */
export const ORDER_TABLES = `
  create table if not exists budget_orders.orders (
    order_id uuid not null,
    user_id text not null,
    budget_id text not null,
    category text not null,
    item text not null,
    amount_cents bigint not null
  );
`;
