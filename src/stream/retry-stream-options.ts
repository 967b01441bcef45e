import { OptionCheck } from '../kernel/check-options.ts';
import type { Effects } from '../kernel/effects.ts';
import type { LogFields, Logger } from '../kernel/log.ts';
import { allObservers } from '../retry/all-observers.ts';
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
   * Left out: no retry, and the provider's stream passes through untouched, chunk by chunk.
   */
  readonly retry?: RetryStrategy | Policy | PolicyOptions;
  /** Written into every retry event. */
  readonly conversationId: string;
  /** Written into every retry event. */
  readonly turnId: string;
  /** Ends the stream: it throws the signal's reason at once, while reading and while waiting, and opens nothing more. */
  readonly signal?: AbortSignal;
  /** Asked first about each thrown error; `undefined` leaves the answer to the default rules for streams. */
  readonly classify?: Classify;
  /** Bounds of each attempt. Default: none. Passed before content they are retried, afterwards they end the stream. */
  readonly timeouts?: StreamTimeouts;
  /** Default true: a stream that ends without its closing event has failed. Only for providers that send none. */
  readonly requireEnd?: boolean;
  /** How many chunks of preamble are held back at most; with more the stream counts as begun. Default 1,000. */
  readonly maxHeldChunks?: number;
  /** Handed to `open` on every attempt. */
  readonly idempotencyKey?: string;
  /** The name in logs, spans and counters. Default `'provider-stream'`. */
  readonly operation?: string;
  /** One line for each attempt, wait and stop. Default: none. */
  readonly logger?: Logger;
  /** Written to every log line, beside `conversationId` and `turnId`. */
  readonly logFields?: LogFields;
  /** Sees every attempt, wait and stop. What it throws is ignored. */
  readonly observe?: RetryObserver;
  /** Clock, timers and chance; for tests. */
  readonly effects?: Effects;
}

/** Checked options with the defaults filled in. */
export interface StreamPlan<Chunk> extends Pick<
  RetryStreamOptions<Chunk>,
  'open' | 'adapter' | 'conversationId' | 'turnId' | 'signal' | 'classify' | 'logger' | 'idempotencyKey'
> {
  /** Makes the waits of one run; absent when the stream just passes through. */
  readonly waits: (() => WaitPlan) | undefined;
  readonly timeouts: StreamTimeouts;
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

/** Checks the options of one stream; throws `INVALID_OPTIONS` with everything that is wrong. */
export function planStream<Chunk>(options: RetryStreamOptions<Chunk>): StreamPlan<Chunk> {
  checkOptions(options);
  const { retry, effects = systemEffects } = options;
  const logFields = { ...options.logFields, conversationId: options.conversationId, turnId: options.turnId };
  const policy = retry === undefined || 'delayFor' in retry ? undefined : toPolicy(retry);
  const strategy = retry !== undefined && 'delayFor' in retry ? retry : undefined;
  return {
    open: options.open,
    adapter: options.adapter,
    conversationId: options.conversationId,
    turnId: options.turnId,
    ...(options.signal && { signal: options.signal }),
    ...(options.classify && { classify: options.classify }),
    ...(options.logger && { logger: options.logger }),
    ...(options.idempotencyKey !== undefined && { idempotencyKey: options.idempotencyKey }),
    waits: policy ? () => policyPlan(policy, effects) : strategy && (() => strategyPlan(strategy)),
    timeouts: { ...(policy && { firstContentMs: policy.timeoutMs }), ...options.timeouts },
    requireEnd: options.requireEnd ?? true,
    maxHeldChunks: options.maxHeldChunks ?? 1_000,
    operation: options.operation ?? 'provider-stream',
    logFields,
    effects,
    emit: allObservers({ ...options, logFields }) ?? (() => undefined),
  };
}

function checkOptions<Chunk>(options: RetryStreamOptions<Chunk>): void {
  const check = new OptionCheck('retryStream()');
  check.known(options, FIELDS);
  const { open, adapter, retry, signal, timeouts, maxHeldChunks } = options;
  if (typeof open !== 'function')
    check.refuse('open', open, 'pass a function that makes the request and gives its stream');
  if (typeof adapter?.reader !== 'function') {
    check.refuse('adapter', adapter, 'pass openaiChat, openaiResponses, anthropicMessages, aiSdk, sse() or { reader }');
  }
  for (const id of ['conversationId', 'turnId'] as const) {
    if (typeof options[id] !== 'string' || options[id] === '')
      check.refuse(id, options[id], 'write a non-empty string');
  }
  if (retry !== undefined && 'delayFor' in retry && !isStrategy(retry)) {
    check.refuse('retry', retry, 'pass { delayFor, sleep }, a policy such as llmProvider, or leave it out');
  }
  if (signal !== undefined && typeof signal?.addEventListener !== 'function')
    check.refuse('signal', signal, 'pass an AbortSignal');
  for (const name of ['classify', 'observe'] as const) {
    if (options[name] !== undefined && typeof options[name] !== 'function')
      check.refuse(name, options[name], 'pass a function');
  }
  if (timeouts !== undefined) {
    check.known(timeouts, BOUNDS, 'timeouts.');
    for (const bound of BOUNDS) {
      const ms = timeouts[bound];
      const write = 'write milliseconds from 1, or leave it out';
      if (ms !== undefined) check.number(`timeouts.${bound}`, ms, { min: 1, max: Infinity, write });
    }
  }
  if (maxHeldChunks !== undefined) {
    check.number('maxHeldChunks', maxHeldChunks, { min: 0, integer: true, write: 'write a whole number from 0' });
  }
  check.done();
}

function isStrategy(retry: Partial<RetryStrategy>): boolean {
  return typeof retry.delayFor === 'function' && typeof retry.sleep === 'function';
}
