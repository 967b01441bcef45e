import {
  type CallbackTarget,
  type FlowRules,
  HTTP_METHODS,
  type HttpMethod,
  type SendRules,
} from '../delivery/delivery-request.ts';
import { canonicalName } from '../delivery/header-lists.ts';
import type { PublishRequest } from '../delivery/publishing.ts';
import { isHoldfastError } from '../kernel/error.ts';
import { type CompiledExpression, compileExpression } from '../retry/expression.ts';
import { GOOD_NAME, readAddress } from './destination.ts';
import { destinationHeaders, forwardedHeaders, type HeaderMap } from './message-headers.ts';
import { badRequest, GUIDE, Refusal } from './refusal.ts';
import { readCount, readDuration, readFlag, readFlow, readHidden, readList } from './setting-values.ts';

/** What the headers of a message say of it. */
export interface MessageSettings {
  readonly delivery: Omit<PublishRequest['delivery'], 'body' | 'bodyBase64' | 'callerIp'>;
  readonly notBefore: Date | undefined;
  readonly delayMs: number | undefined;
  readonly deduplication: PublishRequest['deduplication'];
  readonly flow: FlowRules | undefined;
  readonly cron: string | undefined;
}

/** How far ahead a message may be, and what time it is. */
export interface SettingLimits {
  readonly nowMs: number;
  readonly maxDelayMs: number;
}

const DEFAULT_RETRIES = 3;
const MOST_RETRIES = 1_000;
const LONGEST_ID = 1_000;
/** For how many retries an expression is tried when it is set: a batch may have a thousand of them. */
const TRIED_RETRIES = 20;

/** Reads what `Upstash-…` headers say. Whatever cannot be meant is refused with 400, what is too far ahead with 412. */
export function readSettings(headers: HeaderMap, limits: SettingLimits): MessageSettings {
  refuseWorkflows(headers);
  const flowKey = textOf(headers, 'upstash-flow-control-key');
  const queue = textOf(headers, 'upstash-queue-name');
  const scheduleId = textOf(headers, 'upstash-schedule-id');
  if (queue !== undefined) goodName('Upstash-Queue-Name', queue);
  if (scheduleId !== undefined) goodName('Upstash-Schedule-Id', scheduleId);
  const rules = sendRules(headers, 'upstash-', DEFAULT_RETRIES);
  const labels = given(headers, 'upstash-label', (_name, text) => readList(text));
  const hidden = given(headers, 'upstash-redact-fields', readHidden);
  const callback = callbackOf(headers, 'upstash-callback', rules.retries);
  const failureCallback = callbackOf(headers, 'upstash-failure-callback', rules.retries);
  const delayMs = given(headers, 'upstash-delay', readDuration);
  return {
    delivery: {
      ...rules,
      headers: destinationHeaders(headers, readFlag(headers.get('upstash-header-forward'))),
      ...(callback && { callback }),
      ...(failureCallback && { failureCallback }),
      ...(queue !== undefined && { queue }),
      ...(flowKey !== undefined && { flowKey }),
      ...(scheduleId !== undefined && { scheduleId }),
      ...(labels && labels.length > 0 && { labels }),
      ...(hidden && { hidden }),
    },
    notBefore: notBeforeOf(headers, delayMs, limits),
    delayMs,
    deduplication: deduplicationOf(headers),
    flow: flowKey === undefined ? undefined : given(headers, 'upstash-flow-control-value', readFlow),
    cron: textOf(headers, 'upstash-cron'),
  };
}

/** What replaying takes: rules that stand in the place of the message's. */
export function replayRules(headers: HeaderMap): Partial<SendRules> | undefined {
  const { retries, retryDelay, timeoutMs } = sendRules(headers, 'upstash-', -1);
  if (retries < 0 && retryDelay === undefined && timeoutMs === undefined) return undefined;
  return {
    ...(retries >= 0 && { retries }),
    ...(retryDelay !== undefined && { retryDelay }),
    ...(timeoutMs !== undefined && { timeoutMs }),
  };
}

function sendRules(headers: HeaderMap, prefix: string, defaultRetries: number): SendRules {
  const count = given(headers, `${prefix}retries`, (name, text) => readCount(name, text, 0, MOST_RETRIES));
  const retries = count ?? defaultRetries;
  const retryDelay = given(headers, `${prefix}retry-delay`, (name, text) => readExpression(name, text, retries));
  const timeoutMs = given(headers, `${prefix}timeout`, readTimeout);
  return {
    method: given(headers, `${prefix}method`, readMethod) ?? 'POST',
    retries,
    ...(retryDelay !== undefined && { retryDelay }),
    ...(timeoutMs !== undefined && { timeoutMs }),
  };
}

