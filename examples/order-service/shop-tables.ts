import type { Pool } from 'pg';

/**
 * The shop's own tables. Neither `charge` nor `receipt` has a unique key on the order, on purpose: a second effect would not be
 * refused by the table, it would be seen.
 */
const STATEMENTS = `
  create schema if not exists shop;
  create table if not exists shop.placed_order (
    id uuid primary key,
    number int generated always as identity,
    item text not null,
    total_cents int not null,
    currency text not null,
    email text not null,
    message_id uuid,
    placed_at timestamptz not null default now());
  create index if not exists placed_order_number on shop.placed_order (number);
  create table if not exists shop.charge (
    order_id uuid not null, euro_cents int not null, at timestamptz not null default clock_timestamp());
  create index if not exists charge_order on shop.charge (order_id);
  create table if not exists shop.receipt (
    order_id uuid not null, email text not null, at timestamptz not null default clock_timestamp());
  create index if not exists receipt_order on shop.receipt (order_id);
  create table if not exists shop.sales (item text primary key, orders int not null, cents bigint not null);
  create table if not exists shop.rate (currency text primary key, euro numeric not null);
  insert into shop.rate values ('EUR', 1), ('USD', 0.92), ('GBP', 1.17) on conflict do nothing;
  -- What the mail provider, somebody else's service, has seen.
  create table if not exists shop.provider_mail (
    idempotency_key text primary key, email text not null, requests int not null default 1);
  alter table shop.provider_mail add column if not exists at timestamptz not null default now();
  -- Not by a person: forgotten after a while.
  alter table shop.placed_order add column if not exists is_traffic boolean not null default false;
`;

/** Makes what is missing. */
export async function createShopTables(pool: Pool): Promise<void> {
  await pool.query(STATEMENTS);
}
