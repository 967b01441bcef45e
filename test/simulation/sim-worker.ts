import type { Effects } from '../../src/kernel/effects.ts';
import type { HandlerDefinition } from '../../src/relay/handler.ts';
import type { RelayEvent } from '../../src/relay/relay-event.ts';
import type { RelaySession } from '../../src/relay/relay-store.ts';
import { type RunningRelay, startRelay } from '../../src/relay/relay.ts';
import { Gate } from './gate.ts';
import { gatedSession, type OnWritten } from './gated-session.ts';
import { SeededRandom } from './seeded-random.ts';

const MANY_TIMERS = 2_000;

/** A session that can end as that of a killed process does. */
export type CutSession<Tx> = RelaySession<Tx> & {
  readonly number: number;
  cut(): void;
  loseLock?(backInMs: number): void;
};

/** What a simulated process is made of. */
export interface WorkerParts<Tx> {
  readonly number: number;
  readonly time: Effects;
  readonly seed: number;
  readonly generation: number | undefined;
  readonly isPinned: boolean;
  /** Opens a connection; `cut` ends it as a killed process would. */
  readonly openSession: () => CutSession<Tx> | Promise<CutSession<Tx>>;
  readonly leaseMs: number;
  readonly pollMs: number;
  readonly handlers: (worker: SimWorker<Tx>) => ReadonlyMap<string, HandlerDefinition<Tx>>;
  readonly epochOf: (unit: number) => number | undefined;
  readonly onWritten: OnWritten;
  readonly onEvent: (event: RelayEvent) => void;
  /** It sets timers for now again and again. */
  readonly onSpin: () => void;
}

/** One process of a simulation: an engine behind a gate, with clocks of its own. */
export class SimWorker<Tx> {
  readonly number: number;
  readonly generation: number | undefined;
  readonly gate: Gate = new Gate();
  readonly random: SeededRandom;
  readonly effects: Effects;
  readonly #parts: WorkerParts<Tx>;
  #session: CutSession<Tx> | undefined;
  #skewMs = 0;
  #timersMs = 0;
  #timersNow = 0;
  #relay: RunningRelay | undefined;
  #started: Promise<void> | undefined;
  #ending: Promise<void> | undefined;
  #hasStopped = false;

  constructor(parts: WorkerParts<Tx>) {
    this.#parts = parts;
    this.number = parts.number;
    this.generation = parts.generation;
    this.random = new SeededRandom(parts.seed);
    const { time } = parts;
    this.effects = {
      now: () => ({ wallMs: time.now().wallMs + this.#skewMs, monoMs: time.monoMs() }),
      monoMs: () => time.monoMs(),
      random: () => this.random.next(),
      // One that spins is stopped, so that the schedule comes to an end and can be looked at.
      setTimer: (wake, ms) => (this.#isSpinning() ? undefined : time.setTimer(() => this.gate.run(wake), ms)),
      clearTimer: (timer) => time.clearTimer(timer),
    };
  }

  /** Joins; a start that fails is tried again, as whoever runs processes does. */
  start(): void {
    this.#started ??= this.#start();
  }

  async #start(): Promise<void> {
    const { handlers, epochOf, onWritten, onEvent, number, openSession, leaseMs, pollMs } = this.#parts;
    const { generation, isPinned } = this.#parts;
    while (!this.#relay) {
      try {
        this.#session = await openSession();
        this.#relay = await startRelay({
          session: gatedSession(this.#session, this.gate, { epochOf, onWritten }),
          effects: this.effects,
          handlers: handlers(this),
          worker: { name: `w${number}`, service: 'simulation', generation },
          isPinned,
          tell: onEvent,
          subscriptions: ({ takes }) => [...takes.keys()],
          mirrors: [],
          wrapRun: undefined,
          leaseMs,
          pollMs,
          keep: { historyMs: 86_400_000, maxPending: undefined },
        });
      } catch {
        await new Promise<void>((resolve) => void this.effects.setTimer(resolve, 100));
      }
    }
  }

  /** Thousands of timers without any time passing. */
  #isSpinning(): boolean {
    const nowMs = this.#parts.time.monoMs();
    this.#timersNow = nowMs === this.#timersMs ? this.#timersNow + 1 : 0;
    this.#timersMs = nowMs;
    if (this.#timersNow === MANY_TIMERS) this.#parts.onSpin();
    return this.#timersNow >= MANY_TIMERS;
  }

  /** Whether it is on this connection. */
  readonly isUsing = (session: number): boolean => this.#session?.number === session;

  /** It takes part: it lives, and was not asked to stop. */
  get isWorking(): boolean {
    return !this.gate.isDead && !this.#ending;
  }

  /** It was asked to stop, lives, and has not stopped yet. */
  get isStopping(): boolean {
    return !this.gate.isDead && this.#ending !== undefined && !this.#hasStopped;
  }

  get workerId(): string | undefined {
    return this.#relay?.workerId;
  }

  /** The process ends without a word. */
  kill(): void {
    this.gate.kill();
    this.#session?.cut();
  }

  /** It lives, and the server ends the connection that says so. */
  loseLock(backInMs: number): void {
    this.#session?.loseLock?.(backInMs);
  }

  /** Somebody sets its wall clock. */
  skew(ms: number): void {
    this.#skewMs += ms;
  }

  /** Asks it to stop. The dead have. */
  async stop(): Promise<void> {
    if (this.gate.isDead) return;
    this.#ending ??= this.#stop();
    await this.#ending;
  }

  async #stop(): Promise<void> {
    await this.#started;
    await this.#relay?.stop({ drainMs: 2_000 });
    this.#hasStopped = true;
  }
}
