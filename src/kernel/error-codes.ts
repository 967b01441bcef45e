import type { OptionProblem } from './check-options.ts';
import type { RetryState } from './retry-state.ts';

/** The facts each error code carries. A code is never renamed or reused; `docs/errors.md` has a paragraph for each. */
export interface ErrorDetails {
  ATTEMPT_TIMEOUT: { operation: string; attempt: number; timeoutMs: number };
  BAD_EXPRESSION: { expression: string; position: number; problem: string };
  BAD_IDEMPOTENCY_KEY: { problem: string };
  CLASSIFIER_FAILED: { operation: string };
  DEADLINE_PASSED: { operation: string; attempt: number };
  EVENT_LINE_INVALID: { line: number };
  HTTP_BODY_INVALID: { operation: string; status: number; problem: string };
  HTTP_BODY_TOO_LARGE: { operation: string; limitBytes: number };
  HTTP_NO_ANSWER: { operation: string; method: string; url: string; requestId: string; problem: string };
  HTTP_REDIRECT_REFUSED: { operation: string; status: number; location: string };
  HTTP_STATUS: { operation: string; method: string; url: string; status: number; requestId: string };
  INVALID_OPTIONS: { of: string; problems: readonly OptionProblem[] };
  LLM_CONTENT_REFUSED: { finishReason: string };
  LLM_ERROR_IN_ANSWER: { code?: string; type?: string };
  RETRY_STOPPED: {
    operation: string;
    reason: string;
    attempts: number;
    waitedMs: number;
    firstFailedAt: string;
    endedAt: string;
    /** Where the operation stood; `resumeFrom` takes it. Plain JSON. */
    state: RetryState;
  };
  STREAM_EVENT_TOO_LARGE: { limitChars: number };
  STREAM_TIMEOUT: { phase: string; timeoutMs: number };
  STREAM_TRUNCATED: { contentChunks: number; contentLength: number };
}

export type ErrorCode = keyof ErrorDetails;

/** What each error says: what happened, with the value, and what to do next. Never payloads, tokens or whole URLs with queries. */
export const ERROR_MESSAGES: { readonly [C in ErrorCode]: (details: ErrorDetails[C]) => string } = {
  ATTEMPT_TIMEOUT: (d) =>
    `attempt ${d.attempt} of "${d.operation}" did not end within ${d.timeoutMs} ms; pass ctx.signal on so that the work really stops, or raise policy.timeoutMs`,
  BAD_EXPRESSION: (d) =>
    `the delay expression ${JSON.stringify(d.expression)} is wrong at position ${d.position}: ${d.problem}; write for example "10000 * pow(2, retried)"`,
  BAD_IDEMPOTENCY_KEY: (d) =>
    `${d.problem}; an idempotency key is "<domain>:<userId>:<entityId>:<operation>:<version>"`,
  CLASSIFIER_FAILED: (d) =>
    `the classifier of "${d.operation}" threw while judging a failure; error.cause.errors holds what it threw and the failure itself; a classifier must answer 'retry', 'fail' or undefined`,
  DEADLINE_PASSED: (d) =>
    `the deadline passed during attempt ${d.attempt} of "${d.operation}"; give the operation more time or make its attempts shorter`,
  EVENT_LINE_INVALID: (d) =>
    `line ${d.line} of the event stream is not JSON; it was cut off on the way, or the answer is not a stream of event lines`,
  HTTP_BODY_INVALID: (d) =>
    `the answer to "${d.operation}" (status ${d.status}) does not have the expected shape: ${d.problem}; compare the schema with what the service sends`,
  HTTP_BODY_TOO_LARGE: (d) =>
    `the answer to "${d.operation}" is larger than ${d.limitBytes} bytes; raise maxBodyBytes if that size is expected`,
  HTTP_NO_ANSWER: (d) =>
    `"${d.operation}" (${d.method} ${d.url}) got no complete answer (${d.problem}); see that the service runs and can be reached from here; the request id was ${d.requestId}`,
  HTTP_REDIRECT_REFUSED: (d) =>
    `"${d.operation}" was redirected (status ${d.status}) to ${d.location}; call that address directly, or allow redirects for this client`,
  HTTP_STATUS: (d) =>
    `"${d.operation}" (${d.method} ${d.url}) answered ${d.status}; look for request id ${d.requestId} in the service's log`,
  INVALID_OPTIONS: (d) =>
    `${d.of} cannot work as written: ${d.problems.map((p) => `${p.option} is ${p.found}; ${p.write}`).join(' · ')}`,
  LLM_CONTENT_REFUSED: (d) =>
    `the model gave no answer because its content was refused (${d.finishReason}); change the prompt, the same one is refused again`,
  LLM_ERROR_IN_ANSWER: (d) =>
    `the provider answered 200 with an error in the body (${d.code ?? d.type ?? 'no code'}); look that code up in the provider's documentation`,
  RETRY_STOPPED: (d) =>
    `"${d.operation}" gave up after ${d.attempts} ${d.attempts === 1 ? 'attempt' : 'attempts'} and ${d.waitedMs} ms of waiting (${d.reason}); the last failure is in error.cause`,
  STREAM_EVENT_TOO_LARGE: (d) =>
    `one event of the stream is longer than ${d.limitChars} characters; raise maxEventChars if that size is expected`,
  STREAM_TIMEOUT: (d) =>
    `the stream ran into timeouts.${d.phase} (${d.timeoutMs} ms); raise it if the provider is known to be that slow`,
  STREAM_TRUNCATED: (d) =>
    `the stream ended without its closing event after ${d.contentChunks} pieces of content (${d.contentLength} characters); treat what was received as incomplete`,
};
