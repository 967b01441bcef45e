import { isHoldfastError } from '../kernel/error.ts';
import type { NotRepeated } from '../kernel/error-codes.ts';
import { answerOf } from './error-answer.ts';
import { noAnswer, statusError } from './exchange.ts';
import type { RequestPlan } from './request-options.ts';

/** The failure of the last attempt, and what is known about it only once it was classified. */
export interface LastFailure {
  readonly error: unknown;
  /** The attempt was ended by its own time limit. */
  readonly isTimeout: boolean;
  /** Why there was no further attempt, where one would have been worth it. */
  readonly notRepeated: NotRepeated | undefined;
}

/**
 * The error the caller of a request gets: what `withRetry` threw, with the last failure put in terms of the request. A timeout
 * becomes `HTTP_NO_ANSWER`, and a failure that was not repeated although it is transient says why.
 */
export function finalError(error: unknown, request: RequestPlan, last: LastFailure | undefined): unknown {
  if (!last) return error;
  if (error === last.error) return inTermsOf(request, last);
  // Made a moment ago for this very call: nobody else holds it yet.
  if (isHoldfastError(error, 'RETRY_STOPPED') && error.cause === last.error) error.cause = inTermsOf(request, last);
  return error;
}

function inTermsOf(request: RequestPlan, { error, isTimeout, notRepeated }: LastFailure): unknown {
  const why = notRepeated === undefined ? {} : { notRepeated };
  if (isTimeout) return noAnswer(request, error, { timeoutMs: request.policy.timeoutMs, ...why });
  if (notRepeated === undefined || !isOf(request, error)) return error;
  const answer = answerOf(error);
  // Made anew, not changed: the stack, which is what gets printed, holds the message of the first one.
  return answer ? statusError(request, answer, why) : noAnswer(request, error.cause, why);
}

/** False for an error of another request, as a function that fetches the token may throw. */
function isOf(request: RequestPlan, error: unknown): error is Error {
  return (
    (isHoldfastError(error, 'HTTP_STATUS') || isHoldfastError(error, 'HTTP_NO_ANSWER')) &&
    error.details.operation === request.operation &&
    error.details.requestId === request.requestId
  );
}
