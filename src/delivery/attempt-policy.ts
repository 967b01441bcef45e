import { compileExpression } from '../retry/expression.ts';
import type { SendRules } from './delivery-request.ts';

const DAY_MS = 86_400_000;
// Deliveries of one moment that failed together should not all come back at one moment.
const JITTER_PART = 0.2;

/** What follows a failed attempt. */
export type NextAttempt = { readonly kind: 'wait'; readonly delayMs: number } | { readonly kind: 'dead' };

/** A failed attempt. `random`: one draw from [0, 1). */
export interface FailedTry {
  /** From 1. */
  readonly attempt: number;
  /** What the destination asked for. */
  readonly askedMs?: number | undefined;
  /** It is of no use. */
  readonly isFinal?: boolean | undefined;
  readonly random: number;
}

/**
 * Decides what follows: as often again as the rules say, after what the destination asked for, else by the rules' own expression or table,
 * else by the usual curve: 12 s, 2 m 28 s, 30 m 8 s, 6 h 7 m, a day. The curve also takes the place of an expression that has no finite
 * result for this retry. Never longer than a day. Pure.
 */
export function nextAttempt(rules: SendRules, { attempt, askedMs, isFinal, random }: FailedTry): NextAttempt {
  if (isFinal === true || attempt > rules.retries) return { kind: 'dead' };
  return { kind: 'wait', delayMs: Math.min(DAY_MS, askedMs ?? ownWaitMs(rules, attempt, random)) };
}

function ownWaitMs({ retryDelay, retrySeconds }: SendRules, attempt: number, random: number): number {
  if (retrySeconds !== undefined && retrySeconds.length > 0) {
    const seconds = retrySeconds[attempt - 1] ?? retrySeconds.at(-1) ?? 0;
    return Math.ceil(seconds * 1_000 * (1 + JITTER_PART * (2 * random - 1)));
  }
  const writtenMs = retryDelay === undefined ? NaN : compileExpression(retryDelay).evaluate(attempt - 1);
  // 1 / 0, sqrt(-1), an overflow: that the author meant a day, or nothing, is no more likely than what all others wait.
  const waitMs = Number.isFinite(writtenMs) ? Math.max(0, writtenMs) : Math.exp(2.5 * attempt) * 1_000;
  return Math.ceil(Math.min(DAY_MS, waitMs));
}
