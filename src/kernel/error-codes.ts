import type { OptionProblem } from './check-options.ts';
import type { RetryState } from './retry-state.ts';

/** The facts each error code carries. A code is never renamed or reused; `docs/errors.md` has a paragraph for each. */
export interface ErrorDetails {
  ATTEMPT_TIMEOUT: { operation: string; attempt: number; timeoutMs: number };
  BAD_EXPRESSION: { expression: string; position: number; problem: string };
  BAD_IDEMPOTENCY_KEY: { problem: string };
  CLASSIFIER_FAILED: { operation: string; problem: string };
  DEADLINE_PASSED: { operation: string; attempt: number };
  EVENT_LINE_INVALID: { line: number };
  HTTP_BODY_INVALID: {
    operation: string;
    url: string;
    status: number;
    requestId: string;
    reason: BodyProblem;
    problem: string;
  };
  HTTP_BODY_TOO_LARGE: { operation: string; limitBytes: number };
  HTTP_NO_ANSWER: {
    operation: string;
    method: string;
    url: string;
    requestId: string;
    problem: string;
    /** There when the time for the attempt was up. */
    timeoutMs?: number;
    notRepeated?: NotRepeated;
  };
  HTTP_REDIRECT_REFUSED: { operation: string; status: number; location: string };
  HTTP_STATUS: {
    operation: string;
    method: string;
    url: string;
    status: number;
    requestId: string;
    notRepeated?: NotRepeated;
  };
  INVALID_OPTIONS: { of: string; problems: readonly OptionProblem[] };
  LLM_CONTENT_REFUSED: { finishReason: string };
  LLM_ERROR_IN_ANSWER: { code?: string; type?: string };
  PAYLOAD_INVALID: { type: string; problem: string };
  PAYLOAD_TOO_LARGE: { type: string; bytes: number; limitBytes: number };
  RETRY_STOPPED: {
    operation: string;
    reason: string;
    attempts: number;
    waitedMs: number;
    /** What the last attempt failed with, in the classifier's words; `cause` is the error itself. */
    lastFailure: { kind: string; status?: number; code?: string };
    /** Absent when nothing ran. */
    firstFailedAt?: string;
    endedAt: string;
    /** Where the operation stood; `resumeFrom` takes it. Plain JSON. */
    state: RetryState;
  };
  SCHEMA_TOO_NEW: { found: number; known: number };
  STREAM_EVENT_TOO_LARGE: { limitChars: number };
  STREAM_NOT_SSE: { found: string };
  STREAM_TIMEOUT: { phase: string; timeoutMs: number };
  STREAM_TRUNCATED: { contentChunks: number; contentLength: number };
  TRANSACTION_NOT_OPEN: { client: string };
  TRANSACTION_UNKNOWN: { found: string };
}

/** Why a body is not what was asked for. */
export type BodyProblem = 'not-json' | 'not-text' | 'refused' | 'schema-threw';

/**
 * Why a request was not sent again after a transient failure: it has no idempotency key and may have been acted on, the caller
 * declared `repeatable: false`, or its body was a stream. Absent where something else ended the attempts.
 */
export type NotRepeated = 'unsafe-replay' | 'declared' | 'stream-body';

export type ErrorCode = keyof ErrorDetails;

const BODY_ADVICE: Readonly<Record<BodyProblem, string>> = {
  'not-json':
    "see that the address is right, or write read: 'text' if text is expected; answerOf(error).text has its start",
  'not-text': 'this client reads JSON and UTF-8 text, so see that the address is right',
  refused: 'answerOf(error).issues has what the schema says; change the schema or what the service sends',
  'schema-threw': 'error.cause is what it threw; let the schema give issues instead',
};

