import type { TurnFailure } from '../turn-event.ts';

export interface FailureWords {
  readonly title: string;
  readonly text: string;
  /** What the error itself says, where that is not the text. */
  readonly detail?: string;
}

export function failureWords(failure: TurnFailure): FailureWords;
export function withoutLeadingCode(said: Pick<TurnFailure, 'message' | 'code'>): string;
export function retriesAndWaiting(retries: number, waitedMs: number): string;
