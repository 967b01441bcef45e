import type { Holdfast } from 'holdfast';
import type { DurableCommands } from 'holdfast/commands';
import type { Idempotency } from 'holdfast/idempotency';
import type { Operator } from 'holdfast/operator';
import type { FactRecorder, SqlTransaction } from 'holdfast/postgres';
import { randomUUID } from 'node:crypto';
import type { Pool, PoolClient } from 'pg';
import type { MailProvider } from '../mail-provider.ts';
import { placeOrder } from '../place-order.ts';
import { customerOrder, itemNames } from './customers.ts';
import { forgetOrders } from './forget-orders.ts';
import type { LabelPrinter } from './parcel.ts';
import { PARCEL_STEPS, parcelStep } from './parcel.ts';
import { restock, reviewAsked, sellOut, stockTaken } from './stock.ts';

/** What the traffic is made with. */
export interface TrafficTools {
  readonly pool: Pool;
  readonly hf: Holdfast<PoolClient>;
  readonly operator: Operator;
  readonly commands: DurableCommands<PoolClient, SqlTransaction>;
  readonly idempotency: Pick<Idempotency<PoolClient>, 'once'>;
  readonly facts: FactRecorder;
  readonly mail: MailProvider;
  readonly printer: LabelPrinter;
  /** How many times shorter than real the waits are. */
  readonly speed: number;
}

const BEAT_MS = 1_000;
const RETRY_MS = 10_000;
/** When it goes slowly, there is an order only every so many beats. */
const SLOWER = 30;
/** What is open or failed: above the first it goes slowly, above the second not at all. Somebody may have paused a handler for the night. */
const MANY_OPEN = 300;
const TOO_MANY_OPEN = 1_000;
/** With so many dead letters there is enough to look at. */
const ENOUGH_DEAD = 12;
const KEPT_ORDERS = 2_000;
/** Norges Bank is late with its rate at times. */
const LATE_CURRENCY = 'NOK';
const LATE_RATE = 0.085;
const SCARCE = 'Storm lantern';
const REVIEW_AFTER_MS = 10 * 60_000;

/** When things happen, in beats; what happens again does so every `ROUND` beats. */
const ROUND = 300;
const BEATS = {
  lateOrders: [2, 4, 6, 8, 9],
  rateComes: 22,
  someReplayed: 26,
  soldOut: 10,
  scarceOrders: [12, 16, 20],
  restocked: 40,
  paperOut: 5,
  paperIn: 60,
  mailAway: 28,
  mailBack: 58,
} as const;

/**
 * Customers, and what goes wrong in a shop: a rate that comes late, an item that is sold out, a mail provider that is away, a printer
 * without paper. One beat a second; bounded, however long it runs.
 */
export class LiveTraffic {
  readonly #tools: TrafficTools;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #isStopped = false;
  #beat = 0;
  #open = 0;
  #dead = 0;

  constructor(tools: TrafficTools) {
    this.#tools = tools;
  }

  /** Begins at once; resolves when the shop is stocked. */
  async start(): Promise<void> {
    const { pool } = this.#tools;
    await Promise.all(itemNames().map((item) => restock(pool, item, 1_000)));
    await pool.query('delete from shop.rate where currency = $1', [LATE_CURRENCY]);
    this.#next(0);
  }

