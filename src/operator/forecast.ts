import type { RetryState } from '../kernel/retry-state.ts';
import { decide, type StopReason } from '../retry/decide.ts';
import { eventHandler } from '../retry/policies.ts';
import type { Policy } from '../retry/policy.ts';
import { initialState } from '../retry/state.ts';
import type { DeliveryStatus } from './operator-records.ts';

/** The policy of a handler, where it is known. */
export type PolicyLookup = (handler: { readonly service: string; readonly name: string }) => Policy | undefined;

/** One attempt to come. */
export interface PlannedAttempt {
  /** From 1. */
  readonly attempt: number;
  /** Not before this time, whatever the jitter draws. */
  readonly earliest: Date;
  /** Absent: with the longest waits a budget ends before this attempt. */
  readonly latest: Date | undefined;
}

/** The rest of one delivery's retry plan. */
export interface DeliveryForecast {
  /** As `DeadLetter.id`. */
  readonly id: string;
  readonly service: string;
  readonly handler: string;
  readonly status: DeliveryStatus;
  /** The attempts to come if each before fails at once; none when it is not open. Attempts wait their turn, too. */
  readonly attempts: readonly PlannedAttempt[];
  /** What ends the plan when every attempt fails; `endless` when nothing does within a thousand attempts. */
  readonly end: StopReason | 'endless' | 'not-open';
}

/** The rest of a message's retry plans. */
export interface Forecast {
  readonly kind: 'forecast';
  /** The database's clock when it was asked. */
  readonly at: Date;
  readonly deliveries: readonly DeliveryForecast[];
}

/** Where a delivery stands in its plan. */
export interface PlanFacts {
  readonly id: string;
  readonly service: string;
  readonly handler: string;
  readonly status: DeliveryStatus;
  readonly attempts: number;
  readonly dueAt: Date | undefined;
  readonly retry: RetryState | undefined;
}

// A plan that is longer tells a reader nothing more.
const LONGEST_PLAN = 1_000;

/** What is left of a delivery's plan, by the same decisions the relay makes: with the shortest and with the longest draws. */
export function forecastDelivery(facts: PlanFacts, policyOf: PolicyLookup | undefined, at: Date): DeliveryForecast {
  const { id, service, handler, status } = facts;
  const shown = { id, service, handler, status };
  if (status !== 'ready' && status !== 'waiting') return { ...shown, attempts: [], end: 'not-open' };
  const policy = policyOf?.({ service, name: handler }) ?? eventHandler;
  const early = walk(policy, facts, at, 0);
  const late = walk(policy, facts, at, 1);
  const attempts = early.startsMs.map((startMs, index) => {
    const lateMs = late.startsMs[index];
    return {
      attempt: facts.attempts + 1 + index,
      earliest: new Date(startMs),
      latest: lateMs === undefined ? undefined : new Date(lateMs),
    };
  });
  return { ...shown, attempts, end: early.end };
}

/** The start of each attempt to come when every wait is drawn with `random`. */
function walk(
  policy: Policy,
  { attempts, dueAt, retry }: PlanFacts,
  at: Date,
  random: number,
): { readonly startsMs: readonly number[]; readonly end: StopReason | 'endless' } {
  let nowMs = Math.max(at.getTime(), dueAt?.getTime() ?? 0);
  const begun = retry ?? { ...initialState({ wallMs: nowMs, monoMs: nowMs }), attempts };
  // The monotonic clock of the process that kept the state means nothing here: elapsed time is counted by the wall clock.
  let state: RetryState = { ...begun, startedAt: { wallMs: begun.startedAt.wallMs, monoMs: begun.startedAt.wallMs } };
  const startsMs = [nowMs];
  while (startsMs.length < LONGEST_PLAN) {
    const now = { wallMs: nowMs, monoMs: nowMs };
    const decision = decide(policy, state, { verdict: 'retry', kind: 'unknown' }, now, random);
    if (decision.kind === 'stop') return { startsMs, end: decision.reason };
    state = decision.state;
    nowMs += decision.delayMs;
    startsMs.push(nowMs);
  }
  return { startsMs, end: 'endless' };
}
