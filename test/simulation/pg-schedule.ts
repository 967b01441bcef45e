import type { NewMessage } from '../../src/outbox/outbox-store.ts';
import { postgres } from '../../src/postgres/index.ts';
import { sqlRunner, type SqlTransaction } from '../../src/postgres/sql-runner.ts';
import type { OnDead } from '../../src/relay/handler.ts';
import { systemEffects } from '../../src/system/effects.ts';
import { draftMessage } from '../../src/testing/draft-message.ts';
import {
  type Effect,
  firstPayload,
  type HandlerName,
  NOTED,
  PAID,
  PLACED,
  REPEATABLE,
  simulatedHandlers,
} from './handlers.ts';
import { violations } from './invariants.ts';
import { Poisons } from './poisons.ts';
import { Starts } from './starts.ts';
import { LedgerOfSends, type SentMessage } from './ledger-of-sends.ts';
import type { PgDesk } from './pg-desk.ts';
import { seededId } from './seeded-id.ts';
import { SeededRandom } from './seeded-random.ts';
import { SimWorker } from './sim-worker.ts';
import { GENERATIONS } from './stage.ts';

const LEASE_MS = 300;
const SETTLE_MS = 60_000;

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** What one schedule on a real server came to. */
export interface PgResult {
  readonly seed: number;
  readonly problems: readonly string[];
  /** Statements that went wrong on purpose. */
  readonly faults: number;
}

/** One schedule on a real server: two workers, some senders, a kill or a pause, and faults between any two statements. */
export class PgSchedule {
  readonly #seed: number;
  readonly #desk: PgDesk;
  readonly #random: SeededRandom;
  readonly #sends = new LedgerOfSends();
  readonly #workers: SimWorker<SqlTransaction>[] = [];
  readonly #ran: Effect[] = [];
  readonly #failed = new Map<string, number>();
  readonly #starts = new Starts();
  readonly #poisons: Poisons;
  readonly #problems: string[] = [];
  readonly #onDead: Record<HandlerName, OnDead>;
  readonly #rate: number;
  readonly #failing: number;
  readonly #timeoutMs: number;
  readonly #isPinned: boolean;
  #drafts = 0;
  #faults = 0;
  #isCalm = false;
  #deaths = 0;

  constructor(seed: number, desk: PgDesk) {
    this.#seed = seed;
    this.#desk = desk;
    this.#random = new SeededRandom(seed);
    this.#poisons = new Poisons(new SeededRandom(seed ^ 0x165667b1));
    this.#rate = this.#random.pick([0.01, 0.03, 0.08]);
    this.#failing = this.#random.pick([0, 0.1, 0.3]);
    this.#timeoutMs = this.#random.pick([Infinity, Infinity, 120]);
    this.#isPinned = this.#random.chance(0.25);
    const draw = (): OnDead => this.#random.pick(['block', 'pass', 'park']);
    this.#onDead = { ledger: draw(), view: draw(), mail: draw() };
  }

