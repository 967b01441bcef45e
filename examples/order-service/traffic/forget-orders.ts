import type { Pool } from 'pg';

/**
 * Forgets orders of the live traffic beyond the newest `keep`: those that are done everywhere, with all that was written for them
 * and their part of the sums, in one statement, so that what is equal stays equal.
 */
export async function forgetOrders(pool: Pool, keep: number): Promise<void> {
  await pool.query(
    `with old as (
       select o.id, o.item, o.total_cents from shop.placed_order o
       where o.is_traffic and o.number <= (select max(number) from shop.placed_order) - $1::int
         and exists (select from shop.charge c where c.order_id = o.id)
         and exists (select from shop.receipt r where r.order_id = o.id)
         and not exists (select from holdfast.run_log l where l.event_id = o.message_id and l.status <> 'delivered')
       order by o.number limit 500),
     orders as (delete from shop.placed_order o using old where o.id = old.id),
     charges as (delete from shop.charge c using old where c.order_id = old.id),
     receipts as (delete from shop.receipt r using old where r.order_id = old.id),
     reviews as (delete from shop.review_asked a using old where a.order_id = old.id),
     mails as (delete from shop.provider_mail where at < now() - interval '2 hours' and requests = 1)
     update shop.sales s set orders = s.orders - gone.orders, cents = s.cents - gone.cents
     from (select item, count(*) as orders, sum(total_cents) as cents from old group by item) as gone where s.item = gone.item`,
    [keep],
  );
}
