import type { Effects } from '../kernel/effects.ts';
import {
  type BreakerSettings,
  type BreakerState,
  CLOSED,
  followed,
  type ProbeSettings,
  probeWaitMs,
} from '../relay/breaker.ts';
import { begunAnew, FIRST_WIDTH, grown, halved, type WidthState } from './destination-width.ts';
import type { DestinationSight, SenderStore } from './sender-store.ts';

/** What a gate needs. */
export interface GateHost {
  readonly effects: Effects;
  readonly store: Pick<SenderStore, 'changeDestination'>;
  readonly settings: ProbeSettings & Pick<BreakerSettings, 'failures'>;
  /** More may be started. */
  changed(destination: string): void;
  /** The database did not take a change of a breaker. */
  storeFailed(error: unknown): void;
}

/** A delivery that may go on; `probe`: as the one that is tried, and the epoch of it. */
export interface GatePass {
  readonly kind: 'go';
  readonly messageId: string;
  readonly probe: number | undefined;
}

/** Not now. */
export interface GateWait {
  readonly kind: 'wait';
  readonly delayMs: number;
}

/** What a delivery said about its destination. */
export type GateEnd =
  | { readonly kind: 'well' }
  | {
      /** It is away, or asks to be left alone. */ readonly kind: 'down';
      readonly error: string;
      readonly askedMs?: number | undefined;
    }
  | { /** Nothing: it was given up, or never went out. */ readonly kind: 'undecided' };

// Longer than the attempt itself may take: its result has to be written too.
const PROBE_MARGIN_MS = 10_000;
// A message that waits comes back a moment after the next is tried, and looks again from time to time, in case it is over by then.
const BEHIND_MS = 250;
const MAX_WAIT_MS = 30_000;
const PROBING_MS = 1_000;
const HELD_MS = 5_000;
const STORE_AWAY_MS = 1_000;

/**
 * One destination in one process: whether it is called, and how many times at once. Closed, it counts failures in memory and asks nobody.
 * All other changes are the database's, so that of all processes one tries one message.
 */
export class DestinationGate {
  readonly destination: string;
  readonly #host: GateHost;
  #state: BreakerState = CLOSED;
  /** Messages that failed one after the other: one that fails by itself is no outage of its destination, which has other addresses. */
  readonly #failing = new Set<string>();
  #width: WidthState = FIRST_WIDTH;
  /** While another process tries: when it is taken to be lost. */
  #lapsesAtMs = Infinity;
  #isCalling = false;
  #timer: unknown;
  /** Deliveries on their way. */
  active = 0;
  /** Raised by each change from here, so that what was read before it is told from news. */
  changes = 0;

  constructor(host: GateHost, destination: string) {
    this.#host = host;
    this.destination = destination;
  }

  get isClosed(): boolean {
    return this.#state.kind === 'closed';
  }

  /** Nothing would be lost with it. */
  get isForgettable(): boolean {
    return this.#state.kind === 'closed' && this.#failing.size === 0 && this.active === 0 && !this.#isCalling;
  }