  async run(): Promise<PgResult> {
    const random = this.#random;
    await this.#desk.clear(this.#isPinned);
    this.#spawn();
    this.#spawn();
    const chaosMs = random.int(150, 500);
    const senders = Array.from({ length: random.int(4, 8) }, () =>
      this.#send(random.int(0, chaosMs), random.int(0, 80)),
    );
    if (random.chance(0.7)) void this.#trouble(random.int(0, chaosMs));
    await Promise.all(senders);
    if (random.chance(0.4)) await this.#rerun();
    this.#isCalm = true;
    for (const { gate } of this.#workers) gate.open();
    for (const generation of this.#isPinned ? GENERATIONS : [undefined]) {
      const isServed = this.#workers.some((worker) => worker.isWorking && worker.generation === generation);
      if (!isServed) this.#spawn(generation);
    }
    await this.#finish();
    const generationOf = this.#isPinned
      ? (n: number): number | undefined => this.#workers[n - 1]?.generation
      : undefined;
    const end = {
      store: await this.#desk.endStore(),
      sends: this.#sends,
      ran: this.#ran,
      failed: this.#failed,
      starts: this.#starts,
      onDead: this.#onDead,
      deaths: this.#deaths,
      generationOf,
    };
    return { seed: this.#seed, problems: [...this.#problems, ...violations(end)], faults: this.#faults };
  }

  #spawn(generation: number | undefined = this.#isPinned ? this.#random.pick(GENERATIONS) : undefined): void {
    const number = this.#workers.length + 1;
    const random = new SeededRandom(this.#seed * 7 + number);
    const worker: SimWorker<SqlTransaction> = new SimWorker({
      number,
      time: systemEffects,
      seed: this.#seed * 31 + number,
      generation,
      isPinned: this.#isPinned,
      leaseMs: LEASE_MS,
      pollMs: 100,
      openSession: () =>
        this.#desk.openSession({
          random,
          rate: () => (this.#isCalm ? 0 : this.#rate),
          onFault: () => void (this.#faults += 1),
        }),
      epochOf: () => undefined,
      onWritten: () => undefined,
      onSpin: () => void this.#problems.push(`w${number} spins`),
      onEvent: (event) => {
        this.#starts.observe(event);
        this.#poisons.observe(event);
      },
      handlers: (parts) => this.#handlers(parts),
    });
    this.#workers.push(worker);
    worker.start();
  }

  #handlers({
    number,
    random,
    effects,
  }: SimWorker<SqlTransaction>): ReturnType<typeof simulatedHandlers<SqlTransaction>> {
    const failed = (name: string): void => void this.#failed.set(name, (this.#failed.get(name) ?? 0) + 1);
    return simulatedHandlers<SqlTransaction>({
      worker: number,
      effects,
      random,
      failing: () => (this.#isCalm ? 0 : this.#failing),
      slowMs: () => (this.#isCalm ? 10 : LEASE_MS),
      timeoutMs: this.#timeoutMs,
      hanging: () => (this.#isCalm || this.#timeoutMs === Infinity ? 0 : 0.05),
      onDead: this.#onDead,
      record: (tx, effect) => this.#record(tx, effect),
      sendOn: (tx, from) => this.#sendOn(tx, from),
      ran: (effect) => void this.#ran.push(effect),
      threw: (id, handler) => failed(`${handler}/${id}`),
      timedOut: (id, handler) => failed(`${handler}/${id}`),
    });
  }

  async #record(tx: SqlTransaction, { id, handler, version, worker, key }: Effect): Promise<void> {
    const text = `insert into ${this.#desk.schema}.effect (id, handler, version, worker, key)
      values ($1::text, $2::text, $3::text::int, $4::text::int, $5::text)`;
    await sqlRunner(tx).query(text, [id, handler, version, worker, key]);
    if (this.#poisons.has({ handler, id })) await sqlRunner(tx).query('select pg_terminate_backend(pg_backend_pid())');
  }

  /** Sends in a transaction that ends some time later. */
  async #send(afterMs: number, openMs: number): Promise<void> {
    const random = this.#random;
    const messages = Array.from({ length: random.int(1, 2) }, () => this.#draft({}));
    const isKept = !random.chance(0.1);
    await wait(afterMs);
    const client = await this.#desk.admin.connect();
    try {
      await client.query('begin');
      const sent = messages.map((message) => this.#sent(message, false));
      await postgres({ schema: this.#desk.schema }).append(client, messages);
      await wait(openMs);
      await client.query(isKept ? 'commit' : 'rollback');
      if (isKept) this.#sends.committed(sent);
    } finally {
      client.release();
    }
  }

  async #sendOn(tx: SqlTransaction, { key, generation }: Pick<NewMessage, 'key' | 'generation'>): Promise<void> {
    const message = this.#draft({ type: NOTED, key, generation });
    this.#sent(message, true);
    await postgres({ schema: this.#desk.schema }).append(tx, [message]);
  }

  #sent({ id, type, key, generation }: NewMessage, isFollowUp: boolean): SentMessage {
    return this.#sends.sent({ id, type, key, generation, isFollowUp, isScheduled: false });
  }

  async #rerun(): Promise<void> {
    const done = await this.#desk.rerun(this.#random);
    if (!done) return;
    this.#sends.rerun(done.handler, done.id);
    if (!REPEATABLE.has(done.handler)) this.#problems.push(`${done.handler}/${done.id} was repeated`);
  }

  #draft(about: Partial<NewMessage>): NewMessage {
    const random = this.#random;
    const [type, key] = [random.pick([PLACED, PAID]), random.pick(['a', 'b'])];
    const generation = this.#isPinned ? random.pick(GENERATIONS) : undefined;
    const id = seededId(random, (this.#drafts += 1));
    return draftMessage({ id, type, key, generation, payload: firstPayload(id), ...about });
  }

  async #trouble(afterMs: number): Promise<void> {
    const kind = this.#random.pick(['kill', 'kill', 'pause', 'pause', 'stop']);
    const pauseMs = this.#random.int(50, 2 * LEASE_MS);
    await wait(afterMs);
    const worker = this.#workers[0];
    if (!worker || this.#isCalm) return;
    this.#deaths += 1;
    if (kind === 'kill') worker.kill();
    else if (kind === 'stop') await worker.stop();
    else {
      worker.gate.close();
      await wait(pauseMs);
      worker.gate.open();
    }
  }

  async #finish(): Promise<void> {
    const untilMs = systemEffects.monoMs() + SETTLE_MS;
    while ((await this.#desk.openCount()) > 0 && systemEffects.monoMs() < untilMs) {
      await this.#replayAll();
      await wait(20);
    }
    await Promise.all(this.#workers.map((worker) => worker.stop()));
    // What a handler sent on is known by its commit: it is there, or it is not.
    const { rows } = await this.#desk.admin.query<{ id: string }>(
      `select id::text as id from ${this.#desk.schema}.delivered`,
    );
    const there = new Set(rows.map(({ id }) => id));
    const followUps = [...this.#sends.messages.values()].filter(({ isFollowUp, id }) => isFollowUp && there.has(id));
    this.#sends.committed(followUps);
  }

  async #replayAll(): Promise<void> {
    const generation = this.#isPinned && this.#random.chance(0.3) ? this.#random.pick(GENERATIONS) : undefined;
    const replayed = await this.#desk.replayAll(generation);
    if (generation !== undefined) for (const { id, handler } of replayed) this.#sends.moved(handler, id, generation);
  }
}
