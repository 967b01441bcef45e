import type { NewMessage } from '../../src/outbox/outbox-store.ts';
import type { OnDead } from '../../src/relay/handler.ts';
import type { RelayEvent } from '../../src/relay/relay-event.ts';
import {
  type Fault,
  type FaultPoint,
  memoryStore,
  type MemorySession,
  type MemoryStore,
  type MemoryTransaction,
  virtualTime,
  type VirtualTime,
} from '../../src/testing/index.ts';
import { faultAt, type Temper, temperOf } from './chaos.ts';
import {
  type Effect,
  HANDLER_NAMES,
  type HandlerName,
  NOTED,
  PAID,
  PLACED,
  simulatedHandlers,
  TYPES,
} from './handlers.ts';
import { draftMessage } from './draft-message.ts';
import { violations } from './invariants.ts';
import { LedgerOfSends, type SentMessage } from './ledger-of-sends.ts';
import { SeededRandom } from './seeded-random.ts';
import { type CutSession, SimWorker } from './sim-worker.ts';

/** Puts something between an engine and its store: what is broken on purpose. */
export type Sabotage = (session: MemorySession, store: MemoryStore) => CutSession<MemoryTransaction>;

export interface SimulationOptions {
  readonly sabotage?: Sabotage | undefined;
  /** Is told everything that happens. */
  readonly trace?: ((line: string) => void) | undefined;
}

/** What one schedule came to. */
export interface SimulationResult {
  readonly seed: number;
  readonly problems: readonly string[];
  readonly refused: number;
  readonly takenOver: number;
}

type Trouble = 'kill' | 'pause';

const WRITES: ReadonlySet<string> = new Set(['settle', 'mark', 'commit', 'acquire', 'release']);
const LEASE_MS = 1_500;
const SETTLE_MS = 120_000;
const STOP_MS = 30_000;
const UNITS = 3;
const MANY_CALLS = 5_000;

/** Runs one schedule to its end and looks at everything. The same seed gives the same schedule. */
export async function simulate(seed: number, options: SimulationOptions = {}): Promise<SimulationResult> {
  return new Simulation(seed, options).run();
}

class Simulation {
  readonly #seed: number;
  readonly #options: SimulationOptions;
  readonly #random: SeededRandom;
  readonly #faults: SeededRandom;
  readonly #temper: Temper;
  readonly #time: VirtualTime;
  readonly #store: MemoryStore;
  readonly #sends = new LedgerOfSends();
  readonly #workers: SimWorker<MemoryTransaction>[] = [];
  readonly #ran: Effect[] = [];
  readonly #threw = new Map<string, number>();
  readonly #problems: string[] = [];
  readonly #onDead: Record<HandlerName, OnDead>;
  #drafts = 0;
  readonly #troubleAtWrite = new Map<number, Trouble>();
  #writes = 0;
  #callsMs = 0;
  #callsNow = 0;
  #isCalm = false;
  /** What is sent before its handlers are known has no order with what is sent after. */
  #isDeployed = false;
  #deaths = 0;
  #refused = 0;
  #takenOver = 0;

