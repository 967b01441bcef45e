import type { Entry } from '../idempotency/entry.ts';

/** How a call that is not run ends: the code of gRPC, its text, and the name that metadata `idempotency-problem` carries. */
export interface Refusal {
  readonly code: number;
  readonly problem: string;
  readonly details: string;
}

const INVALID_ARGUMENT = 3;
const ALREADY_EXISTS = 6;
const FAILED_PRECONDITION = 9;
const ABORTED = 10;
const UNAVAILABLE = 14;

export function keyRefused(problem: 'key-missing' | 'key-invalid', why: string): Refusal {
  return { code: INVALID_ARGUMENT, problem, details: `metadata idempotency-key ${why}` };
}

/** ABORTED tells a client to send the same call again; the others tell it not to, UNAVAILABLE apart. */
export function refusalOf<Tx>(entry: Exclude<Entry<Tx>, { kind: 'run' | 'unguarded' }>): Refusal {
  switch (entry.kind) {
    case 'running':
      return {
        code: ABORTED,
        problem: 'in-flight',
        details: 'a call with this key is being carried out; send it again in a moment',
      };
    case 'mismatch':
      return {
        code: INVALID_ARGUMENT,
        problem: 'mismatch',
        details: 'this key was used for another call; use a new key',
      };
    case 'unknown':
      return {
        code: FAILED_PRECONDITION,
        problem: 'unknown-outcome',
        details:
          'a call with this key began, and how it ended is not known; find out before you send it with a new key',
      };
    case 'store-down':
      return {
        code: UNAVAILABLE,
        problem: 'store-down',
        details: 'it cannot be told whether this call was carried out before; send it again in a moment',
      };
    case 'finished':
      return {
        code: ALREADY_EXISTS,
        problem: 'reply-not-kept',
        details: 'the call with this key was carried out, but its reply is not kept; look up the result',
      };
  }
}
