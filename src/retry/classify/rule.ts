import type { FailureKind } from '../failure.ts';

/**
 * What a code means. Without a verdict the kind is known but another attempt may or may not help: the classifier's own
 * answer for unknown errors decides, so a service call fails and an event handler tries again.
 */
export interface Rule {
  readonly kind: FailureKind;
  readonly verdict?: 'retry' | 'fail';
  /** Another attempt may help. Counts only where nothing else decides, in this error or in what it wraps. */
  readonly likelyTransient?: boolean;
}

/** What one thrown value says by itself, its causes left aside. */
export interface Reading extends Rule {
  readonly status?: number;
  readonly code?: string;
}

/** One rule for many codes. */
export function rules(
  kind: FailureKind,
  verdict: 'retry' | 'fail' | undefined,
  codes: readonly string[],
): [string, Rule][] {
  return codes.map((code) => [code, verdict === undefined ? { kind } : { kind, verdict }]);
}
