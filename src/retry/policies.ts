import { named, type Policy, policy, type PolicyDefaults, toPolicy } from './policy.ts';
import { exponential, expression, steps } from './schedule.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** A call to another service: 3 attempts of 10 s, 250 ms doubling to 5 s, full jitter. The default of `withRetry`. */
export const serviceCall: Policy = named('serviceCall', policy());

/** The same inside a handler, whose message has attempts of its own: one. */
export const nestedCall: Policy = policy({ maxAttempts: 1 });

/** A broker consumer: 7 attempts, 250 ms doubling to 30 s, full jitter. The consumer bounds the handler, not the policy. */
export const consumer: Policy = named(
  'consumer',
  policy({
    maxAttempts: 7,
    schedule: exponential({ baseMs: 250, maxMs: 30_000 }),
    timeoutMs: Infinity,
  }),
);

/** What the policy of an event handler is where its fields say nothing. The handler's own timeout bounds it. */
export const HANDLER_DEFAULTS: PolicyDefaults = {
  maxAttempts: 5,
  baseDelayMs: 1_000,
  maxDelayMs: 5 * MINUTE_MS,
  timeoutMs: Infinity,
};

/** An event handler: 5 attempts, 1 s doubling to 5 min, full jitter. */
export const eventHandler: Policy = named('eventHandler', toPolicy({}, HANDLER_DEFAULTS));

/** A webhook delivery: 6 attempts, 10 s doubling, no jitter. */
export const webhookDelivery: Policy = named(
  'webhookDelivery',
  policy({
    maxAttempts: 6,
    schedule: expression('10000 * pow(2, retried)'),
    timeoutMs: Infinity,
  }),
);

const LLM_STEPS_MS = [5_000, 10_000, 30_000, MINUTE_MS, 5 * MINUTE_MS, 10 * MINUTE_MS, 15 * MINUTE_MS, 30 * MINUTE_MS];
const llmSchedule = {
  schedule: steps(LLM_STEPS_MS, { tailMs: 30 * MINUTE_MS }),
  timeoutMs: Infinity,
  clock: 'wall' as const,
};
const llmHint = { maxMs: 30 * MINUTE_MS, above: 'clamp' as const };

/**
 * A model provider: 5 s, 10 s, 30 s, 1, 5, 10, 15, 30 minutes, then 30 minutes, until 8 hours of scheduled waiting:
 * 21 waits, 27,105 s. Waits follow the wall clock, so a laptop that slept goes on at once.
 */
export const llmProvider: Policy = named(
  'llmProvider',
  policy({ ...llmSchedule, maxWaitMs: 8 * HOUR_MS, hint: llmHint }),
);

/** The same waits, but the 8 hours count from the first attempt, attempts included. */
export const llmProviderElapsed: Policy = named(
  'llmProviderElapsed',
  policy({ ...llmSchedule, maxElapsedMs: 8 * HOUR_MS, hint: llmHint }),
);
