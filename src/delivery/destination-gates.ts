import type { Effects } from '../kernel/effects.ts';
import { letProcessEnd } from '../system/effects.ts';
import { DestinationGate, type GateEnd, type GateHost, type GatePass, type GateWait } from './destination-gate.ts';
import { FIRST_WIDTH } from './destination-width.ts';
import type { SenderStore } from './sender-store.ts';

/** What may be said about the breakers of destinations. Every field may be left out. */
export interface DestinationBreakerOptions {
  /** So many different messages in a row must fail because of an outage. Default 5. */
  readonly failures?: number | undefined;
  /** How long nothing is sent before one message is tried, in milliseconds. Default 5,000; doubles each time. */
  readonly probeAfterMs?: number | undefined;
  /** What that grows to. Default 60,000. */
  readonly maxProbeAfterMs?: number | undefined;
}

/** What the gates need. */
export interface GatesHost {
  readonly effects: Effects;
  readonly store: Pick<SenderStore, 'changeDestination' | 'destinations'>;
  readonly breaker?: DestinationBreakerOptions | undefined;
  /** The database could not be asked, or did not take a change. */
  readonly storeFailed: (error: unknown) => void;
}

// Gates of destinations that are not called any more are forgotten above this; those of open breakers are not.
const MOST_IDLE = 10_000;
const LOOK_MS = 1_000;

/** A pass of one of the gates. */
export interface OpenPass extends GatePass {
  /** Must be called once. */
  leave(end: GateEnd): void;
}

/** The gates of all destinations in one process: breakers that all processes share, and widths that are each process's own. */
export class DestinationGates {
  readonly #host: GatesHost;
  readonly #gates = new Map<string, DestinationGate>();
  readonly #listeners = new Set<(destination: string) => void>();
  readonly #gateHost: GateHost;
  #timer: unknown;
  #looking: Promise<void> | undefined;
  #isStopped = false;

  constructor(host: GatesHost) {
    this.#host = host;
    const { failures = 5, probeAfterMs = 5_000, maxProbeAfterMs = 60_000 } = host.breaker ?? {};
    this.#gateHost = {
      effects: host.effects,
      store: host.store,
      settings: { failures, probeAfterMs, maxProbeAfterMs: Math.max(probeAfterMs, maxProbeAfterMs) },
      changed: (destination) => this.#changed(destination),
      storeFailed: host.storeFailed,
    };
  }

  /** Learns what the database says, and goes on to do so every second. */
  async start(): Promise<void> {
    await this.#look();
  }

  /** Destinations that something is remembered of. */
  get size(): number {
    return this.#gates.size;
  }

  /** How many may be on their way to a destination. */
  width(destination: string): number {
    return this.#gates.get(destination)?.width ?? Math.floor(FIRST_WIDTH.width);
  }

  async enter(destination: string, messageId: string, timeoutMs: number): Promise<OpenPass | GateWait> {
    const gate = this.#gateOf(destination);
    const pass = await gate.enter(messageId, timeoutMs);
    return pass.kind === 'wait' ? pass : { ...pass, leave: (end) => gate.leave(pass, end) };
  }

  /** Calls back with each destination that more may be sent to. Gives what ends that. */
  onChange(listener: (destination: string) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** May be called twice. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#host.effects.clearTimer(this.#timer);
    await this.#looking;
    for (const gate of this.#gates.values()) gate.stop();
  }

  #changed(destination: string): void {
    if (!this.#isStopped) for (const listener of this.#listeners) listener(destination);
  }

  #gateOf(destination: string): DestinationGate {
    const known = this.#gates.get(destination);
    if (known) return known;
    if (this.#gates.size >= MOST_IDLE) this.#forget();
    const gate = new DestinationGate(this.#gateHost, destination);
    this.#gates.set(destination, gate);
    return gate;
  }

  #forget(): void {
    for (const [destination, gate] of this.#gates) if (gate.isForgettable) this.#gates.delete(destination);
  }

  async #look(): Promise<void> {
    this.#looking = this.#lookOnce();
    await this.#looking;
    if (this.#isStopped) return;
    this.#timer = this.#host.effects.setTimer(() => void this.#look(), LOOK_MS);
    letProcessEnd(this.#timer);
  }

  async #lookOnce(): Promise<void> {
    const changesBefore = new Map(Array.from(this.#gates, ([destination, gate]) => [destination, gate.changes]));
    const isNews = (gate: DestinationGate): boolean => changesBefore.get(gate.destination) === gate.changes;
    try {
      const sights = await this.#host.store.destinations();
      const seen = new Set(sights.map(({ destination }) => destination));
      for (const sight of sights) this.#gateOf(sight.destination).see(sight);
      for (const gate of this.#gates.values())
        if (!gate.isClosed && !seen.has(gate.destination) && isNews(gate)) gate.seeNothing();
    } catch (error) {
      if (!this.#isStopped) this.#host.storeFailed(error);
    }
  }
}
