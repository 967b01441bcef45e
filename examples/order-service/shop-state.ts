import type { postgresOperator } from 'holdfast/postgres';
import type { Pool } from 'pg';
import { HANDLERS, MAX_ATTEMPTS } from './handlers.ts';
import type { RunningNow } from './running-now.ts';

/** Where one handler stands with one order. */
export interface HandlerState {
  readonly name: (typeof HANDLERS)[number];
  readonly status: 'queued' | 'running' | 'waiting' | 'failed' | 'delivered' | 'discarded';
  /** The attempt under way, or how many have ended. */
  readonly attempt: number;
  readonly maxAttempts: number;
  /** Until the next attempt, at the time of this answer. */
  readonly dueInMs?: number;
  /** The last error, also of what succeeded later. */
  readonly error?: string;
  /** Why it is not done and what to do about it. */
  readonly why?: string;
  /** For the buttons of a dead letter. */
  readonly deadLetterId?: string;
  /** How often it was replayed. */
  readonly replays: number;
}

/** One order with its message. */
export interface OrderState {
  readonly id: string;
  readonly number: number;
  readonly item: string;
  readonly total: number;
  readonly currency: string;
  readonly email: string;
  readonly placedAt: string;
  readonly messageId: string;
  readonly handlers: readonly HandlerState[];
}

/** How often things happened, over all orders. The promise is that the first four become equal and the rest stay 0. */
export interface Totals {
  readonly orders: number;
  readonly counted: number;
  readonly charged: number;
  readonly receipts: number;
  /** Orders with more than one charge or receipt. */
  readonly twice: number;
  /** Requests for a mail that the provider had sent already: second effects that did not happen. */
  readonly repeatedMails: number;
  readonly deadLetters: number;
  readonly discarded: number;
}

/** All that the page shows. */
export interface ShopState {
  readonly totals: Totals;
  /** The handler knows what the poison orders' currency is worth. */
  readonly isFixed: boolean;
  readonly orders: readonly OrderState[];
}

/** ISO 4217 keeps this code for tests: no bank has a rate for it. */
const POISON_CURRENCY = 'XTS';

type Operator = Pick<ReturnType<typeof postgresOperator>, 'show' | 'why'>;
type Delivery = Extract<Awaited<ReturnType<Operator['show']>>, { kind: 'found' }>['message']['deliveries'][number];

const SHOWN = 30;
const FINAL: readonly string[] = ['delivered', 'discarded'];

interface OrderRow {
  readonly id: string;
  readonly number: number;
  readonly item: string;
  readonly total_cents: number;
  readonly currency: string;
  readonly email: string;
  readonly placed_at: Date;
  readonly message_id: string;
}

/** What is known of a message, as of its `mark`. */
interface Known {
  readonly mark: string;
  readonly deliveries: readonly Delivery[];
  /** Why a delivery is not done, by its id. */
  readonly sentences: ReadonlyMap<string, string>;
}

/** Reads what the page shows. Only messages that changed since the last time are read in full. */
export class ShopReader {
  readonly #pool: Pool;
  readonly #operator: Operator;
  readonly #running: RunningNow;
  #known: ReadonlyMap<string, Known> = new Map();

  constructor(pool: Pool, operator: Operator, running: RunningNow) {
    this.#pool = pool;
    this.#operator = operator;
    this.#running = running;
  }

