import type { Effects } from '../kernel/effects.ts';
import type { Failure } from '../retry/failure.ts';
import {
  type BreakerSettings,
  type BreakerState,
  CLOSED,
  counted,
  followed,
  isOutage,
  isTripped,
  probeWaitMs,
} from './breaker.ts';
import { toDeliveryError } from './delivery-error.ts';
import type { RelayEvent } from './relay-event.ts';
import type { BreakerChange, BreakerSight, DeliveryError, RelaySession } from './relay-store.ts';

/** What a breaker needs from the work floor. */
export interface BreakerHost {
  readonly effects: Effects;
  readonly tell: (event: RelayEvent) => void;
  readonly session: Pick<RelaySession<never>, 'changeBreaker'>;
  workerId(): string;
  /** Starts one message behind this breaker, as its probe. False: there is none that could be started. */
  startProbe(gate: BreakerGate, epoch: number): boolean;
  /** Starts what may run. */
  pumpSoon(): void;
}

/** A run, as far as a breaker looks at it. `probe`: the epoch it was started as a probe in. */
interface BreakerRun {
  readonly probe: number | undefined;
  readonly startedMs: number;
}

// The message of a probe comes back a moment after the next is due: so another takes its turn where there is one, and a message that
// fails by itself does not keep a breaker open for the others.
const BEHIND_MS = 250;
// Held back without knowing for how long; it is not started before the breaker closes, whatever its time.
const HELD_MS = 1_000;
const LOST_MS = 1_000;

/**
 * One breaker in one process. Closed, it counts failures in memory and asks nobody. All other changes are the database's: what this
 * process could not write there does not hold here either.
 */
export class BreakerGate {
  readonly settings: BreakerSettings;
  /** The handlers of this process that it is for. */
  readonly lanes: Set<{ readonly handler: { readonly name: string }; readonly untried: number }> = new Set();
  readonly #host: BreakerHost;
  #state: BreakerState = CLOSED;
  /** As it was told last: what is assumed until the database answers is not. */
  #told: BreakerState = CLOSED;
  /** A change is on its way to the database. */
  #isCalling = false;
  /** What the probe of this process came to, while the database does not know. */
  #owed: BreakerChange | undefined;
  #timer: unknown;
  #isStopped = false;
  #succeededAtMs = -Infinity;
  /** Since when nothing has succeeded, by the monotonic clock. */
  #failingSinceMs: number | undefined;

  constructor(host: BreakerHost, settings: BreakerSettings) {
    this.#host = host;
    this.settings = settings;
    this.#tell('start');
  }

  /** Messages may be started. */
  get isClosed(): boolean {
    return this.#state.kind === 'closed';
  }

