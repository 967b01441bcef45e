import type { By, Paging, Page } from './operator.ts';

/** `closed`: calls go through. `open`: nothing is started. `probing`: one message is tried; its outcome decides. */
export const BREAKER_STATES = ['closed', 'open', 'probing'] as const;

export type BreakerState = (typeof BREAKER_STATES)[number];

/** What stands between handlers and something they depend on. */
export interface BreakerRecord {
  readonly service: string;
  /** The dependency's name; a handler that names none has a breaker of its own, called as the handler. */
  readonly name: string;
  /** Handlers that stand still while it is open. */
  readonly handlers: readonly string[];
  readonly state: BreakerState;
  /** When it took its state. */
  readonly since: Date | undefined;
  /** Failures in a row that count as an outage. */
  readonly failures: number;
  /** When the next message is tried; absent while closed, and while held open by hand. */
  readonly probeAt: Date | undefined;
  /** The failure that opened it, or of the last probe. */
  readonly error: { readonly name: string; readonly code: string | undefined; readonly message: string } | undefined;
  /** Opened or closed by hand: who, and why. */
  readonly changed: { readonly at: Date; readonly actor: string; readonly reason: string | undefined } | undefined;
  /** Messages that wait because of it, ready ones of its handlers; exact up to 10,000. */
  readonly waiting: number;
}

export type BreakerChanged =
  | { readonly kind: 'changed'; readonly breaker: BreakerRecord }
  | { readonly kind: 'unchanged'; readonly breaker: BreakerRecord }
  | { readonly kind: 'unknown-breaker'; readonly name: string; readonly known: readonly string[] }
  | { readonly kind: 'ambiguous-breaker'; readonly name: string; readonly write: readonly string[] };

/** The breakers. A name is enough unless two services have one of it; then write `service/name`. */
export interface Breakers {
  /** Those that are not closed first. */
  breakers(filter?: Paging): Promise<Page<BreakerRecord>>;
  /** Holds it open until `closeBreaker`: nothing is tried, no attempt is spent. */
  openBreaker(name: string, by: By): Promise<BreakerChanged>;
  /** Closes it, whatever opened it. It opens again if the failures go on. */
  closeBreaker(name: string, by: By): Promise<BreakerChanged>;
}