  /** Nothing more comes; resolves when what was begun has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #next(waitMs: number): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => {
      this.#running = this.#one().then((nextMs) => this.#next(nextMs));
    }, waitMs / this.#tools.speed);
  }

  /** One beat; answers how long until the next. */
  async #one(): Promise<number> {
    try {
      if (this.#beat % 5 === 0) await this.#look();
      this.#beat += 1;
      // What went wrong is mended in its time, however few orders come.
      await this.#trouble(this.#beat % ROUND);
      const isSlow = this.#open > MANY_OPEN;
      if (!isSlow || (this.#open < TOO_MANY_OPEN && this.#beat % SLOWER === 0)) await this.#order(this.#beat);
      if (this.#beat % 60 === 0) await forgetOrders(this.#tools.pool, KEPT_ORDERS);
      return BEAT_MS;
    } catch (error) {
      // The database is away, or the outbox is full: customers come back later.
      if (!this.#isStopped) console.error(`An order of the live traffic was not taken: ${(error as Error).message}`);
      return RETRY_MS;
    }
  }

  async #look(): Promise<void> {
    const { rows } = await this.#tools.pool.query<{ open: number; dead: number }>(
      `select (select count(*)::int from (select from holdfast.delivery limit ${TOO_MANY_OPEN + 1}) as listed) as open,
         (select count(*)::int from (select from holdfast.dead_letters where status = 'pending' limit 100) as listed) as dead`,
    );
    this.#open = rows[0]?.open ?? 0;
    this.#dead = rows[0]?.dead ?? 0;
  }

  async #order(n: number): Promise<void> {
    const { idempotency, facts } = this.#tools;
    const isLate = includes(BEATS.lateOrders, n % ROUND) && this.#dead < ENOUGH_DEAD;
    const order = { ...customerOrder(n), ...(isLate && { currency: LATE_CURRENCY }) };
    const requestId = `req-${randomUUID().slice(0, 8)}`;
    const began = performance.now();
    const place = async (): Promise<{ readonly orderId: string }> => {
      const placed = await placeOrder(this.#tools.pool, this.#tools.hf, order, { requestId, isTraffic: true });
      await this.#afterwards(n, { ...order, orderId: placed.order.orderId }, requestId);
      return { orderId: placed.order.orderId };
    };
    // Every fourth comes from an app that sends a key; some of its users press the button twice.
    if (n % 4 === 0) await idempotency.once(requestId, place);
    else await place();
    if (n % 12 === 0) await idempotency.once(requestId, place);
    const latencyMs = Math.round(performance.now() - began);
    facts.request({ operation: 'POST /orders', requestId, userId: order.email, httpStatus: 201, latencyMs });
  }

  /** What an order leads to besides its three handlers. */
  async #afterwards(
    n: number,
    order: { orderId: string; item: string; email: string },
    requestId: string,
  ): Promise<void> {
    const { hf, commands } = this.#tools;
    const { orderId, item, email } = order;
    const options = { correlationId: requestId };
    await this.#transaction(async (tx) => {
      if (n % 5 === 3) {
        const taken = { item, pieces: 1, orderId };
        const once = { ...options, idempotencyKey: `taken:${orderId}` };
        await hf.send(tx, stockTaken, taken, once);
        // Some things are scanned twice; they are booked once.
        if (n % 20 === 3) await hf.send(tx, stockTaken, taken, once);
      }
      if (n % 30 === 7) {
        const deliverAt = new Date(Date.now() + REVIEW_AFTER_MS);
        await hf.send(tx, reviewAsked, { orderId, email }, { ...options, deliverAt });
      }
      if (n % 15 !== 1) return;
      for (const step of PARCEL_STEPS)
        await commands.send(tx, parcelStep, { parcel: `parcel-${orderId.slice(0, 8)}`, step }, { requestId });
    });
  }

  /** What happens to the shop itself at this beat of the round. */
  async #trouble(beat: number): Promise<void> {
    const { pool, mail, printer } = this.#tools;
    const isCalm = this.#dead < ENOUGH_DEAD;
    if (includes(BEATS.scarceOrders, beat) && isCalm) await this.#takeScarce();
    switch (beat) {
      case BEATS.paperOut:
        // Once in a long while: a parcel that stands still is somebody's work.
        printer.hasPaper = !isCalm;
        return;
      case BEATS.paperIn:
        printer.hasPaper = true;
        return;
      case BEATS.soldOut:
        if (isCalm) await sellOut(pool, SCARCE);
        return;
      case BEATS.restocked:
        await restock(pool, SCARCE, 1_000);
        return;
      case BEATS.rateComes:
        await pool.query('insert into shop.rate values ($1, $2) on conflict do nothing', [LATE_CURRENCY, LATE_RATE]);
        return;
      case BEATS.someReplayed:
        return this.#replaySome();
      case BEATS.mailAway:
        mail.isAway = true;
        return;
      case BEATS.mailBack:
        mail.isAway = false;
        return;
      case 0:
        await pool.query('delete from shop.rate where currency = $1', [LATE_CURRENCY]);
    }
  }

  /** Takes what is sold out: the first becomes a dead letter, those after it wait behind it. */
  async #takeScarce(): Promise<void> {
    await this.#transaction((tx) =>
      this.#tools.hf.send(tx, stockTaken, { item: SCARCE, pieces: 2, orderId: randomUUID() }),
    );
  }

  /** What somebody of the shop does with a part of the dead letters, the first time: the rest is for whoever looks. */
  async #replaySome(): Promise<void> {
    if (this.#beat > ROUND) return;
    const { operator } = this.#tools;
    const by = { actor: 'night shift', reason: `the rate of ${LATE_CURRENCY} has come in` };
    const filter = { service: 'orders', handler: 'charge-card' };
    const { bulk } = await operator.planBulk({ verb: 'replay', filter, limit: 2, canary: 1 }, by);
    if (bulk.total > 0) await operator.startBulk(bulk.id, by);
  }

  async #transaction<T>(work: (tx: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#tools.pool.connect();
    let failure: Error | undefined;
    try {
      await client.query('begin');
      const answer = await work(client);
      await client.query('commit');
      return answer;
    } catch (error) {
      failure = error as Error;
      throw error;
    } finally {
      client.release(failure);
    }
  }
}

function includes(beats: readonly number[], beat: number): boolean {
  return beats.includes(beat);
}
