import type { SchemaIssue } from '../kernel/standard-schema.ts';

/** What the service sent with an answer that became an error. */
export interface ErrorAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The start of the body, at most 16,384 characters, with the secrets of the request blanked. */
  readonly text: string;
  /** What the schema said, when the answer failed its check. Messages of validators may hold values of the body. */
  readonly issues?: readonly SchemaIssue[];
}

/** How much of a body is kept with an error. */
const KEPT_CHARACTERS = 16_384;

// Beside the error, not on it: whatever logs, prints or stores the error cannot take the body along.
const answers = new WeakMap<object, ErrorAnswer>();

/** Keeps the answer for `answerOf`. */
export function keepAnswer<E extends Error>(error: E, answer: ErrorAnswer): E {
  answers.set(error, { ...answer, text: answer.text.slice(0, KEPT_CHARACTERS) });
  return error;
}

/**
 * The answer behind an error of this client, or behind one of its causes; `undefined` when the service did not answer.
 * It is not part of the error: look at it, but do not log it, a service may send anything.
 */
export function answerOf(error: unknown): ErrorAnswer | undefined {
  let at = error;
  // RETRY_STOPPED of a retry in a retry is two deep; five leaves room for wrappers of the caller's own.
  for (let depth = 0; depth < 5 && at instanceof Error; depth++) {
    const answer = answers.get(at);
    if (answer) return answer;
    at = at.cause;
  }
  return undefined;
}
