import { isHoldfastError } from '../../kernel/error.ts';
import { amqpRule, kafkaRule } from './broker-codes.ts';
import { readFailedFetch } from './failed-fetch.ts';
import { field, textField, wholeField } from './field.ts';
import { GRPC_STATUSES } from './grpc-status.ts';
import { NAMES } from './names.ts';
import { NETWORK_CODES } from './network-codes.ts';
import { OWN_CODES } from './own-codes.ts';
import { prismaState } from './prisma-state.ts';
import { readBug } from './programming-error.ts';
import { AWS_THROTTLING } from './provider-codes.ts';
import { readAnswer } from './read-answer.ts';
import { REDIS_CODES, redisCode } from './redis-codes.ts';
import type { Reading, Rule } from './rule.ts';
import { sqlstateRule } from './sqlstate-rule.ts';
import { statusRule } from './status-rule.ts';
import type { Thrown } from './thrown.ts';

// The most particular first: a gRPC error also has a `code`, an AWS error also has a status.
const READERS: readonly ((thrown: Thrown) => Reading | undefined)[] = [
  readOwn,
  readGrpc,
  readAws,
  readKafka,
  readAmqp,
  readRedis,
  readInvalid,
  readAnswer,
  readSql,
  readCode,
  readName,
  readFailedFetch,
  readBug,
];

/** What one thrown value says by itself: by its codes, status and class name; by its message only where a browser's `fetch` gives nothing else. */
export function readError(thrown: Thrown): Reading {
  for (const read of READERS) {
    const reading = read(thrown);
    if (reading) return reading;
  }
  return thrown.textCode === '' ? { kind: 'unknown' } : { kind: 'unknown', code: thrown.textCode };
}

// Prisma, TypeORM and MikroORM put an error of their own around what a client throws, and keep no more of it than its code.
const REFUSED = 'TRANSACTION_CONTROL';

function readOwn({ error, textCode }: Thrown): Reading | undefined {
  if (!isHoldfastError(error)) return textCode === REFUSED ? { ...OWN_CODES[REFUSED], code: REFUSED } : undefined;
  const status = wholeField(error.details, 'status');
  const rule = error.code === 'HTTP_STATUS' && status !== undefined ? statusRule(status) : ownRule(error.code);
  return rule && { ...rule, code: error.code, ...(status === undefined ? {} : { status }) };
}

/** Another copy of the package may have codes that this one does not know. */
function ownRule(code: string): Rule | undefined {
  return Object.hasOwn(OWN_CODES, code) ? OWN_CODES[code as keyof typeof OWN_CODES] : undefined;
}

function readGrpc({ error, numberCode }: Thrown): Reading | undefined {
  const status = numberCode === undefined ? undefined : GRPC_STATUSES[numberCode];
  if (!status || typeof field(error, 'details') !== 'string' || typeof field(error, 'metadata') !== 'object') {
    return undefined;
  }
  const { name, ...rule } = status;
  return { ...rule, code: name };
}

function readAws({ error, name }: Thrown): Reading | undefined {
  const metadata = field(error, '$metadata');
  if (typeof metadata !== 'object') return undefined;
  const status = wholeField(metadata, 'httpStatusCode');
  const facts = status === undefined ? { code: name } : { code: name, status };
  const retryable = field(error, '$retryable');
  if (AWS_THROTTLING.has(name) || field(retryable, 'throttling') === true) {
    return { kind: 'rate-limit', verdict: 'retry', ...facts };
  }
  if (typeof retryable === 'object') return { kind: 'http', verdict: 'retry', ...facts };
  return status === undefined ? undefined : { ...statusRule(status), ...facts };
}

function readKafka({ error, name, textCode, numberCode }: Thrown): Reading | undefined {
  if (name.startsWith('KafkaJS')) {
    const retriable = field(error, 'retriable') === true;
    const code = textField(error, 'type') ?? (textCode || String(numberCode ?? name));
    const rule = NAMES.get(name) ?? NETWORK_CODES.get(textCode) ?? kafkaRule(numberCode, retriable);
    return { ...rule, code, likelyTransient: retriable };
  }
  if (textCode.startsWith('PLT_KFK_')) {
    const rule = NAMES.get(textCode) ?? kafkaRule(wholeField(error, 'apiCode'), field(error, 'canRetry') === true);
    return { ...rule, code: textField(error, 'apiId') ?? textCode };
  }
  const isRetriable = numberCode === undefined ? undefined : field(error, 'isRetriable');
  if (typeof isRetriable !== 'boolean' && name !== 'LibrdKafkaError') return undefined;
  return { ...kafkaRule(numberCode, isRetriable === true), code: String(numberCode) };
}

function readAmqp({ error, numberCode }: Thrown): Reading | undefined {
  if (numberCode === undefined) return undefined;
  const isChannelClose = wholeField(error, 'classId') !== undefined && wholeField(error, 'methodId') !== undefined;
  // A closed connection brings the reply code alone; these two numbers are nobody else's.
  const isConnectionClose = numberCode === 320 || numberCode === 541;
  return isChannelClose || isConnectionClose ? { ...amqpRule(numberCode), code: String(numberCode) } : undefined;
}

const REDIS_REPLIES = ['ReplyError', 'ErrorReply', 'SimpleError', 'BlobError'];

function readRedis({ error, name, textCode }: Thrown): Reading | undefined {
  if (REDIS_REPLIES.includes(name)) {
    const code = textCode || redisCode(textField(error, 'message') ?? '');
    return code === undefined ? { kind: 'database' } : { ...(REDIS_CODES.get(code) ?? { kind: 'database' }), code };
  }
  // ioredis gives up a sent command when the connection closes; it hangs the command on the error.
  const isFlushed = name === 'AbortError' && textField(error, 'command', 'name') !== undefined;
  return isFlushed ? { kind: 'network', verdict: 'retry', code: name } : undefined;
}

/** Any validator that speaks Standard Schema throws (or hangs on its error) a list of issues with messages. */
function readInvalid({ error, name }: Thrown): Reading | undefined {
  const issues = field(error, 'issues');
  if (!Array.isArray(issues) || textField(issues[0], 'message') === undefined) return undefined;
  return { kind: 'invalid', verdict: 'fail', code: name };
}

function readSql({ error, textCode }: Thrown): Reading | undefined {
  // A leading digit is a SQLSTATE and nothing else; a leading letter may be Node's EPIPE.
  const isState =
    /^[0-9][0-9A-Z]{4}$/.test(textCode) ||
    (/^[A-Z][0-9A-Z]{4}$/.test(textCode) && textField(error, 'severity') !== undefined);
  const state = isState ? textCode : (textField(error, 'sqlState') ?? prismaState(error));
  return state === undefined ? undefined : { ...sqlstateRule(state), code: state };
}

function readCode({ textCode }: Thrown): Reading | undefined {
  const rule = NETWORK_CODES.get(textCode);
  return rule && { ...rule, code: textCode };
}

function readName({ error, name, textCode }: Thrown): Reading | undefined {
  const rule = name === 'AbortError' && isAbort(error) ? ABORTED : NAMES.get(name);
  return rule && { ...rule, code: textCode || name };
}

const ABORTED: Rule = { kind: 'timeout', verdict: 'retry' };

/**
 * Some libraries use the name for "do not retry". The platform's is a DOMException, node-fetch's has a type. Whose abort it
 * was cannot be told; `network-codes.ts` says why it counts as a timeout.
 */
function isAbort(error: unknown): boolean {
  return Object.prototype.toString.call(error) === '[object DOMException]' || field(error, 'type') === 'aborted';
}