  async read(): Promise<ShopState> {
    // At once, so that what the page says in sum and in the list is of one moment.
    const [orders, totals, isFixed] = await Promise.all([this.#orders(), this.#totals(), this.#isFixed()]);
    return { totals, isFixed, orders };
  }

  async #orders(): Promise<readonly OrderState[]> {
    const { rows } = await this.#pool.query<OrderRow>(
      `select id, number, item, total_cents, currency, email, placed_at, message_id
       from shop.placed_order order by number desc limit ${SHOWN}`,
    );
    const ids = rows.map((row) => row.message_id);
    const marks = await this.#marks(ids);
    const known = await Promise.all(ids.map(async (id) => [id, await this.#know(id, marks.get(id) ?? '')] as const));
    this.#known = new Map(known);
    return rows.map((row) => this.#order(row));
  }

  /** What changes whenever a message does. */
  async #marks(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const { rows } = await this.#pool.query<{ event_id: string; mark: string }>(
      `select event_id, json_agg(json_build_array(projector, status, attempt, cycle) order by projector)::text as mark
       from holdfast.run_log where event_id = any ($1) group by event_id`,
      [ids],
    );
    return new Map(rows.map(({ event_id, mark }) => [event_id, mark]));
  }

  async #know(id: string, mark: string): Promise<Known> {
    const before = this.#known.get(id);
    if (before?.mark === mark) return before;
    const found = await this.#operator.show(id);
    if (found.kind !== 'found') return { mark, deliveries: [], sentences: new Map() };
    const { deliveries } = found.message;
    const why = deliveries.some(({ status }) => status === 'failed') ? await this.#operator.why(id) : undefined;
    const sentences = why?.kind === 'why' ? why.deliveries.map((one) => [one.id, one.sentence] as const) : [];
    return { mark, deliveries, sentences: new Map(sentences) };
  }

  #order(row: OrderRow): OrderState {
    const { id, number, item, currency, email } = row;
    const known = this.#known.get(row.message_id);
    return {
      id,
      number,
      item,
      currency,
      email,
      total: row.total_cents / 100,
      placedAt: row.placed_at.toISOString(),
      messageId: row.message_id,
      handlers: HANDLERS.map((name) => {
        const delivery = known?.deliveries.find((one) => one.handler === name);
        // The history is kept for a week only; what is gone from it was done.
        if (delivery === undefined) return stateOf(name, 'delivered', 1);
        return this.#handler(name, row.message_id, delivery, known?.sentences.get(delivery.id));
      }),
    };
  }

  #handler(name: HandlerState['name'], messageId: string, delivery: Delivery, why: string | undefined): HandlerState {
    const running = FINAL.includes(delivery.status) ? undefined : this.#running.attemptOf(messageId, name);
    const error = (delivery.error ?? delivery.failureHistory.at(-1)?.error)?.message;
    const { status, attempts, dueAt } = delivery;
    const shown = status === 'ready' ? 'queued' : status === 'cancelled' ? 'discarded' : status;
    return {
      ...stateOf(name, running === undefined ? shown : 'running', running ?? attempts),
      ...(dueAt !== undefined && running === undefined && { dueInMs: Math.max(0, dueAt.getTime() - Date.now()) }),
      ...(error !== undefined && { error }),
      ...(status === 'failed' && { deadLetterId: delivery.id, ...(why !== undefined && { why }) }),
      replays: delivery.cycle,
    };
  }

  async #totals(): Promise<Totals> {
    const { rows } = await this.#pool.query<Record<keyof Totals, string>>(
      `select
        (select count(*) from shop.placed_order) as orders,
        (select coalesce(sum(orders), 0) from shop.sales) as counted,
        (select count(*) from shop.charge) as charged,
        (select count(*) from shop.receipt) as receipts,
        (select count(*) from (select order_id from shop.charge group by order_id having count(*) > 1) as doubled)
          + (select count(*) from (select order_id from shop.receipt group by order_id having count(*) > 1) as doubled)
          as twice,
        (select coalesce(sum(requests - 1), 0) from shop.provider_mail) as "repeatedMails",
        (select count(*) from holdfast.dead_letters where status = 'pending') as "deadLetters",
        (select count(*) from holdfast.dead_letters where status = 'discarded') as discarded`,
    );
    const numbers = Object.entries(rows[0] ?? {}).map(([name, value]) => [name, Number(value)]);
    return Object.fromEntries(numbers) as Totals;
  }

  async #isFixed(): Promise<boolean> {
    const { rowCount } = await this.#pool.query('select from shop.rate where currency = $1', [POISON_CURRENCY]);
    return rowCount === 1;
  }
}

function stateOf(name: HandlerState['name'], status: HandlerState['status'], attempt: number): HandlerState {
  return { name, status, attempt, maxAttempts: MAX_ATTEMPTS[name], replays: 0 };
}
