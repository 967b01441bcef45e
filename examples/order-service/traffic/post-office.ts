import type { RunningRelay } from 'holdfast';
import { startDeliveries } from 'holdfast/delivery';
import { postgres, type PostgresDelivery, postgresDelivery } from 'holdfast/postgres';
import type { Pool } from 'pg';
import { AWAY, Partners } from './partners.ts';

/** What the shop tells others is kept as long as its other traffic. */
interface PostOfficeOptions {
  readonly pool: Pool;
  readonly keptMs: number;
  /** How many times shorter than real the waits are. */
  readonly speed: number;
}

const BEAT_MS = 1_000;
const RETRY_MS = 10_000;
/** With so many dead or waiting there is enough to look at. */
const ENOUGH = 4;
const BY = { actor: 'order service', reason: 'it begins' };
/** For this example alone; a real one is in the environment, and random. */
const SECRET = 'the order service keeps nothing that is worth a secret';

type Delivery = Parameters<PostgresDelivery['publishing']['publish']>[0][number]['delivery'];

/**
 * What the shop tells others over HTTP: webhooks to registered endpoints, a queue, a limited partner, schedules, one that is away and one
 * that never takes anything. One beat a second; bounded, however long it runs.
 */
export class PostOffice {
  readonly deliveries: PostgresDelivery;
  readonly #options: PostOfficeOptions;
  readonly #partners = new Partners();
  #sending: RunningRelay | undefined;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #isStopped = false;
  #beat = 0;

  constructor(options: PostOfficeOptions) {
    this.#options = options;
    const { pool, keptMs } = options;
    this.deliveries = postgresDelivery({ pool, secret: SECRET, keepLogMs: keptMs });
  }

  /** Resolves when all is registered and deliveries are made. */
  async start(): Promise<void> {
    const { pool, keptMs } = this.#options;
    await this.#partners.start();
    this.#sending = await startDeliveries({
      store: postgres({ pool }),
      sender: this.deliveries.sender,
      schedules: this.deliveries.schedules,
      // Everything here is on this machine; without it only public addresses are called.
      addresses: { loopback: true },
      historyMs: keptMs,
      concurrency: 16,
    });
    await this.#register();
    this.#next(0);
  }

  /** Nothing more is sent; resolves when what was begun has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#running;
    await this.#sending?.stop();
    await this.#partners.stop();
  }

  #next(waitMs: number): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => {
      this.#running = this.#one().then((nextMs) => this.#next(nextMs));
    }, waitMs / this.#options.speed);
  }

  async #one(): Promise<number> {
    try {
      this.#beat += 1;
      await this.#send(this.#beat);
      return BEAT_MS;
    } catch (error) {
      // The database is away, or the outbox is full: it is told later.
      if (!this.#isStopped) console.error(`Something was not told to the partners: ${(error as Error).message}`);
      return RETRY_MS;
    }
  }

  async #send(n: number): Promise<void> {
    const { endpoints } = this.deliveries;
    const { url } = this.#partners;
    const order = { order: `ord-${n}`, total: 20 + (n % 7) * 5 };
    if (n % 3 === 0) await endpoints.send({ type: n % 6 === 0 ? 'order.placed' : 'order.shipped', data: order });
    if (n % 10 === 0) await endpoints.send({ type: 'invoice.issued', data: order });
    if (n % 4 === 1) await this.#publish(`${url}/crm/customers`, { labels: ['crm'], body: JSON.stringify(order) });
    if (n % 5 === 2) await this.#publish(`${url}/printer`, { queue: 'labels', body: JSON.stringify(order) });
    if (n % 6 === 3) await this.#publish(`${url}/exchange`, { flowKey: 'exchange', labels: ['rates'] });
    if (n % 8 === 5) await this.#publishCard(url, order);
    if ((n < 8 || n % 15 === 6) && (await this.#waitingAt(`${AWAY}/pickup`)) < ENOUGH + 2) {
      await this.#publish(`${AWAY}/pickup`, { labels: ['carrier'], retries: 50, retryDelay: '60000' });
    }
    if (n % 20 === 7 && (await this.#deadAt(`${url}/returns`)) < ENOUGH) {
      await this.#publish(`${url}/returns`, { labels: ['returns'], body: JSON.stringify(order), retries: 0 });
    }
  }

  async #publish(to: string, delivery: Partial<Delivery>): Promise<void> {
    const headers = { 'Content-Type': ['application/json'] };
    const whole: Delivery = { method: 'POST', retries: 5, retryDelay: '2000 * (retried + 1)', headers, ...delivery };
    const flow = { parallelism: 2, rate: 20, periodMs: 60_000 };
    const limits = delivery.flowKey === undefined ? {} : { flow };
    await this.deliveries.publishing.publish([{ to: { kind: 'url', url: to }, delivery: whole, ...limits }]);
  }

  /** The number of a card is delivered, and shown to nobody. */
  async #publishCard(url: string, order: object): Promise<void> {
    await this.#publish(`${url}/bank/charges`, {
      labels: ['bank'],
      headers: { 'Content-Type': ['application/json'], 'X-Card-Token': ['tok_4242'] },
      body: JSON.stringify({ ...order, card: '4242 4242 4242 4242' }),
      hidden: { body: true, headers: ['x-card-token'] },
    });
  }

  async #waitingAt(url: string): Promise<number> {
    return (await this.deliveries.messages.list({ url, state: 'waiting' }, { limit: ENOUGH + 2 })).items.length;
  }

  async #deadAt(url: string): Promise<number> {
    return (await this.deliveries.dead.list({ url }, { limit: ENOUGH })).items.length;
  }

  /** What is there already stays; where the partners are may have changed. */
  async #register(): Promise<void> {
    const { url } = this.#partners;
    await this.#registerEndpoints(url);
    const { queues, urlGroups, schedules } = this.deliveries;
    await queues.upsert('labels', { parallelism: 2 });
    await urlGroups.addEndpoints('branches', [
      { name: 'harbour', url: `${url}/branches/harbour` },
      { name: 'old town', url: `${url}/branches/old-town` },
    ]);
    const delivery: Delivery = { method: 'POST', retries: 3, headers: {} };
    const report = { kind: 'url', url: `${url}/reports/stock` } as const;
    const branches = { kind: 'group', name: 'branches' } as const;
    await schedules.put({ scheduleId: 'stock-report', cron: '* * * * *', to: report, delivery });
    const nightly = 'CRON_TZ=Europe/Berlin 30 2 * * *';
    await schedules.put({ scheduleId: 'nightly-close', cron: nightly, to: branches, delivery });
    await schedules.put({ scheduleId: 'weekly-letter', cron: '0 8 * * 1', to: branches, delivery });
    await schedules.pause('weekly-letter');
  }

  async #registerEndpoints(url: string): Promise<void> {
    const { endpoints } = this.deliveries;
    const known = await endpoints.list();
    const wanted = [
      { url: `${url}/warehouse/hooks`, description: 'Warehouse', eventTypes: ['order.*'] },
      { url: `${url}/crm/hooks`, description: 'Bookkeeping', eventTypes: ['invoice.*'], retrySeconds: [2, 5, 30, 300] },
      { url: `${url}/old-shop/hooks`, description: 'The shop before this one', eventTypes: ['order.shipped'] },
    ];
    for (const input of wanted) {
      const before = known.find(({ description }) => description === input.description);
      if (before === undefined) await endpoints.create(input, BY);
      else if (before.url !== input.url) await endpoints.update(before.id, { url: input.url }, BY);
    }
  }
}