  /** There is a message that could be tried. Does so when it is time, if no other process does. */
  offer(): void {
    const state = this.#state;
    if (state.kind !== 'open' || this.#isCalling || this.#owed || this.#isStopped) return;
    const waitMs = state.probeAtMs - this.#host.effects.monoMs();
    if (waitMs > 0) return this.#offerLater(waitMs);
    const { name } = this.settings;
    void this.#change({ kind: 'claim', name, epoch: state.epoch }, () => {
      this.#state = { ...state, probeAtMs: this.#host.effects.monoMs() + LOST_MS };
    });
  }

  /** What the database says. */
  see(sight: BreakerSight): void {
    if (this.#isCalling || sight.epoch < this.#state.epoch) return;
    const owed = this.#owed;
    if (owed && sight.isMine && sight.epoch === owed.epoch) return this.#pay(owed);
    this.#owed = undefined;
    this.#follow(sight, 'elsewhere');
  }

  /** A run ended, and not by a failure. `undecided`: it says nothing about what its handler calls. */
  ended(run: BreakerRun, end: 'well' | 'undecided'): void {
    const epoch = this.#probeOf(run);
    if (epoch !== undefined) this.#probed(epoch, end);
    else if (end === 'well') this.#state = counted(this.#state, false, 0);
    if (end === 'well') this.#succeededAtMs = this.#host.effects.now().wallMs;
  }

  /** Epoch time at which a call was last known to have succeeded, here or through another process's probe. */
  get succeededAtMs(): number {
    return this.#succeededAtMs;
  }

  /** A run failed. For how long its message is held back while the breaker is not closed; undefined where its policy decides. */
  failed(run: BreakerRun, failure: Failure, thrown: unknown): number | undefined {
    const isDown = isOutage(failure);
    const epoch = this.#probeOf(run);
    if (epoch !== undefined && !isDown) this.#probed(epoch, 'well');
    else if (epoch !== undefined) this.#probeFailed(epoch, run, failure, thrown);
    else if (this.#state.kind === 'closed') {
      const nowMs = this.#host.effects.monoMs();
      this.#state = counted(this.#state, isDown, nowMs);
      if (isTripped(this.#state, this.settings, nowMs)) this.#open(failure, thrown);
    }
    return isDown && !this.isClosed ? this.#heldMs() : undefined;
  }

  stop(): void {
    this.#isStopped = true;
    this.#host.effects.clearTimer(this.#timer);
  }

  #probeOf({ probe }: BreakerRun): number | undefined {
    const state = this.#state;
    return state.kind === 'probing' && state.isMine && state.epoch === probe ? probe : undefined;
  }

  #heldMs(): number {
    if (this.#state.kind !== 'open' || this.#state.probeAtMs === Infinity) return HELD_MS;
    return Math.max(0, this.#state.probeAtMs - this.#host.effects.monoMs()) + BEHIND_MS;
  }

  #open(failure: Failure, thrown: unknown): void {
    const { hint } = failure;
    const error = toDeliveryError(thrown, failure);
    const { effects } = this.#host;
    const before = this.#state;
    if (before.kind === 'closed') this.#failingSinceMs = before.failingSinceMs;
    const probeInMs = probeWaitMs(this.settings, 0, effects.random(), { hintMs: hint?.afterMs });
    this.#state = { kind: 'open', epoch: before.epoch, probes: 0, probeAtMs: effects.monoMs() + probeInMs };
    const { name } = this.settings;
    void this.#change({ kind: 'open', name, epoch: before.epoch, probeInMs, error }, () => {
      // The database is away: nothing has changed, and the next failure tells it again.
      this.#state = before;
      this.#host.pumpSoon();
    });
  }

  #probed(epoch: number, end: 'well' | 'undecided'): void {
    const { name } = this.settings;
    this.#pay(
      end === 'well'
        ? { kind: 'close', name, epoch }
        : { kind: 'reopen', name, epoch, probeInMs: BEHIND_MS, error: undefined },
    );
  }

  #probeFailed(epoch: number, { startedMs }: BreakerRun, failure: Failure, thrown: unknown): void {
    const { effects } = this.#host;
    const { hint } = failure;
    const error = toDeliveryError(thrown, failure);
    const probes = this.#state.kind === 'probing' ? this.#state.probes + 1 : 1;
    // Counted from the start of the probe: one that ran into its time limit has waited already.
    const tookMs = effects.monoMs() - startedMs;
    const probeInMs = probeWaitMs(this.settings, probes, effects.random(), { hintMs: hint?.afterMs, tookMs });
    this.#state = { kind: 'open', epoch, probes, probeAtMs: effects.monoMs() + probeInMs };
    this.#pay({ kind: 'reopen', name: this.settings.name, epoch, probeInMs, error });
  }

  /** Writes what the probe came to; again with the next look-round, for as long as the database takes it to be under way. */
  #pay(change: BreakerChange): void {
    this.#owed = change;
    void this.#change(change, () => undefined);
  }

  async #change(change: BreakerChange, onFailure: () => void): Promise<void> {
    this.#isCalling = true;
    try {
      const answer = await this.#host.session.changeBreaker(this.#host.workerId(), change);
      this.#isCalling = false;
      this.#owed = undefined;
      if (!answer) return onFailure();
      this.#follow(
        answer.sight,
        !answer.isChanged ? 'elsewhere' : change.kind === 'open' ? 'failures' : 'probe',
        'error' in change ? change.error : undefined,
      );
    } catch (error) {
      this.#isCalling = false;
      if (!this.#isStopped) this.#host.tell({ kind: 'store-failed', during: 'breaker', error, failures: 1 });
      onFailure();
    }
  }

  #follow(sight: BreakerSight, cause: 'failures' | 'probe' | 'elsewhere', error?: DeliveryError): void {
    const before = this.#told;
    const { effects } = this.#host;
    this.#state = followed(this.#state, sight, effects.monoMs());
    const state = this.#state;
    // It is closed by a success, or by hand, which only time can tell apart.
    if (state.kind === 'closed' && before.kind !== 'closed') this.#succeededAtMs = effects.now().wallMs;
    if (state.kind !== before.kind || state.epoch !== before.epoch) this.#tell(cause, error);
    if (state.kind === 'probing' && state.isMine && before.epoch !== state.epoch) this.#begin(state.epoch);
    else if (state.kind !== 'probing') this.#host.pumpSoon();
  }

  #begin(epoch: number): void {
    if (this.#isStopped || !this.#host.startProbe(this, epoch)) this.#probed(epoch, 'undecided');
  }

  #offerLater(ms: number): void {
    this.#host.effects.clearTimer(this.#timer);
    if (ms < Infinity) this.#timer = this.#host.effects.setTimer(() => this.#host.pumpSoon(), Math.ceil(ms));
  }

  #tell(cause: Extract<RelayEvent, { kind: 'breaker' }>['cause'], error?: DeliveryError): void {
    const state = this.#state;
    const lanes = [...this.lanes];
    this.#told = state;
    const nowMs = this.#host.effects.monoMs();
    if (state.kind !== 'closed') this.#failingSinceMs ??= nowMs;
    const failingMs = this.#failingSinceMs === undefined ? 0 : nowMs - this.#failingSinceMs;
    if (state.kind === 'closed') this.#failingSinceMs = undefined;
    const probeInMs = state.kind === 'open' ? state.probeAtMs - this.#host.effects.monoMs() : Infinity;
    this.#host.tell({
      kind: 'breaker',
      breaker: this.settings.name,
      handlers: [...new Set(lanes.map(({ handler }) => handler.name))],
      waiting: lanes.reduce((sum, { untried }) => sum + untried, 0),
      failingMs: Math.round(failingMs),
      state: state.kind,
      cause,
      ...(probeInMs === Infinity ? {} : { probeInMs: Math.max(0, probeInMs) }),
      ...(error && { error }),
    });
  }
}
