import { randomBytes } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import { inTransaction } from '../engine/holdfast-queue.ts';
import { EFFECT_INSERT, effectLists, EFFECTS_INSERT, inBulks, type Order } from '../engine/queue.ts';
import { type Effects, nowMs } from './ours.ts';
import { BATCH, type BareMessage, type BarePublisher, type Side, TYPE } from './side.ts';

/** The tables of an outbox and an inbox as a team writes them that needs no more than these. */
export const TABLES = `create schema hand;
  create table hand.outbox (seq bigint generated always as identity primary key, id uuid not null, type text not null, key text,
    payload jsonb not null, created_at timestamptz not null default now(), published_at timestamptz);
  create index on hand.outbox (seq) where published_at is null;
  create table hand.inbox (id uuid primary key, source_id text, first_at timestamptz not null default clock_timestamp())`;

const FILL = `insert into hand.outbox (id, type, key, payload)
  select m.id, '${TYPE}', m.key, m.payload from json_to_recordset($1::text::json) as m (id uuid, key text, payload jsonb)`;

const TAKE = `select seq::text as seq, id, key, payload::text as payload from hand.outbox
  where published_at is null order by seq limit ${BATCH} for update skip locked`;

const NOTE = 'update hand.outbox set published_at = now() where seq = any ($1::bigint[])';

const REMEMBER = 'insert into hand.inbox (id) select * from unnest($1::uuid[]) on conflict do nothing returning id';

/** As many messages as are asked for, with ids as ours are: in the order of their making. */
export function bareMessages(orders: readonly Order[]): BareMessage[] {
  return orders.map((order) => ({ id: uuidV7(), key: order.orderId, payload: JSON.stringify(order) }));
}

export async function fillHandOutbox(pool: Pool, count: number): Promise<void> {
  await inBulks(count, (bulk) => {
    const rows = bareMessages(bulk).map(({ id, key, payload }) => ({
      id,
      key,
      payload: JSON.parse(payload) as unknown,
    }));
    return pool.query(FILL, [JSON.stringify(rows)]);
  });
}

/** Takes, publishes, notes and commits, a batch after the other; milliseconds from the first publication. */
export async function relayByHand(pool: Pool, publisher: BarePublisher, count: number): Promise<number> {
  let startedMs = 0;
  for (let left = count; left > 0;) {
    left -= await inTransaction(pool, async (tx) => {
      const { rows } = await tx.query<BareMessage & { readonly seq: string }>({ name: 'hand-take', text: TAKE });
      if (rows.length === 0) throw new Error(`${left} of ${count} are not in the outbox`);
      startedMs ||= nowMs();
      await publisher.publish(rows);
      await tx.query({ name: 'hand-note', text: NOTE, values: [rows.map(({ seq }) => seq)] });
      return rows.length;
    });
  }
  return nowMs() - startedMs;
}

/** Publishes so many messages that it has in memory; milliseconds. */
export async function publishBare(publisher: BarePublisher, messages: readonly BareMessage[]): Promise<number> {
  const startedMs = nowMs();
  for (let at = 0; at < messages.length; at += BATCH) await publisher.publish(messages.slice(at, at + BATCH));
  return nowMs() - startedMs;
}

/** For each batch one transaction that leaves out what was seen and makes the effects, then the acknowledgement. */
export async function consumeByHand(
  pool: Pool,
  side: Side,
  prefix: string,
  count: number,
  effects: Effects,
): Promise<number> {
  return consumeAll(side, prefix, count, (batch) =>
    inTransaction(pool, async (tx) => {
      const ids = batch.map(({ id }) => id);
      const { rows } = await tx.query<{ id: string }>({ name: 'hand-remember', text: REMEMBER, values: [ids] });
      const fresh = new Set(rows.map(({ id }) => id));
      const orders = batch.flatMap(({ id, payload }) => (fresh.has(id) ? [JSON.parse(payload) as Order] : []));
      await makeEffects(tx, orders, effects);
    }),
  );
}

async function makeEffects(tx: PoolClient, orders: readonly Order[], effects: Effects): Promise<void> {
  if (effects === 'many') await tx.query(EFFECTS_INSERT, effectLists(orders));
  else for (const { orderId, total } of orders) await tx.query(EFFECT_INSERT, [orderId, total]);
}

/** Acknowledges and does nothing else; milliseconds from the first arrival. */
export async function acknowledgeBare(side: Side, prefix: string, count: number): Promise<number> {
  let startedMs = 0;
  const endedMs = await consumeAll(side, prefix, count, async () => void (startedMs ||= nowMs()));
  return endedMs - startedMs;
}

/** Consumes until so many were taken; the time at which the last was. Its acknowledgement is under way then. */
async function consumeAll(
  side: Side,
  prefix: string,
  count: number,
  take: (batch: readonly BareMessage[]) => Promise<unknown>,
): Promise<number> {
  const all = Promise.withResolvers<void>();
  let left = count;
  const consumer = await side.consumer(prefix, async (batch) => {
    await take(batch).catch(all.reject);
    left -= batch.length;
    if (left <= 0) all.resolve();
  });
  await all.promise;
  const endedMs = nowMs();
  await consumer.stop();
  return endedMs;
}

function uuidV7(): string {
  const hex = Date.now().toString(16).padStart(12, '0') + randomBytes(10).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
}
