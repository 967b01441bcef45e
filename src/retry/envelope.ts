import { initialState } from './state.ts';
import { decide, type StopReason } from './decide.ts';
import { type Policy, type PolicyOptions, toPolicy } from './policy.ts';

/** One line of a policy's plan. */
export interface PlannedWait {
  /** 0 for the wait after the first attempt. */
  readonly retried: number;
  /** The longest this wait can be by the schedule; jitter makes it shorter. */
  readonly delayMs: number;
  /** All waiting up to the end of this one. */
  readonly totalMs: number;
}

/** A policy written out, before anything runs: at most this many attempts, at most this much waiting. */
export interface Envelope {
  readonly attempts: number;
  readonly totalWaitMs: number;
  readonly waits: readonly PlannedWait[];
  /** What ends the plan; `'endless'` when nothing does within a hundred thousand waits. */
  readonly end: StopReason | 'endless';
}

/** How many waits are written out at most. */
const PLAN_LIMIT = 100_000;

/**
 * Prints the whole plan of a policy, with the longest delays its jitter allows. `attemptMs` says how long each attempt
 * takes (default 0), which matters to `maxElapsedMs` only.
 */
export function envelope(from: Policy | PolicyOptions, options: { attemptMs?: number } = {}): Envelope {
  const policy = toPolicy(from);
  const attemptMs = options.attemptMs ?? 0;
  let state = initialState({ wallMs: 0, monoMs: 0 });
  let nowMs = 0;
  const waits: PlannedWait[] = [];
  const failure = { verdict: 'retry', kind: 'unknown' } as const;
  for (;;) {
    nowMs += attemptMs;
    const decision = decide(policy, state, failure, { wallMs: nowMs, monoMs: nowMs }, 1);
    if (decision.kind === 'stop') {
      return { attempts: decision.state.attempts, totalWaitMs: decision.state.waitedMs, waits, end: decision.reason };
    }
    if (waits.length === PLAN_LIMIT) {
      return { attempts: Infinity, totalWaitMs: Infinity, waits, end: 'endless' };
    }
    state = decision.state;
    waits.push({ retried: waits.length, delayMs: decision.delayMs, totalMs: state.waitedMs });
    nowMs += decision.delayMs;
  }
}

/** The plan as text a person reads: `22 attempts, at most 7 h 31 min 45 s of waiting: 5 s, 10 s, … (ends: wait-budget)`. */
export function describeEnvelope(plan: Envelope): string {
  const shown = plan.waits.slice(0, 10).map((wait) => duration(wait.delayMs));
  if (plan.waits.length > shown.length) shown.push('…');
  if (plan.end === 'endless') return `no end: ${shown.join(', ')}`;
  const attempts = plan.attempts === 1 ? '1 attempt' : `${plan.attempts} attempts`;
  if (plan.waits.length === 0) return `${attempts}, no waiting (ends: ${plan.end})`;
  return `${attempts}, at most ${duration(plan.totalWaitMs)} of waiting: ${shown.join(', ')} (ends: ${plan.end})`;
}

function duration(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  const units = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['min', 60_000],
  ] as const;
  const parts: string[] = [];
  let left = ms;
  for (const [name, size] of units) {
    if (left >= size) parts.push(`${Math.floor(left / size)} ${name}`);
    left %= size;
  }
  if (left > 0) parts.push(`${Number((left / 1_000).toFixed(3))} s`);
  return parts.join(' ');
}
