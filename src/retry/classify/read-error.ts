import { isHoldfastError } from '../../kernel/error.ts';
import { amqpRule, kafkaRule } from './broker-codes.ts';
import { field, nameOf, textField, wholeField } from './field.ts';
import { GRPC_STATUSES } from './grpc-status.ts';
import { NAMES } from './names.ts';
import { NETWORK_CODES } from './network-codes.ts';
import { OWN_CODES } from './own-codes.ts';
import { AWS_THROTTLING, PROVIDER_CODES } from './provider-codes.ts';
import { REDIS_CODES, redisCode } from './redis-codes.ts';
import type { Rule } from './rule.ts';
import { sqlstateRule } from './sqlstate-rule.ts';
import { statusRule } from './status-rule.ts';

/** What one thrown value says by itself, its causes left aside. */
export interface Reading extends Rule {
  readonly status?: number;
  readonly code?: string;
}

type Read = (error: unknown) => Reading | undefined;

// The most particular first: a gRPC error also has a `code`, an AWS error also has a status.
const READERS: readonly Read[] = [
  readOwn,
  readGrpc,
  readAws,
  readKafka,
  readAmqp,
  readRedis,
  readInvalid,
  readHttp,
  readSql,
  readCode,
  readName,
];

/** Reads one thrown value by its codes, status and class name; never by its message. */
export function readError(error: unknown): Reading {
  for (const read of READERS) {
    const reading = read(error);
    if (reading) return reading;
  }
  const code = textField(error, 'code');
  return code === undefined ? { kind: 'unknown' } : { kind: 'unknown', code };
}

/** The HTTP status of an answer that was thrown, in the places where clients put it. */
function statusOf(error: unknown): number | undefined {
  const places = [['status'], ['statusCode'], ['response', 'status'], ['response', 'statusCode']];
  // Below 300 it is no failed answer but the exit code of a process or an answer that could not be parsed.
  return places.map((path) => wholeField(error, ...path)).find((n) => n !== undefined && n >= 300 && n <= 599);
}

function readOwn(error: unknown): Reading | undefined {
  if (!isHoldfastError(error)) return undefined;
  const status = wholeField(error, 'details', 'status');
  const rule = error.code === 'HTTP_STATUS' && status !== undefined ? statusRule(status) : ruleOf(error.code);
  return rule && { ...rule, code: error.code, ...(status === undefined ? {} : { status }) };
}

/** Another copy of the package may have codes that this one does not know. */
function ruleOf(code: string): Rule | undefined {
  return Object.hasOwn(OWN_CODES, code) ? OWN_CODES[code as keyof typeof OWN_CODES] : undefined;
}

function readGrpc(error: unknown): Reading | undefined {
  const status = GRPC_STATUSES[wholeField(error, 'code') ?? -1];
  if (!status || typeof field(error, 'details') !== 'string' || typeof field(error, 'metadata') !== 'object')
    return undefined;
  const { name, ...rule } = status;
  return { ...rule, code: name };
}

function readAws(error: unknown): Reading | undefined {
  if (typeof field(error, '$metadata') !== 'object') return undefined;
  const status = wholeField(error, '$metadata', 'httpStatusCode');
  const code = nameOf(error) ?? 'Error';
  const facts = status === undefined ? { code } : { code, status };
  if (AWS_THROTTLING.has(code) || field(error, '$retryable', 'throttling') === true) {
    return { kind: 'rate-limit', verdict: 'retry', ...facts };
  }
  if (typeof field(error, '$retryable') === 'object') return { kind: 'http', verdict: 'retry', ...facts };
  return status === undefined ? undefined : { ...statusRule(status), ...facts };
}

function readKafka(error: unknown): Reading | undefined {
  const name = nameOf(error) ?? '';
  const text = textField(error, 'code');
  const number = wholeField(error, 'code') ?? wholeField(error, 'apiCode');
  const retriable = ['retriable', 'canRetry', 'isRetriable'].some((flag) => field(error, flag) === true);
  if (name.startsWith('KafkaJS')) {
    const code = textField(error, 'type') ?? text ?? (number === undefined ? name : String(number));
    const rule =
      NAMES.get(name) ?? NETWORK_CODES.get(text ?? '') ?? kafkaRule(number, number !== undefined && retriable);
    return { ...rule, code, likelyTransient: retriable };
  }
  if (text?.startsWith('PLT_KFK_')) {
    return { ...(NAMES.get(text) ?? kafkaRule(number, retriable)), code: textField(error, 'apiId') ?? text };
  }
  if (number !== undefined && (name === 'LibrdKafkaError' || typeof field(error, 'isRetriable') === 'boolean')) {
    return { ...kafkaRule(number, retriable), code: String(number) };
  }
  return undefined;
}