function callbackOf(headers: HeaderMap, name: string, retries: number): CallbackTarget | undefined {
  const url = textOf(headers, name);
  if (url === undefined) return undefined;
  if (headers.has(`${name}-delay`)) {
    throw badRequest(`${canonicalName(name)}-Delay is not supported: callbacks leave at once; see ${GUIDE}`);
  }
  return {
    url: readAddress(url, `invalid ${canonicalName(name)}`),
    headers: forwardedHeaders(headers, `${name}-`),
    ...sendRules(headers, `${name}-`, retries),
  };
}

/** A time of its own beats a delay. */
function notBeforeOf(headers: HeaderMap, delayMs: number | undefined, limits: SettingLimits): Date | undefined {
  const seconds = given(headers, 'upstash-not-before', (name, text) => readCount(name, text, 0, 32_503_680_000));
  const atMs = seconds === undefined ? (delayMs ?? 0) + limits.nowMs : seconds * 1_000;
  if (atMs - limits.nowMs > limits.maxDelayMs) {
    throw new Refusal(
      412,
      `the message is due in more than ${limits.maxDelayMs / 86_400_000} days, the most there is here`,
    );
  }
  return atMs > limits.nowMs ? new Date(atMs) : undefined;
}

function deduplicationOf(headers: HeaderMap): PublishRequest['deduplication'] {
  const id = textOf(headers, 'upstash-deduplication-id');
  if (id === undefined) {
    return readFlag(headers.get('upstash-content-based-deduplication')) ? { content: true } : undefined;
  }
  if (id.length > LONGEST_ID) throw badRequest(`Upstash-Deduplication-Id has more than ${LONGEST_ID} characters`);
  return { id };
}

function readMethod(name: string, text: string): HttpMethod {
  const method = HTTP_METHODS.find((one) => one === text.trim().toUpperCase());
  if (method === undefined) throw badRequest(`${name} is ${JSON.stringify(text)}; write ${HTTP_METHODS.join(', ')}`);
  return method;
}

function readTimeout(name: string, text: string): number {
  const ms = readDuration(name, text);
  if (ms < 1) throw badRequest(`${name} is ${JSON.stringify(text)}; write a time such as 30s`);
  return ms;
}

/** An expression with a finite result for each retry; `retries` below 0: how many there will be is not known here. */
function readExpression(name: string, text: string, retries: number): string {
  const expression = compiled(name, text);
  const tried = retries < 0 ? TRIED_RETRIES : Math.min(TRIED_RETRIES, Math.max(1, retries));
  for (let retried = 0; retried < tried; retried++) {
    if (Number.isFinite(expression.evaluate(retried))) continue;
    throw badRequest(
      `${name} is ${JSON.stringify(text)}, which has no finite result for retried = ${retried}; write one that has, such as 1000 * (1 + retried)`,
    );
  }
  return text;
}

function compiled(name: string, text: string): CompiledExpression {
  try {
    return compileExpression(text);
  } catch (error) {
    if (!isHoldfastError(error, 'BAD_EXPRESSION')) throw error;
    throw badRequest(`${name} cannot be read: ${error.message}`);
  }
}

/** Steps of a workflow that nothing runs would be delivered as plain messages, and fail at their destination. */
function refuseWorkflows(headers: HeaderMap): void {
  for (const name of headers.keys()) {
    if (!/^upstash-(?:(?:failure-)?callback-)?workflow-/.test(name)) continue;
    throw badRequest(
      `${canonicalName(name)} belongs to a workflow, and workflows are not supported here; see ${GUIDE}`,
    );
  }
}

/** A name of a queue or a schedule. */
export function goodName(what: string, name: string): string {
  if (GOOD_NAME.test(name)) return name;
  throw badRequest(
    `${what} is ${JSON.stringify(name)}; write letters, digits, dots, dashes and underscores, 200 at most`,
  );
}

function textOf(headers: HeaderMap, name: string): string | undefined {
  const text = headers.get(name)?.trim();
  return text === '' ? undefined : text;
}

function given<T>(headers: HeaderMap, name: string, read: (name: string, text: string) => T): T | undefined {
  const text = textOf(headers, name);
  return text === undefined ? undefined : read(canonicalName(name), text);
}
