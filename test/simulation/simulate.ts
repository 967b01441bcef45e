import type { OnDead } from '../../src/relay/handler.ts';
import type { RelayEvent } from '../../src/relay/relay-event.ts';
import type { HouseReport } from '../../src/relay/house-report.ts';
import {
  type Fault,
  type FaultPoint,
  memoryStore,
  type MemorySession,
  type MemoryStore,
  type MemoryTransaction,
  virtualTime,
} from '../../src/testing/index.ts';
import { CommitCut } from '../../src/testing/memory-fault.ts';
import { Arrivals } from './arrivals.ts';
import { faultAt, type Temper, temperOf } from './chaos.ts';
import { deploy } from './deploy.ts';
import { type Effect, HANDLER_NAMES, type HandlerName, simulatedHandlers } from './handlers.ts';
import { violations } from './invariants.ts';
import { LedgerOfSends } from './ledger-of-sends.ts';
import { Operators, type Replay } from './operators.ts';
import { Poisons } from './poisons.ts';
import { SeededRandom } from './seeded-random.ts';
import { Senders } from './senders.ts';
import type { SimulationResult } from './simulation-result.ts';
import { type CutSession, SimWorker, type WorkerParts } from './sim-worker.ts';
import { SpinWatch } from './spin-watch.ts';
import { GENERATIONS, sometime, type Stage } from './stage.ts';
import { Starts } from './starts.ts';

type Worker = SimWorker<MemoryTransaction>;
type Handlers = ReturnType<WorkerParts<MemoryTransaction>['handlers']>;

/** Puts something between an engine and its store: what is broken on purpose. */
export type Sabotage = (
  session: MemorySession,
  store: MemoryStore,
  worker: { readonly generation: number | undefined },
) => CutSession<MemoryTransaction>;

export interface SimulationOptions {
  readonly sabotage?: Sabotage | undefined;
  /** The handlers as an engine takes them that is broken on purpose. */
  readonly changeHandlers?: ((handlers: Handlers) => Handlers) | undefined;
  /** Replays as a store does that is broken on purpose. */
  readonly replay?: ((store: MemoryStore, ...args: Parameters<Replay>) => boolean) | undefined;
  /** How rough the schedules are, as far as that is not drawn. */
  readonly temper?: Partial<Temper> | undefined;
  /** Is told everything that happens. */
  readonly trace?: ((line: string) => void) | undefined;
}

type Trouble = 'kill' | 'pause' | 'stop';

const WRITES: ReadonlySet<string> = new Set(['settle', 'mark', 'commit', 'acquire', 'release']);
const LEASE_MS = 1_500;
// No pause takes that long: a worker that lives is taken for dead because its connection is gone, or not at all.
const LONG_LEASE_MS = 10_000;
const SETTLE_MS = 120_000;
const STOP_MS = 30_000;
const UNITS = 3;
// Twice the housekeeper's round, and with it a lease until somebody else keeps house.
const HOUSE_MS = 10_500;

/** Runs one schedule to its end and looks at everything. The same seed gives the same schedule. */
export async function simulate(seed: number, options: SimulationOptions = {}): Promise<SimulationResult> {
  return new Simulation(seed, options).run();
}

class Simulation {
  readonly #seed: number;
  readonly #options: SimulationOptions;
  readonly #random: SeededRandom;
  readonly #faults: SeededRandom;
  readonly #stage: Stage;
  readonly #senders: Senders;
  readonly #operators: Operators;
  readonly #workers: Worker[] = [];
  readonly #ran: Effect[] = [];
  readonly #failed = new Map<string, number>();
  readonly #starts = new Starts();
  readonly #poisons: Poisons;
  readonly #onDead: Record<HandlerName, OnDead>;
  readonly #losses: SeededRandom;
  readonly #leaseMs: number;
  readonly #troubleAtWrite = new Map<number, Trouble>();
  readonly #counts = { refused: 0, takenOver: 0, timedOut: 0, unserved: 0, opened: 0, takenForDead: 0 };
  #house: HouseReport | undefined;
  #writes = 0;
  readonly #spins = new SpinWatch();
  #isCalm = false;
  #deaths = 0;