/** What each error says: what happened, with the value, and what to do next. Never payloads, tokens or whole URLs with queries. */
export const ERROR_MESSAGES: { readonly [C in ErrorCode]: (details: ErrorDetails[C]) => string } = {
  ATTEMPT_TIMEOUT: (d) =>
    `attempt ${d.attempt} of "${d.operation}" did not end within ${d.timeoutMs} ms; pass ctx.signal on so that the work really stops, or raise policy.timeoutMs`,
  BAD_EXPRESSION: (d) =>
    `the delay expression ${JSON.stringify(d.expression)} is wrong at position ${d.position}: ${d.problem}; write for example "10000 * pow(2, retried)"`,
  BAD_IDEMPOTENCY_KEY: (d) =>
    `${d.problem}; an idempotency key is "<domain>:<userId>:<entityId>:<operation>:<version>"`,
  CLASSIFIER_FAILED: (d) =>
    `the classifier of "${d.operation}" ${d.problem}; it must answer 'retry', 'fail', a Failure or undefined, and may not be async; error.cause.errors holds that and the failure it was asked about`,
  DEADLINE_PASSED: (d) =>
    `the deadline of "${d.operation}" passed ${d.attempt === 0 ? 'before it started' : `during attempt ${d.attempt}`}; give the operation more time or make its attempts shorter`,
  EVENT_LINE_INVALID: (d) =>
    `line ${d.line} of the event stream is not JSON; it was cut off on the way, or the answer is not a stream of event lines`,
  HTTP_BODY_INVALID: (d) =>
    `the answer to "${d.operation}" (${d.url}, status ${d.status}) is not what was asked for: ${d.problem}; ${BODY_ADVICE[d.reason]}; the request id was ${d.requestId}`,
  HTTP_BODY_TOO_LARGE: (d) =>
    `the answer to "${d.operation}" is larger than ${d.limitBytes} bytes; raise maxBodyBytes if that size is expected`,
  HTTP_NO_ANSWER: (d) =>
    `"${d.operation}" (${d.method} ${d.url}) got no complete answer ${d.timeoutMs === undefined ? `(${d.problem})` : `within ${d.timeoutMs} ms`}${notRepeated(d)}; ${d.timeoutMs === undefined ? 'see that the service runs and can be reached from here' : 'raise timeoutMs if the service is known to be that slow'}; the request id was ${d.requestId}`,
  HTTP_REDIRECT_REFUSED: (d) =>
    `"${d.operation}" was redirected (status ${d.status}) to ${d.location}; call that address directly, or allow redirects for this client`,
  HTTP_STATUS: (d) =>
    `"${d.operation}" (${d.method} ${d.url}) answered ${d.status}${notRepeated(d)}; look for request id ${d.requestId} in the service's log`,
  INVALID_OPTIONS: (d) =>
    `${d.of} cannot work as written: ${d.problems.map((p) => `${p.option} is ${p.found}; ${p.write}`).join(' · ')}`,
  LLM_CONTENT_REFUSED: (d) =>
    `the model gave no answer because its content was refused (${d.finishReason}); change the prompt, the same one is refused again`,
  LLM_ERROR_IN_ANSWER: (d) =>
    `the provider answered 200 with an error in the body (${d.code ?? d.type ?? 'no code'}); look that code up in the provider's documentation`,
  PAYLOAD_INVALID: (d) =>
    `a payload of "${d.type}" was refused, nothing was stored: ${d.problem}; send what the event's schema and JSON can hold`,
  PAYLOAD_TOO_LARGE: (d) =>
    `a payload of "${d.type}" has ${d.bytes} bytes and the limit is ${d.limitBytes}; keep the data elsewhere and send its address`,
  RETRY_STOPPED: (d) =>
    d.attempts === 0
      ? `"${d.operation}" was not started (${d.reason}): its time had passed before the first attempt`
      : `"${d.operation}" gave up after ${d.attempts} ${d.attempts === 1 ? 'attempt' : 'attempts'} and ${d.waitedMs} ms of waiting (${d.reason}); the last failure was ${describeFailure(d.lastFailure)} and is in error.cause`,
  SCHEMA_TOO_NEW: (d) =>
    `the database schema is at version ${d.found} and this release knows versions up to ${d.known}; install the release that migrated it, or a newer one`,
  STREAM_EVENT_TOO_LARGE: (d) =>
    `one event of the stream is longer than ${d.limitChars} characters; raise maxEventChars if that size is expected`,
  STREAM_NOT_SSE: (d) =>
    `this is not an event stream: the body begins with ${d.found}; check response.ok before you read it, ask the provider to stream ("stream": true), and look at the address`,
  STREAM_TIMEOUT: (d) =>
    `the stream ran into timeouts.${d.phase} (${d.timeoutMs} ms); raise it if the provider is known to be that slow`,
  STREAM_TRUNCATED: (d) =>
    `the stream ended without its closing event after ${d.contentChunks} ${d.contentChunks === 1 ? 'piece' : 'pieces'} of content (${d.contentLength} characters); treat what was received as incomplete`,
  TRANSACTION_NOT_OPEN: (d) =>
    `no transaction is open on this ${d.client} object, so its statement could be kept when your own are rolled back; pass the transaction itself, after awaiting its begin and before it ends`,
  TRANSACTION_UNKNOWN: (d) =>
    `${d.found === 'Promise' ? 'a Promise is not a transaction, await it first' : `${d.found} is not a transaction this package knows`}; pass the transaction object of pg, postgres.js, Drizzle, Kysely or PGlite as it is`,
};

function describeFailure({ kind, status, code }: { kind: string; status?: number; code?: string }): string {
  const facts = [
    ...(status === undefined ? [] : [`status ${status}`]),
    ...(code === undefined ? [] : [`code ${code}`]),
  ];
  return facts.length === 0 ? `of kind ${kind}` : `of kind ${kind} (${facts.join(', ')})`;
}

function notRepeated(d: { method: string; notRepeated?: NotRepeated }): string {
  if (d.notRepeated === undefined) return '';
  const why: Readonly<Record<NotRepeated, string>> = {
    'unsafe-replay': `a ${d.method} without idempotencyKey may have been acted on`,
    declared: 'the request says repeatable: false, and may have been acted on',
    'stream-body': 'the body was a stream, which can be sent once',
  };
  return `; not repeated: ${why[d.notRepeated]}`;
}