  constructor(seed: number, options: SimulationOptions) {
    this.#seed = seed;
    this.#options = options;
    this.#random = new SeededRandom(seed);
    this.#faults = new SeededRandom(seed ^ 0x5bd1e995);
    this.#temper = temperOf(this.#random);
    this.#time = virtualTime({ settled: () => new Promise((resolve) => setImmediate(resolve)) });
    this.#store = memoryStore({
      effects: this.#time,
      units: UNITS,
      lateLimit: this.#random.pick([1, 10_000]),
      inlineChars: this.#random.pick([0, 32_768, 32_768]),
      fault: (point) => this.#fault(point),
    });
    const draw = (): OnDead => this.#random.pick(['block', 'pass', 'park']);
    this.#onDead = { ledger: draw(), view: draw(), mail: draw() };
  }

  async run(): Promise<SimulationResult> {
    const random = this.#random;
    this.#trace(`temper ${JSON.stringify(this.#temper)} onDead ${JSON.stringify(this.#onDead)}`);
    if (random.chance(0.8)) await this.#deploy();
    for (let n = 0; n < this.#temper.workers; n++) this.#at(random.int(0, 300), () => this.#spawn());
    this.#planSends();
    this.#planTrouble();
    for (let n = 0; n < this.#temper.verbs; n++) this.#at(this.#sometime(), () => this.#verb());
    await this.#time.advance(this.#temper.chaosMs);
    await this.#calmDown();
    await this.#finish();
    const about = { store: this.#store, sends: this.#sends, ran: this.#ran, threw: this.#threw };
    const end = { ...about, onDead: this.#onDead, deaths: this.#deaths };
    const problems = [...this.#problems, ...violations(end)];
    return { seed: this.#seed, problems, refused: this.#refused, takenOver: this.#takenOver };
  }

  #trace(line: string): void {
    this.#options.trace?.(`${this.#time.monoMs().toFixed(0).padStart(6)}  ${line}`);
  }

  #at(ms: number, work: () => void): void {
    this.#time.setTimer(work, ms);
  }

  #sometime(): number {
    return this.#random.int(0, this.#temper.chaosMs - 1);
  }

  /** Handlers are known before the first message, as after the first deployment. */
  async #deploy(): Promise<void> {
    const session = this.#store.openSession();
    const id = 'deployment';
    const handlers = HANDLER_NAMES.map((name) => ({ name, types: TYPES[name], isPinned: false, isRepeatable: false }));
    this.#isCalm = true;
    await session.register({ id, name: id, service: 'simulation', generation: undefined, handlers, leaseMs: 1 });
    await session.leave(id);
    this.#isCalm = false;
    this.#isDeployed = true;
  }

  #spawn(): void {
    const number = this.#workers.length + 1;
    const worker: SimWorker<MemoryTransaction> = new SimWorker({
      number,
      time: this.#time,
      seed: this.#seed * 31 + number,
      openSession: () => this.#session(),
      leaseMs: LEASE_MS,
      pollMs: 500,
      epochOf: (unit) => this.#store.lease(unit)?.epoch,
      onWritten: ({ call, target, epochWhenAsked }) => {
        if (epochWhenAsked === target.token.epoch) return;
        this.#problems.push(`${call} under an old token (unit ${target.token.unit}) changed seq ${target.seq}`);
      },
      onEvent: (event) => this.#observe(number, event),
      onSpin: () => void this.#problems.push(`w${number} spins at ${this.#time.monoMs()}`),
      handlers: ({ random, effects }) =>
        simulatedHandlers<MemoryTransaction>({
          worker: number,
          effects,
          random,
          failing: () => (this.#isCalm ? 0 : this.#temper.failing),
          slowMs: () => (this.#isCalm ? 30 : 2 * LEASE_MS),
          onDead: this.#onDead,
          record: async (tx, effect) => tx.record(effect),
          sendOn: (tx, from) => this.#sendOn(tx, from),
          ran: (effect) => void this.#ran.push(effect),
          threw: (id, handler) => {
            this.#threw.set(`${handler}/${id}`, (this.#threw.get(`${handler}/${id}`) ?? 0) + 1);
            this.#trace(`w${number} throws ${handler}/${id}`);
          },
        }),
    });
    this.#workers.push(worker);
    this.#trace(`w${number} starts`);
    worker.start();
  }

  #session(): CutSession<MemoryTransaction> {
    const session = this.#store.openSession();
    return this.#options.sabotage?.(session, this.#store) ?? session;
  }

  #observe(number: number, event: RelayEvent): void {
    if (event.kind === 'run-refused') this.#refused += 1;
    if (event.kind === 'units-acquired') {
      this.#takenOver += event.orphaned;
      this.#isDeployed = true;
    }
    if (!this.#options.trace) return;
    const { kind, ...rest } = event;
    const about = 'delivery' in rest ? `${rest.handler}/${rest.delivery.id} seq ${rest.delivery.seq}` : '';
    const more = JSON.stringify(rest, (key, value: unknown) =>
      key === 'delivery' || key === 'stack' ? undefined : value,
    );
    this.#trace(`w${number} ${kind} ${about} ${more}`);
  }

  #planSends(): void {
    const random = this.#random;
    for (let n = random.int(0, 3); n > 0; n--) this.#planCrossing();
    for (let left = this.#temper.messages; left > 0;) {
      const count = Math.min(left, random.pick([1, 1, 1, 2, 3]));
      left -= count;
      const isSlow = random.chance(0.3);
      const beginMs = this.#sometime();
      const sendMs = beginMs + (random.chance(0.5) ? 0 : random.int(0, isSlow ? 200 : 5));
      const endMs = sendMs + (random.chance(0.3) ? 0 : random.int(0, isSlow ? 800 : 10));
      const isKept = !random.chance(0.1);
      this.#planSend({ beginMs, sendMs, endMs, isKept, messages: Array.from({ length: count }, () => this.#draft()) });
    }
  }

  /** The older transaction takes its place in line after the newer one, and is committed before it. */
  #planCrossing(): void {
    const at = this.#sometime();
    const key = this.#random.pick(['a', 'b', 'c']);
    const draft = (): NewMessage[] => [this.#draft({ key, deliverAt: undefined })];
    const lateMs = this.#random.int(4, 100);
    const older = { beginMs: at, sendMs: at + 2, endMs: at + 3 };
    const newer = { beginMs: at + 1, sendMs: at + 1, endMs: at + lateMs };
    this.#planSend({ ...older, isKept: true, messages: draft() }, true);
    this.#planSend({ ...newer, isKept: true, messages: draft() });
  }

  #planSend(
    plan: { beginMs: number; sendMs: number; endMs: number; isKept: boolean; messages: NewMessage[] },
    idNow = this.#random.chance(0.5),
  ): void {
    this.#at(plan.beginMs, () => {
      const tx = this.#store.begin({ idNow });
      const sent: SentMessage[] = [];
      this.#at(plan.sendMs - plan.beginMs, () => {
        for (const message of plan.messages) sent.push(this.#sent(message, false));
        void this.#store.append(tx, plan.messages);
        this.#at(plan.endMs - plan.sendMs, () => {
          this.#trace(`tx ${tx.id} ${plan.isKept ? 'commits' : 'rolls back'} ${sent.map(({ id }) => id).join(' ')}`);
          if (!plan.isKept) return tx.rollback();
          tx.commit();
          this.#sends.committed(sent);
        });
      });
    });
  }

  #draft(about: Partial<NewMessage> = {}): NewMessage {
    const random = this.#random;
    const isScheduled = random.chance(0.08);
    const deliverAt = isScheduled ? new Date(this.#time.now().wallMs + random.int(0, 6_000)) : undefined;
    const key = random.chance(0.1) ? undefined : random.pick(['a', 'b', 'c']);
    const type = random.pick([PLACED, PLACED, PAID]);
    return draftMessage(random, (this.#drafts += 1), { type, key, deliverAt, ...about });
  }

  #sent(message: NewMessage, isFollowUp: boolean): SentMessage {
    const { id, type, key, deliverAt } = message;
    this.#trace(`sends ${type} ${id} key ${key}${deliverAt ? ' scheduled' : ''}`);
    return this.#sends.sent({
      id,
      type,
      key,
      isFollowUp,
      isScheduled: deliverAt !== undefined,
      hasOrder: this.#isDeployed,
    });
  }

  async #sendOn(tx: MemoryTransaction, { key }: { key: string | undefined }): Promise<void> {
    const message = this.#draft({ type: NOTED, key, deliverAt: undefined });
    const sent = this.#sent(message, true);
    tx.onCommit(() => this.#sends.committed([sent]));
    await this.#store.append(tx, [message]);
  }

  #fault(point: FaultPoint): Fault | undefined {
    if (this.#isSpinning(point)) return { end: 'hang' };
    if (this.#isCalm) return undefined;
    if (WRITES.has(point.call)) {
      const trouble = this.#troubleAtWrite.get(++this.#writes);
      const worker = this.#workers.find(({ isUsing }) => isUsing(point.session));
      if (trouble && worker) this.#trouble(worker, trouble, `${point.step} ${point.call}`);
    }
    const fault = faultAt(this.#faults, this.#temper, point);
    if (fault) this.#trace(`fault s${point.session} ${point.call} ${point.step} ${JSON.stringify(fault)}`);
    return fault;
  }

  /** Thousands of calls without any time passing: an engine that asks again and again without a pause. */
  #isSpinning({ session, call }: FaultPoint): boolean {
    const nowMs = this.#time.monoMs();
    this.#callsNow = nowMs === this.#callsMs ? this.#callsNow + 1 : 0;
    this.#callsMs = nowMs;
    if (this.#callsNow === MANY_CALLS) this.#problems.push(`session ${session} spins: ${call} at ${nowMs}`);
    return this.#callsNow >= MANY_CALLS;
  }

  /** Some of it comes at any time, some exactly between two steps of a write. */
  #planTrouble(): void {
    const random = this.#random;
    const { kills, pauses } = this.#temper;
    const troubles = [...Array<Trouble>(kills).fill('kill'), ...Array<Trouble>(pauses).fill('pause')];
    const alive = (): SimWorker<MemoryTransaction> | undefined => {
      const living = this.#workers.filter(({ gate }) => gate.isOpen);
      return living[random.int(0, living.length - 1)];
    };
    for (const trouble of troubles) {
      if (random.chance(0.7)) this.#troubleAtWrite.set(random.int(1, 12 * this.#temper.messages), trouble);
      else this.#at(this.#sometime(), () => this.#trouble(alive(), trouble, 'at any time'));
    }
    if (random.chance(0.3)) this.#at(this.#sometime(), () => alive()?.skew(random.int(-10_000_000, 10_000_000)));
    if (random.chance(0.1)) this.#at(this.#sometime(), () => this.#time.jumpWall(random.int(0, 2 * LEASE_MS)));
  }

  #trouble(worker: SimWorker<MemoryTransaction> | undefined, trouble: Trouble, when: string): void {
    if (!worker?.gate.isOpen) return;
    this.#deaths += 1;
    if (trouble === 'kill') {
      this.#trace(`w${worker.number} is killed ${when}`);
      worker.kill();
      if (this.#random.chance(0.7)) this.#at(this.#random.int(0, 1_000), () => this.#spawn());
      return;
    }
    this.#trace(`w${worker.number} is stopped ${when}`);
    worker.gate.close();
    this.#at(this.#random.int(LEASE_MS / 10, 2 * LEASE_MS), () => {
      this.#trace(`w${worker.number} goes on`);
      worker.gate.open();
    });
  }

  #verb(): void {
    const random = this.#random;
    const { operator } = this.#store;
    const rows = this.#store.deliveries();
    const dead = this.#store.deadLetters();
    const kind = random.pick(['replay', 'replay', 'discard', 'edit', 'edit', 'cancel', 'pause', 'resume']);
    const row = kind === 'replay' ? dead[random.int(0, dead.length - 1)] : rows[random.int(0, rows.length - 1)];
    const handler = random.pick(HANDLER_NAMES);
    this.#trace(`operator: ${kind} ${row?.handler ?? handler}/${row?.id}`);
    if (kind === 'pause') operator.pause(random.chance(0.8) ? handler : undefined);
    if (kind === 'resume') this.#resumeAll();
    if (!row?.handler) return;
    if (kind === 'replay') operator.replay(row.id, row.handler);
    if (kind === 'discard') operator.discard(row.id, row.handler);
    if (kind === 'edit') operator.edit(row.id, { version: row.version + 1 });
    if (kind === 'cancel') operator.cancel(row.id);
  }

  #resumeAll(): void {
    for (const name of HANDLER_NAMES) this.#store.operator.resume(name);
    this.#store.operator.resume();
  }

  /** Nothing goes wrong any more; everybody who lives goes on. */
  async #calmDown(): Promise<void> {
    this.#trace('calm');
    this.#isCalm = true;
    this.#resumeAll();
    // Every sender ends, everybody who was stopped goes on.
    await this.#time.advance(1_001);
    for (const { gate } of this.#workers) gate.open();
    if (this.#workers.every(({ gate }) => gate.isDead)) this.#spawn();
  }

  /** Lets everything come to its end, replaying dead letters, and stops. */
  async #finish(): Promise<void> {
    const untilMs = this.#time.monoMs() + SETTLE_MS;
    while (this.#store.deliveries().length > 0 && this.#time.monoMs() < untilMs) {
      await this.#time.advance(250);
      for (const { id, handler } of this.#store.deadLetters()) {
        if (handler === undefined || !this.#random.chance(0.5)) continue;
        const isReplayed = this.#random.chance(0.8);
        this.#trace(`operator at the end: ${isReplayed ? 'replay' : 'discard'} ${handler}/${id}`);
        if (isReplayed) this.#store.operator.replay(id, handler);
        else this.#store.operator.discard(id, handler);
      }
    }
    const living = this.#workers.filter(({ gate }) => !gate.isDead);
    this.#trace('stop');
    let running = living.length;
    for (const worker of living) void worker.stop().then(() => (running -= 1));
    for (let passed = 0; running > 0 && passed < STOP_MS; passed += 100) await this.#time.advance(100);
    if (running > 0) this.#problems.push(`${running} workers did not stop`);
    const ids = new Set(living.map(({ workerId }) => workerId));
    for (let unit = -1; unit < (HANDLER_NAMES.length + 1) * UNITS; unit++) {
      const owner = this.#store.lease(unit)?.owner;
      if (owner !== undefined && ids.has(owner)) this.#problems.push(`unit ${unit} was not given back`);
    }
  }
}
