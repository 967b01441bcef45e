import { OptionCheck } from '../kernel/check-options.ts';
import type { Effects } from '../kernel/effects.ts';
import type { LogFields, Logger } from '../kernel/log.ts';
import { allObservers } from '../retry/all-observers.ts';
import { checkPolicy } from '../retry/check-policy.ts';
import type { Classify } from '../retry/failure.ts';
import { type Policy, type PolicyOptions, toPolicy } from '../retry/policy.ts';
import type { RetryObserver } from '../retry/retry-event.ts';
import type { RetryStrategy } from '../retry/strategy.ts';
import { systemEffects } from '../system/effects.ts';
import type { StreamTimeouts } from './attempt-timer.ts';
import type { StreamAdapter } from './chunk-meaning.ts';
import type { OpenStream } from './stream-attempt.ts';
import { policyPlan, strategyPlan, type WaitPlan } from './wait-plan.ts';

/** What `retryStream` takes. */
export interface RetryStreamOptions<Chunk> {
  /** Makes the provider request, once for each attempt. Switch the client's own retries off (`maxRetries: 0`). */
  readonly open: OpenStream<Chunk>;
  /** Knows the provider's format: `openaiChat`, `openaiResponses`, `anthropicMessages`, `aiSdk`, `sse()`, or your own. */
  readonly adapter: StreamAdapter<Chunk>;
  /**
   * When to try again. A strategy is taken exactly as it is. A policy (or its options) adds the server's `Retry-After`
   * as a floor and counts `maxElapsedMs` from this call; its `timeoutMs` bounds the time to the first content.
   * Left out: no retry, and the provider's stream passes through untouched, chunk by chunk; the adapter is only asked
   * when there are `timeouts`.
   */
  readonly retry?: RetryStrategy | Policy | PolicyOptions | undefined;
  /** Written into every retry event. */
  readonly conversationId: string;
  /** Written into every retry event. */
  readonly turnId: string;
  /** Ends the stream: it throws the signal's reason at once, while reading and while waiting, and opens nothing more. */
  readonly signal?: AbortSignal | undefined;
  /** Asked first about each thrown error; `undefined` leaves the answer to the default rules for streams. */
  readonly classify?: Classify | undefined;
  /**
   * Bounds of each attempt. Default: none, but for the policy's `timeoutMs`. Passed before content they are retried,
   * afterwards they end the stream.
   */
  readonly timeouts?: StreamTimeouts | undefined;
  /** Default true: a stream that ends without its closing event has failed. Only for providers that send none. */
  readonly requireEnd?: boolean | undefined;
  /** How many chunks of preamble are held back at most; with more the stream counts as begun. Default 1,000. */
  readonly maxHeldChunks?: number | undefined;
  /** Handed to `open` on every attempt. */
  readonly idempotencyKey?: string | undefined;
  /** The name in logs, spans and counters. Default `'provider-stream'`. */
  readonly operation?: string | undefined;
  /** One line for each attempt, wait and stop. Default: none. */
  readonly logger?: Logger | undefined;
  /** Written to every log line, beside `conversationId` and `turnId`. */
  readonly logFields?: LogFields | undefined;
  /** Sees every attempt, wait and stop. What it throws is ignored. */
  readonly observe?: RetryObserver | undefined;
  /** Clock, timers and chance; for tests. */
  readonly effects?: Effects | undefined;
}

/** Checked options with the defaults filled in. */
export interface StreamPlan<Chunk> extends Pick<
  RetryStreamOptions<Chunk>,
  'open' | 'adapter' | 'conversationId' | 'turnId' | 'signal' | 'classify' | 'logger' | 'idempotencyKey'
> {
  /** Makes the waits of one run; absent when the stream just passes through. */
  readonly waits: (() => WaitPlan) | undefined;
  readonly timeouts: StreamTimeouts;
  /** True when any bound is set. */
  readonly isBounded: boolean;
  readonly requireEnd: boolean;
  readonly maxHeldChunks: number;
  readonly operation: string;
  readonly logFields: LogFields;
  readonly effects: Effects;
  readonly emit: RetryObserver;
}

const FIELDS: readonly (keyof RetryStreamOptions<unknown>)[] = [
  'open',
  'adapter',
  'retry',
  'conversationId',
  'turnId',
  'signal',
  'classify',
  'timeouts',
  'requireEnd',
  'maxHeldChunks',
  'idempotencyKey',
  'operation',
  'logger',
  'logFields',
  'observe',
  'effects',
];

const BOUNDS: readonly (keyof StreamTimeouts)[] = ['openMs', 'firstContentMs', 'idleMs', 'totalMs'];

const LOG_LEVELS = ['debug', 'info', 'warn', 'error'];
const EFFECTS = ['now', 'random', 'setTimer', 'clearTimer'];

