import type { Failure } from '../retry/failure.ts';
import type { BreakerSight } from './relay-store.ts';

/** What may be said about the breaker of a handler. Every field may be left out. */
export interface BreakerOptions {
  /** What the handler calls: handlers of one service that name the same stand and go together. Default: the handler's own name. */
  readonly dependency?: string | undefined;
  /** How many runs in a row must fail because of an outage, of one message or of several. Default 5. */
  readonly failures?: number | undefined;
  /**
   * For how long nothing may have succeeded before it opens, in milliseconds. A handler whose messages all fail at first and succeed when
   * they are tried again needs no breaker. Default 1,000; 0 where `failures` is 1.
   */
  readonly openAfterMs?: number | undefined;
  /** How long nothing is started before the first message is tried again, in milliseconds. Default 1,000; doubles each time. */
  readonly probeAfterMs?: number | undefined;
  /** Upper bound of that wait: the longest a recovery goes unnoticed. Default 4,000. */
  readonly maxProbeAfterMs?: number | undefined;
}

/** A breaker as it is built: all of it decided. */
export interface BreakerSettings extends ProbeSettings {
  readonly name: string;
  readonly failures: number;
  readonly openAfterMs: number;
}

/** When an open one tries a message. */
export interface ProbeSettings {
  readonly probeAfterMs: number;
  readonly maxProbeAfterMs: number;
}

/**
 * Where a breaker stands, as one process sees it. `epoch` is the database's: raised by each change there, so that what is older than
 * what is known is told from news. `probes`: how many have failed since it opened.
 */
export type BreakerState =
  | {
      /** `failed`: how many runs in a row, and since when. */ readonly kind: 'closed';
      readonly epoch: number;
      readonly failed: number;
      readonly failingSinceMs: number;
    }
  | {
      /** Infinity: held open by hand. */ readonly kind: 'open';
      readonly epoch: number;
      readonly probes: number;
      readonly probeAtMs: number;
    }
  | { readonly kind: 'probing'; readonly epoch: number; readonly probes: number; readonly isMine: boolean };

/** As every breaker begins. */
export const CLOSED: BreakerState = { kind: 'closed', epoch: 0, failed: 0, failingSinceMs: 0 };

const OUTAGE_KINDS: ReadonlySet<string> = new Set(['network', 'timeout', 'rate-limit', 'overload']);
// Not implemented, and a version nobody speaks: answers about the request.
const ANSWERS_OF_A_LIVING_SERVER: ReadonlySet<number> = new Set([501, 505]);

/**
 * Whether a failure says that what was called is away, or asks to be left alone: nothing about the message. Connections that fail,
 * time that ran out, 429 and 5xx, and what databases and gRPC say instead.
 */
export function isOutage({ verdict, kind, reason, status = 0, code = '' }: Failure): boolean {
  // A final one counts only where it is final because the call may have been acted on: the dependency is no better for that.
  if (verdict === 'fail' && reason !== 'unsafe-replay') return false;
  if (OUTAGE_KINDS.has(kind)) return true;
  if (kind === 'http') return status >= 500 && !ANSWERS_OF_A_LIVING_SERVER.has(status);
  if (kind === 'database') return /^(?:08|53|57P0)/.test(code);
  return kind === 'broker' || (kind === 'grpc' && code === 'UNAVAILABLE');
}

/** After a run that was not held back: a failure by an outage counts, any other end resets the count. */
export function counted(state: BreakerState, isDown: boolean, nowMs: number): BreakerState {
  if (state.kind !== 'closed' || (!isDown && state.failed === 0)) return state;
  if (!isDown) return { ...state, failed: 0 };
  return { ...state, failed: state.failed + 1, failingSinceMs: state.failed === 0 ? nowMs : state.failingSinceMs };
}

/** Whether enough runs have failed in a row, for long enough: retries of the first had time to succeed. */
export function isTripped(state: BreakerState, { failures, openAfterMs }: BreakerSettings, nowMs: number): boolean {
  return state.kind === 'closed' && state.failed >= failures && nowMs - state.failingSinceMs >= openAfterMs;
}

/** What the database says is so. What is older than what is known changes nothing; what was counted since the last change stays. */
export function followed(state: BreakerState, sight: BreakerSight, nowMs: number): BreakerState {
  const { epoch, probes } = sight;
  if (epoch < state.epoch) return state;
  if (sight.state === 'probing') return { kind: 'probing', epoch, probes, isMine: sight.isMine };
  if (sight.state === 'open') return { kind: 'open', epoch, probes, probeAtMs: nowMs + (sight.probeInMs ?? Infinity) };
  return state.kind === 'closed' ? { ...state, epoch } : { ...CLOSED, epoch };
}

// Breakers that opened at one moment, of many services, should not all knock at one moment.
const JITTER_PART = 0.2;
// A hint beyond this is taken for a mistake.
const MAX_HINT_MS = 3_600_000;

/**
 * How long until the next message is tried, after so many that failed: doubles up to the maximum, less up to a fifth by chance and less
 * what the last one took; never less than the dependency asked for.
 */
export function probeWaitMs(
  settings: ProbeSettings,
  probes: number,
  random: number,
  { hintMs = 0, tookMs = 0 }: { hintMs?: number | undefined; tookMs?: number } = {},
): number {
  const { probeAfterMs, maxProbeAfterMs } = settings;
  const grown = Math.min(maxProbeAfterMs, probeAfterMs * 2 ** Math.min(probes, 30));
  const waitMs = grown * (1 - JITTER_PART * random) - tookMs;
  return Math.round(Math.max(0, waitMs, Math.min(hintMs, MAX_HINT_MS)));
}