  constructor(seed: number, options: SimulationOptions) {
    this.#seed = seed;
    this.#options = options;
    const random = new SeededRandom(seed);
    this.#random = random;
    this.#faults = new SeededRandom(seed ^ 0x5bd1e995);
    this.#poisons = new Poisons(new SeededRandom(seed ^ 0x165667b1));
    const temper = { ...temperOf(random), ...options.temper };
    // With a chance of its own: the rest of a schedule stays as it is.
    this.#losses = new SeededRandom(seed ^ 0x165667b1);
    this.#leaseMs = this.#losses.chance(0.5) ? LONG_LEASE_MS : LEASE_MS;
    const time = virtualTime({ settled: () => new Promise((resolve) => setImmediate(resolve)) });
    const store = memoryStore({
      effects: time,
      units: UNITS,
      lateLimit: random.pick([1, 10_000]),
      inlineChars: random.pick([0, 32_768, 32_768]),
      fault: (point) => this.#fault(point),
    });
    const trace = (line: string): void => options.trace?.(`${time.monoMs().toFixed(0).padStart(6)}  ${line}`);
    const at = (ms: number, work: () => void): void => void time.setTimer(work, ms);
    this.#stage = { random, temper, time, store, sends: new LedgerOfSends(), problems: [], trace, at };
    this.#senders = new Senders(this.#stage);
    this.#operators = new Operators(this.#stage, (...args) =>
      options.replay ? options.replay(store, ...args) : store.operator.replay(...args),
    );
    const draw = (): OnDead => random.pick(['block', 'pass', 'park']);
    this.#onDead = { ledger: draw(), view: draw(), mail: draw() };
  }

  async run(): Promise<SimulationResult> {
    const { random, temper, time, store, sends, problems, at, trace } = this.#stage;
    trace(`temper ${JSON.stringify(temper)} onDead ${JSON.stringify(this.#onDead)}`);
    if (random.chance(0.8)) {
      this.#isCalm = true;
      await deploy(this.#stage);
      this.#isCalm = false;
    }
    for (let n = 0; n < temper.workers; n++) {
      const ms = random.int(0, 300);
      at(ms, () => this.#spawn());
      if (random.chance(0.2)) this.#senders.planAround(ms);
    }
    this.#senders.plan();
    this.#planTrouble();
    this.#planLosses();
    this.#operators.plan();
    // Last, and with a chance of its own: the rest of a schedule stays as it is.
    const arrivals = new Arrivals(this.#stage, new SeededRandom(this.#seed ^ 0x27d4eb2f), this.#session(undefined));
    this.#senders.planArrivals(arrivals);
    await time.advance(temper.chaosMs);
    await this.#calmDown();
    await this.#finish(arrivals);
    const generationOf = temper.isPinned
      ? (worker: number): number | undefined => this.#workers[worker - 1]?.generation
      : undefined;
    const about = {
      store,
      sends,
      ran: this.#ran,
      failed: this.#failed,
      starts: this.#starts,
      onDead: this.#onDead,
      deaths: this.#deaths,
    };
    return {
      seed: this.#seed,
      problems: [...problems, ...violations({ ...about, generationOf })],
      ...this.#counts,
      poisoned: this.#poisons.dead,
      reruns: [...sends.reruns.values()].reduce((sum, runs) => sum + runs, 0),
    };
  }

  #spawn(
    generation: number | undefined = this.#stage.temper.isPinned ? this.#random.pick(GENERATIONS) : undefined,
  ): void {
    const { temper, time, store, problems, trace } = this.#stage;
    const number = this.#workers.length + 1;
    const worker: Worker = new SimWorker({
      number,
      time,
      seed: this.#seed * 31 + number,
      generation,
      isPinned: temper.isPinned,
      openSession: () => this.#session(generation),
      leaseMs: this.#leaseMs,
      pollMs: 500,
      epochOf: (unit) => store.lease(unit)?.epoch,
      onWritten: ({ call, target, epochWhenAsked }) => {
        if (epochWhenAsked === target.token.epoch) return;
        problems.push(`${call} under an old token (unit ${target.token.unit}) changed seq ${target.seq}`);
      },
      onEvent: (event) => this.#observe(number, event),
      onSpin: () => void problems.push(`w${number} spins at ${time.monoMs()}`),
      handlers: (parts) => this.#handlers(parts),
    });
    this.#workers.push(worker);
    trace(`w${number} starts${generation === undefined ? '' : `, of generation ${generation}`}`);
    worker.start();
  }

  #handlers({ number, random, effects }: Worker): Handlers {
    const { temper, problems, trace } = this.#stage;
    const failed = (name: string): void => void this.#failed.set(name, (this.#failed.get(name) ?? 0) + 1);
    const handlers = simulatedHandlers<MemoryTransaction>({
      worker: number,
      effects,
      random,
      failing: () => (this.#isCalm ? 0 : temper.failing),
      slowMs: () => (this.#isCalm ? 30 : 2 * LEASE_MS),
      timeoutMs: temper.timeoutMs,
      hanging: () => (this.#isCalm ? 0 : temper.hanging),
      onDead: this.#onDead,
      record: async (tx, effect) => {
        tx.record(effect);
        if (this.#poisons.has(effect)) throw new CommitCut(false);
      },
      sendOn: (tx, from) => this.#senders.sendOn(tx, from),
      ran: (effect) => void this.#ran.push(effect),
      threw: (id, handler) => {
        failed(`${handler}/${id}`);
        trace(`w${number} throws ${handler}/${id}`);
      },
      timedOut: (id, handler, afterMs) => {
        this.#counts.timedOut += 1;
        failed(`${handler}/${id}`);
        trace(`w${number} is told that its time is up ${handler}/${id}`);
        if (afterMs < temper.timeoutMs) problems.push(`${handler}/${id} had ${afterMs} ms, not ${temper.timeoutMs}`);
      },
    });
    return this.#options.changeHandlers?.(handlers) ?? handlers;
  }

  #session(generation: number | undefined): CutSession<MemoryTransaction> {
    const { store } = this.#stage;
    const session = store.openSession();
    return this.#options.sabotage?.(session, store, { generation }) ?? session;
  }

  #observe(number: number, event: RelayEvent): void {
    this.#starts.observe(event);
    this.#poisons.observe(event);
    if (event.kind === 'run-refused') this.#counts.refused += 1;
    if (event.kind === 'units-lost' && event.why === 'buried' && this.#leaseMs === LONG_LEASE_MS)
      this.#counts.takenForDead += 1;
    if (event.kind === 'units-acquired') this.#counts.takenOver += event.orphaned;
    if (event.kind === 'breaker' && event.cause === 'failures') this.#counts.opened += 1;
    if (event.kind === 'run-failed' && event.next.kind === 'dead') this.#operators.died(event.delivery.id);
    if (event.kind === 'house') this.#house = event.report;
    if (!this.#options.trace) return;
    const { kind, ...rest } = event;
    const about = 'delivery' in rest ? `${rest.handler}/${rest.delivery.id} seq ${rest.delivery.seq}` : '';
    const more = JSON.stringify(rest, (key, value: unknown) =>
      key === 'delivery' || key === 'stack' ? undefined : value,
    );
    this.#stage.trace(`w${number} ${kind} ${about} ${more}`);
  }

  #fault(point: FaultPoint): Fault | undefined {
    const nowMs = this.#stage.time.monoMs();
    const spin = this.#spins.note(nowMs);
    if (spin === 'begins') this.#stage.problems.push(`session ${point.session} spins: ${point.call} at ${nowMs}`);
    if (spin !== undefined) return { end: 'hang' };
    if (this.#isCalm) return undefined;
    if (WRITES.has(point.call)) {
      const trouble = this.#troubleAtWrite.get(++this.#writes);
      const worker = this.#workers.find(({ isUsing }) => isUsing(point.session));
      if (trouble && worker) this.#trouble(worker, trouble, `${point.step} ${point.call}`);
    }
    const fault = faultAt(this.#faults, this.#stage.temper, point);
    if (fault) this.#stage.trace(`fault s${point.session} ${point.call} ${point.step} ${JSON.stringify(fault)}`);
    return fault;
  }

  /** Some of it comes at any time, some exactly between two steps of a write. */
  #planTrouble(): void {
    const { random, temper, time, at } = this.#stage;
    const { kills, pauses, stops } = temper;
    const troubles = [
      ...Array<Trouble>(kills).fill('kill'),
      ...Array<Trouble>(pauses).fill('pause'),
      ...Array<Trouble>(stops).fill('stop'),
    ];
    const alive = (): Worker | undefined => {
      const living = this.#workers.filter(({ gate }) => gate.isOpen);
      return living[random.int(0, living.length - 1)];
    };
    for (const trouble of troubles) {
      if (random.chance(0.7)) this.#troubleAtWrite.set(random.int(1, 12 * temper.messages), trouble);
      else at(sometime(this.#stage), () => this.#trouble(alive(), trouble, 'at any time'));
    }
    if (random.chance(0.3)) at(sometime(this.#stage), () => alive()?.skew(random.int(-10_000_000, 10_000_000)));
    if (random.chance(0.1)) at(sometime(this.#stage), () => time.jumpWall(random.int(0, 2 * LEASE_MS)));
  }

  /** Connections are lost: of a worker that goes on meanwhile, or of one that is silent and may be taken for dead. */
  #planLosses(): void {
    const { time, at, trace } = this.#stage;
    const random = this.#losses;
    for (let n = random.int(0, 4); n > 0; n--) {
      const backInMs = random.int(0, 6_000);
      const isSilent = random.chance(0.6);
      at(sometime({ ...this.#stage, random }), () => {
        const living = this.#workers.filter(({ gate }) => gate.isOpen);
        const worker = living[random.int(0, living.length - 1)];
        if (!worker) return;
        trace(`w${worker.number} loses its lock for ${backInMs} ms${isSilent ? ', and is silent' : ''}`);
        worker.loseLock(backInMs);
        if (!isSilent) return;
        worker.gate.close();
        time.setTimer(() => worker.gate.open(), backInMs);
      });
    }
  }

  #trouble(worker: Worker | undefined, trouble: Trouble, when: string): void {
    const { random, at, trace } = this.#stage;
    if (!worker?.gate.isOpen) return;
    // One that was asked to stop and whose goodbye was lost is taken for dead too.
    this.#deaths += 1;
    trace(`w${worker.number}: ${trouble} ${when}`);
    if (trouble === 'pause') {
      worker.gate.close();
      at(random.int(LEASE_MS / 10, 2 * LEASE_MS), () => {
        trace(`w${worker.number} goes on`);
        worker.gate.open();
      });
      return;
    }
    if (trouble === 'kill') worker.kill();
    else void worker.stop();
    // A deployment brings the next generation, a process that died is started again as it was.
    const next = worker.generation === undefined ? undefined : trouble === 'kill' ? worker.generation : GENERATIONS[1];
    if (random.chance(0.7)) at(random.int(0, 1_000), () => this.#spawn(next));
  }

  /** Nothing goes wrong any more; everybody who lives goes on. */
  async #calmDown(): Promise<void> {
    const { time, trace } = this.#stage;
    trace('calm');
    this.#isCalm = true;
    this.#operators.resumeAll();
    // Every sender ends, everybody who was stopped goes on.
    await time.advance(1_001);
    for (const { gate } of this.#workers) gate.open();
    const missing = this.#missing();
    await this.#lookForUnserved(missing);
    for (const generation of missing) this.#spawn(generation);
  }

  /** The generations without a worker. */
  #missing(): readonly (number | undefined)[] {
    const wanted = this.#stage.temper.isPinned ? GENERATIONS : [undefined];
    const isServed = (wantedOne: number | undefined): boolean =>
      this.#workers.some(({ isWorking, generation }) => isWorking && generation === wantedOne);
    return wanted.filter((generation) => !isServed(generation));
  }

  /** What waits for a generation without a worker is told of by those of the other one. */
  async #lookForUnserved(missing: readonly (number | undefined)[]): Promise<void> {
    const { store, time, problems } = this.#stage;
    const [generation] = missing;
    if (generation === undefined || missing.length === GENERATIONS.length) return;
    const waiting = (): number =>
      store.deliveries().filter((row) => row.generation === generation && row.state !== 'failed').length;
    if (waiting() === 0) return;
    this.#house = undefined;
    await time.advance(HOUSE_MS + this.#leaseMs);
    const told = (this.#house as HouseReport | undefined)?.unserved ?? [];
    const count = told.reduce((sum, one) => sum + (one.generation === generation ? one.count : 0), 0);
    if (count !== waiting()) problems.push(`${waiting()} wait for generation ${generation}, ${count} are told of`);
    this.#counts.unserved += count;
  }

  /** Lets everything come to its end, replaying dead letters, and stops. */
  async #finish(arrivals: Arrivals): Promise<void> {
    const { store, time, problems, trace } = this.#stage;
    const untilMs = time.monoMs() + SETTLE_MS;
    while ((store.deliveries().length > 0 || !arrivals.areAnswered) && time.monoMs() < untilMs) {
      await time.advance(250);
      this.#operators.clear();
    }
    const working = this.#workers.filter(({ isWorking }) => isWorking);
    trace('stop');
    for (const worker of working) void worker.stop();
    const stopping = (): readonly Worker[] => this.#workers.filter(({ isStopping }) => isStopping);
    for (let passed = 0; stopping().length > 0 && passed < STOP_MS; passed += 100) await time.advance(100);
    for (const { number } of stopping()) problems.push(`w${number} did not stop`);
    const ids = new Set(working.map(({ workerId }) => workerId));
    for (let unit = -1; unit < (2 * HANDLER_NAMES.length + 1) * UNITS; unit++) {
      const owner = store.lease(unit)?.owner;
      if (owner !== undefined && ids.has(owner)) problems.push(`unit ${unit} was not given back`);
    }
  }
}