/** Checks the options of one stream; throws `INVALID_OPTIONS` with everything that is wrong. */
export function planStream<Chunk>(options: RetryStreamOptions<Chunk>): StreamPlan<Chunk> {
  checkOptions(options);
  const { retry, logger, observe, effects = systemEffects } = options;
  const logFields = { ...options.logFields, conversationId: options.conversationId, turnId: options.turnId };
  const policy = retry === undefined || 'delayFor' in retry ? undefined : toPolicy(retry);
  const strategy = retry !== undefined && 'delayFor' in retry ? retry : undefined;
  const timeouts = boundsOf(options.timeouts, policy);
  return {
    open: options.open,
    adapter: options.adapter,
    conversationId: options.conversationId,
    turnId: options.turnId,
    signal: options.signal,
    classify: options.classify,
    logger,
    idempotencyKey: options.idempotencyKey,
    waits: policy ? () => policyPlan(policy, effects) : strategy && (() => strategyPlan(strategy)),
    timeouts,
    isBounded: Object.keys(timeouts).length > 0,
    requireEnd: options.requireEnd ?? true,
    maxHeldChunks: options.maxHeldChunks ?? 1_000,
    operation: options.operation ?? 'provider-stream',
    logFields,
    effects,
    emit: allObservers({ ...(logger && { logger }), ...(observe && { observe }), logFields }) ?? (() => undefined),
  };
}

/** The bounds that are really there. One given as `undefined` is left out; `Infinity` takes the policy's off. */
function boundsOf(timeouts: StreamTimeouts = {}, policy: Policy | undefined): StreamTimeouts {
  const given = { ...timeouts, firstContentMs: timeouts.firstContentMs ?? policy?.timeoutMs };
  return Object.fromEntries(Object.entries(given).filter(([, ms]) => ms !== undefined && ms !== Infinity));
}

function checkOptions<Chunk>(options: RetryStreamOptions<Chunk>): void {
  const check = new OptionCheck('retryStream()');
  if (!check.object('options', options, 'pass { open, adapter, conversationId, turnId }')) return check.done();
  check.known(options, FIELDS);
  const { open, adapter, retry, signal, requireEnd, maxHeldChunks } = options;
  if (typeof open !== 'function')
    check.refuse('open', open, 'pass a function that makes the request and gives its stream');
  if (!hasFunctions(adapter, ['reader'])) {
    check.refuse('adapter', adapter, 'pass openaiChat, openaiResponses, anthropicMessages, aiSdk, sse() or { reader }');
  }
  for (const id of ['conversationId', 'turnId'] as const) {
    if (!isText(options[id])) check.refuse(id, options[id], 'write a non-empty string');
  }
  if (retry !== undefined) checkRetry(check, retry);
  if (signal !== undefined && !isSignal(signal)) check.refuse('signal', signal, 'pass an AbortSignal');
  checkTimeouts(check, options.timeouts);
  if (requireEnd !== undefined && typeof requireEnd !== 'boolean')
    check.refuse('requireEnd', requireEnd, 'write true or false');
  if (maxHeldChunks !== undefined) {
    check.number('maxHeldChunks', maxHeldChunks, { min: 0, integer: true, write: 'write a whole number from 0' });
  }
  for (const name of ['operation', 'idempotencyKey'] as const) {
    if (options[name] !== undefined && !isText(options[name]))
      check.refuse(name, options[name], 'write a non-empty string, or leave it out');
  }
  checkListeners(check, options);
  check.done();
}

function checkListeners<Chunk>(check: OptionCheck, options: RetryStreamOptions<Chunk>): void {
  const { logger, logFields, effects } = options;
  for (const name of ['classify', 'observe'] as const) {
    if (options[name] !== undefined && typeof options[name] !== 'function')
      check.refuse(name, options[name], 'pass a function');
  }
  if (logger !== undefined && !hasFunctions(logger, LOG_LEVELS))
    check.refuse('logger', logger, 'pass an object with debug, info, warn and error, such as a pino logger');
  if (logFields !== undefined) check.object('logFields', logFields, 'pass an object of fields');
  if (effects !== undefined && !hasFunctions(effects, EFFECTS))
    check.refuse('effects', effects, 'pass virtualTime() in tests, or leave it out');
}

function checkRetry(check: OptionCheck, retry: unknown): void {
  const isStrategy = typeof retry === 'object' && retry !== null && ('delayFor' in retry || 'sleep' in retry);
  if (!isStrategy) checkPolicy(check, 'retry', retry);
  else if (!hasFunctions(retry, ['delayFor', 'sleep']))
    check.refuse('retry', retry, 'pass { delayFor, sleep }, a policy such as llmProvider, or leave it out');
}

function checkTimeouts(check: OptionCheck, timeouts: StreamTimeouts | undefined): void {
  if (timeouts === undefined || !check.object('timeouts', timeouts, `pass { ${BOUNDS.join(', ')} }`)) return;
  check.known(timeouts, BOUNDS, 'timeouts.');
  for (const bound of BOUNDS) {
    const ms = timeouts[bound];
    const write = 'write milliseconds from 1, or leave it out';
    if (ms !== undefined) check.number(`timeouts.${bound}`, ms, { min: 1, max: Infinity, write });
  }
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function isSignal(value: unknown): boolean {
  return (
    hasFunctions(value, ['addEventListener', 'removeEventListener']) &&
    typeof (value as AbortSignal).aborted === 'boolean'
  );
}

function hasFunctions(value: unknown, names: readonly string[]): boolean {
  const fields = value as Readonly<Record<string, unknown>> | null | undefined;
  return names.every((name) => typeof fields?.[name] === 'function');
}