function readAmqp(error: unknown): Reading | undefined {
  const replyCode = wholeField(error, 'code');
  if (replyCode === undefined) return undefined;
  const isChannelClose = wholeField(error, 'classId') !== undefined && wholeField(error, 'methodId') !== undefined;
  // A closed connection brings the reply code alone; these two numbers are nobody else's.
  const isConnectionClose = replyCode === 320 || replyCode === 541;
  return isChannelClose || isConnectionClose ? { ...amqpRule(replyCode), code: String(replyCode) } : undefined;
}

const REDIS_REPLIES = ['ReplyError', 'ErrorReply', 'SimpleError', 'BlobError'];

function readRedis(error: unknown): Reading | undefined {
  const name = nameOf(error) ?? '';
  if (REDIS_REPLIES.includes(name)) {
    const code = textField(error, 'code') ?? redisCode(textField(error, 'message') ?? '');
    return code === undefined ? { kind: 'database' } : { ...(REDIS_CODES.get(code) ?? { kind: 'database' }), code };
  }
  // ioredis gives up a sent command when the connection closes; it hangs the command on the error.
  const isFlushed = name === 'AbortError' && typeof field(error, 'command', 'name') === 'string';
  return isFlushed ? { kind: 'network', verdict: 'retry', code: name } : undefined;
}

/** Any validator that speaks Standard Schema throws (or hangs on its error) a list of issues with messages. */
function readInvalid(error: unknown): Reading | undefined {
  const issues = field(error, 'issues');
  if (!Array.isArray(issues) || textField(issues[0], 'message') === undefined) return undefined;
  return { kind: 'invalid', verdict: 'fail', code: nameOf(error) ?? 'issues' };
}

const PROVIDER_CODE_PLACES = [
  ['code'],
  ['type'],
  ['error', 'code'],
  ['error', 'type'],
  ['error', 'error', 'code'],
  ['error', 'error', 'type'],
  ['data', 'error', 'code'],
  ['data', 'error', 'type'],
];

function readHttp(error: unknown): Reading | undefined {
  const status = statusOf(error);
  const codes = PROVIDER_CODE_PLACES.map((path) => textField(error, ...path)).filter((code) => code !== undefined);
  const known = codes.find((code) => PROVIDER_CODES.has(code));
  const byCode = PROVIDER_CODES.get(known ?? '');
  const likelyTransient = field(error, 'isRetryable') === true;
  if (status === undefined) return byCode && { ...byCode, code: known ?? '', likelyTransient };
  const byStatus = statusRule(status);
  const rule = byCode && (byCode.kind === 'quota' || byStatus.verdict === undefined) ? byCode : byStatus;
  const code = known ?? codes[0];
  return { ...rule, status, likelyTransient, ...(code === undefined ? {} : { code }) };
}

function readSql(error: unknown): Reading | undefined {
  const code = textField(error, 'code') ?? '';
  const hasSeverity = textField(error, 'severity') !== undefined;
  // A leading digit is a SQLSTATE and nothing else; a leading letter may be Node's EPIPE.
  const state = (hasSeverity ? /^[0-9A-Z]{5}$/ : /^[0-9][0-9A-Z]{4}$/).test(code)
    ? code
    : (textField(error, 'sqlState') ?? '');
  return /^[0-9A-Z]{5}$/.test(state) ? { ...sqlstateRule(state), code: state } : undefined;
}

function readCode(error: unknown): Reading | undefined {
  const code = textField(error, 'code') ?? '';
  const rule = NETWORK_CODES.get(code);
  return rule && { ...rule, code };
}

function readName(error: unknown): Reading | undefined {
  const name = nameOf(error) ?? '';
  // Not every AbortError is an abort: some libraries use the name for "do not retry". The platform's is a DOMException.
  const isAbort =
    name === 'AbortError' &&
    (Object.prototype.toString.call(error) === '[object DOMException]' || field(error, 'type') === 'aborted');
  const rule: Reading | undefined = isAbort ? { kind: 'timeout', verdict: 'retry' } : NAMES.get(name);
  return rule && { ...rule, code: textField(error, 'code') ?? name };
}
