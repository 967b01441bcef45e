import { HoldfastError } from '../kernel/error.ts';
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
const INTERNAL = 13;
const UNAVAILABLE = 14;
const UNAUTHENTICATED = 16;

export const PERSON_UNKNOWN: Refusal = {
  code: UNAUTHENTICATED,
  problem: 'person-unknown',
  details: 'it is not known who calls; sign in, then send the call again',
};

export function keyRefused(problem: 'key-missing' | 'key-invalid', why: string): Refusal {
  return { code: INVALID_ARGUMENT, problem, details: `metadata idempotency-key ${why}` };
}

/** The guard itself failed, and nothing was run. What was thrown may hold anything, so only our own errors are shown. */
export function guardFailed(error: unknown): Refusal {
  const known = error as { readonly code?: unknown; readonly details?: unknown } | null | undefined;
  if (typeof known?.code === 'number' && typeof known.details === 'string') {
    return { code: known.code, problem: 'refused', details: known.details };
  }
  const why =
    error instanceof HoldfastError
      ? error.message
      : `person threw ${error instanceof Error ? error.name : typeof error}`;
  return { code: INTERNAL, problem: 'guard-failed', details: `the call was not carried out: ${why}` };
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
