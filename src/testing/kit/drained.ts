import type { RelayEvent } from '../../relay/relay-event.ts';
import type { Delivery, DeliveryError } from '../../relay/relay-store.ts';

/** One message with one handler, as it was when that was done with it. */
export interface DrainedDelivery {
  readonly id: string;
  readonly type: string;
  readonly key: string | undefined;
  readonly handler: string;
  /** The attempt that ended, from 1. */
  readonly attempt: number;
  /** As it was stored; absent where it is so large that it is not read ahead. */
  readonly payload: unknown;
}

/** An attempt that failed. */
export interface DrainedFailure extends DrainedDelivery {
  readonly error: DeliveryError;
}

/** What happened in a drain, each list in the order in which it happened. */
export interface Drained {
  /** Handled well, or committed. */
  readonly delivered: readonly DrainedDelivery[];
  /** Failed attempts that were followed by another, with what the policy would have waited. */
  readonly retried: readonly (DrainedFailure & { readonly delayMs: number })[];
  /** Failed for good. */
  readonly dead: readonly (DrainedFailure & { readonly reason: string })[];
  /** Put off by `ctx.postpone`, and by the engine where a handler does not know the type. Not tried again in this drain. */
  readonly postponed: readonly (DrainedDelivery & { readonly detail: string | undefined })[];
  /** Set aside behind a dead letter of their key. */
  readonly parked: readonly DrainedDelivery[];
}

type Lists = { readonly [List in keyof Drained]: Drained[List][number][] };

/** Writes down what a relay tells. */
export class DrainLog {
  readonly result: Lists = { delivered: [], retried: [], dead: [], postponed: [], parked: [] };
  /** How many runs have begun. */
  runs = 0;
  readonly #maxRuns: number;
  readonly #endless: PromiseWithResolvers<void> = Promise.withResolvers<void>();
  /** How long the next attempts wait, by delivery. */
  readonly waits: Map<string, number> = new Map();

  constructor(maxRuns: number) {
    this.#maxRuns = maxRuns;
  }

  /** Resolves when more runs have begun than there may be. */
  get endless(): Promise<void> {
    return this.#endless.promise;
  }

  note(event: RelayEvent): void {
    switch (event.kind) {
      case 'run-started':
        this.runs += 1;
        if (this.runs > this.#maxRuns) this.#endless.resolve();
        this.waits.delete(nameOf(event));
        return;
      case 'run-done':
        this.result.delivered.push(shown(event, event.attempt));
        return;
      case 'run-failed':
        this.#noteFailure(event);
        return;
      case 'run-interrupted':
        if (event.reason !== 'stopped')
          this.result.postponed.push({ ...shown(event, event.delivery.attempts + 1), detail: event.detail });
        return;
      case 'parked':
        this.result.parked.push(shown(event, event.delivery.attempts));
        return;
      default:
    }
  }

  #noteFailure(event: Extract<RelayEvent, { kind: 'run-failed' }>): void {
    const { error, next } = event;
    const about = { ...shown(event, event.attempt), error };
    if (next.kind === 'dead') this.result.dead.push({ ...about, reason: next.reason });
    else {
      this.result.retried.push({ ...about, delayMs: next.delayMs });
      this.waits.set(nameOf(event), next.delayMs);
    }
  }
}

interface About {
  readonly handler: string;
  readonly delivery: Delivery;
}

function nameOf({ handler, delivery }: About): string {
  return `${delivery.id} ${handler}`;
}

function shown({ handler, delivery }: About, attempt: number): DrainedDelivery {
  const { id, type, key, payload } = delivery;
  return { id, type, key, handler, attempt, payload: payload === undefined ? undefined : JSON.parse(payload) };
}