  get width(): number {
    if (this.isClosed) return Math.floor(this.#width.width);
    return this.#isDue() || (this.#state.kind === 'probing' && this.#state.isMine) ? 1 : 0;
  }

  /** Asks to send one message that may take so long. */
  async enter(messageId: string, timeoutMs: number): Promise<GatePass | GateWait> {
    if (this.isClosed) return this.#go(messageId, undefined);
    if (!this.#isDue() || this.#isCalling) return this.#wait();
    const { destination } = this;
    const { epoch } = this.#state;
    const change = { destination, epoch, to: 'probing', probeInMs: Math.ceil(timeoutMs + PROBE_MARGIN_MS) } as const;
    const isMine = await this.#change(change);
    if (!isMine) return this.isClosed ? this.#go(messageId, undefined) : this.#wait();
    return this.#go(messageId, this.#state.epoch);
  }

  /** It is over. */
  leave(pass: GatePass, end: GateEnd): void {
    this.active -= 1;
    const state = this.#state;
    const isProbe = state.kind === 'probing' && state.isMine && state.epoch === pass.probe;
    if (isProbe) return this.#probed(state.epoch, state.probes, end);
    if (end.kind === 'undecided') return;
    if (end.kind === 'down') this.#failing.add(pass.messageId);
    else this.#failing.clear();
    const before = Math.floor(this.#width.width);
    this.#width = end.kind === 'down' ? halved(this.#width) : grown(this.#width);
    const isTripped = state.kind === 'closed' && this.#failing.size >= this.#host.settings.failures;
    if (end.kind === 'down' && isTripped) this.#open(end);
    else if (Math.floor(this.#width.width) > before) this.#host.changed(this.destination);
  }

  /** What the database says. */
  see(sight: DestinationSight): void {
    if (!this.#isCalling && sight.epoch >= this.#state.epoch) this.#follow(sight, false);
  }

  /** The database knows nothing of it any more: it is closed. */
  seeNothing(): void {
    const { epoch } = this.#state;
    this.see({ destination: this.destination, state: 'closed', isHeld: false, epoch, probes: 0 });
  }

  stop(): void {
    this.#host.effects.clearTimer(this.#timer);
  }

  #go(messageId: string, probe: number | undefined): GatePass {
    this.active += 1;
    return { kind: 'go', messageId, probe };
  }

  #wait(): GateWait {
    // One is being tried: most are answered, well or not, long before they are taken to be lost.
    if (this.#state.kind === 'probing' && !this.#isDue()) return { kind: 'wait', delayMs: PROBING_MS };
    const untilMs = this.#untilMs();
    const delayMs = untilMs === Infinity ? HELD_MS : Math.min(MAX_WAIT_MS, Math.max(0, untilMs) + BEHIND_MS);
    return { kind: 'wait', delayMs };
  }

  /** How long until somebody may try. */
  #untilMs(): number {
    const state = this.#state;
    const atMs = state.kind === 'open' ? state.probeAtMs : state.kind === 'probing' ? this.#lapsesAtMs : -Infinity;
    return atMs - this.#host.effects.monoMs();
  }

  #isDue(): boolean {
    const state = this.#state;
    if (state.kind === 'closed' || (state.kind === 'probing' && state.isMine)) return false;
    return this.#untilMs() <= 0;
  }

  #open({ error, askedMs }: Extract<GateEnd, { kind: 'down' }>): void {
    const { effects, settings } = this.#host;
    const before = this.#state;
    const probeInMs = probeWaitMs(settings, 0, effects.random(), { hintMs: askedMs });
    this.#state = { kind: 'open', epoch: before.epoch, probes: 0, probeAtMs: effects.monoMs() + probeInMs };
    const change = { destination: this.destination, epoch: before.epoch, to: 'open', probeInMs, error } as const;
    void this.#change(change, () => {
      // The database is away: nothing has changed, and the next failure tells it again.
      this.#state = before;
      this.#host.changed(this.destination);
    });
  }

  #probed(epoch: number, probes: number, end: GateEnd): void {
    const { destination } = this;
    const { effects, settings } = this.#host;
    if (end.kind === 'well') return void this.#change({ destination, epoch, to: 'closed' });
    const asked = end.kind === 'down' ? end.askedMs : undefined;
    const waitMs = probeWaitMs(settings, probes + 1, effects.random(), { hintMs: asked });
    const probeInMs = end.kind === 'down' ? waitMs : BEHIND_MS;
    const error = end.kind === 'down' ? end.error : undefined;
    this.#state = { kind: 'open', epoch, probes: probes + 1, probeAtMs: effects.monoMs() + probeInMs };
    void this.#change({ destination, epoch, to: 'open', probeInMs, error });
  }

  /** True when this process made the change. What cannot be written is as the database has it: a try that was lost lapses there. */
  async #change(
    change: Parameters<SenderStore['changeDestination']>[0],
    onFailure: () => void = () => undefined,
  ): Promise<boolean> {
    this.#isCalling = true;
    this.changes += 1;
    try {
      const { isChanged, ...sight } = await this.#host.store.changeDestination(change);
      this.#isCalling = false;
      this.#follow(sight, isChanged && change.to === 'probing');
      return isChanged;
    } catch (error) {
      this.#isCalling = false;
      this.#host.storeFailed(error);
      onFailure();
      this.#notifyIn(STORE_AWAY_MS);
      return false;
    } finally {
      this.changes += 1;
    }
  }

  #follow(sight: DestinationSight, isMine: boolean): void {
    const { destination, state, epoch, probes, isHeld } = sight;
    const nowMs = this.#host.effects.monoMs();
    const before = this.#state;
    // The same try of ours, seen again.
    const stays = before.kind === 'probing' && before.isMine && before.epoch === epoch && state === 'probing';
    const probeInMs = isHeld ? undefined : sight.probeInMs;
    const at = probeInMs === undefined ? {} : { probeInMs };
    this.#state = followed(before, { name: destination, state, epoch, probes, isMine: isMine || stays, ...at }, nowMs);
    this.#lapsesAtMs = nowMs + (probeInMs ?? Infinity);
    if (before.kind !== 'closed' && this.isClosed) {
      this.#width = begunAnew(this.#width);
      this.#failing.clear();
    }
    if (this.isClosed ? before.kind !== 'closed' : this.#isDue()) this.#host.changed(destination);
    else if (!this.isClosed) this.#notifyIn(this.#untilMs());
  }

  /** When its time has come, one that waits in line may be started. */
  #notifyIn(ms: number): void {
    const { effects } = this.#host;
    effects.clearTimer(this.#timer);
    if (ms === Infinity) return;
    this.#timer = effects.setTimer(() => this.#host.changed(this.destination), Math.max(0, Math.ceil(ms)) + 1);
  }
}
