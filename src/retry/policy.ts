import { OptionCheck } from '../kernel/check-options.ts';
import type { WaitClock } from '../kernel/sleep.ts';
import { exponential, type Jitter, JITTERS, LONGEST_DELAY_MS, type Schedule } from './schedule.ts';

// Registered, so that a policy made by one copy of the package is taken as made by another.
const BRAND: unique symbol = Symbol.for('holdfast.policy');

/** What to do with a server's hint: it is a floor under the schedule, up to `maxMs`; above that either cut or stop. */
export interface HintRule {
  readonly maxMs: number;
  readonly above: 'clamp' | 'stop';
}

/** A checked policy: when to wait, for how long, and when to stop. Made by `policy()`; frozen. */
export interface Policy {
  readonly [BRAND]: true;
  /** Of a policy that comes with the package. A handler with a named policy spends an attempt on every failure, by outages too. */
  readonly name?: string | undefined;
  readonly schedule: Schedule;
  /** Attempts in all, the first one included. `Infinity` when another limit ends the retries. */
  readonly maxAttempts: number;
  /** Bound of each attempt; `Infinity` for none. */
  readonly timeoutMs: number;
  /** Bound of all scheduled waiting added up. */
  readonly maxWaitMs: number;
  /** Bound of the time since the first attempt started, waits and attempts together. */
  readonly maxElapsedMs: number;
  readonly hint: HintRule;
  readonly clock: WaitClock;
}

/** What `policy()` takes. Every field may be left out. */
export interface PolicyOptions {
  /** Attempts in all, the first included. Default 3; no limit when the schedule or a time budget ends the retries. */
  readonly maxAttempts?: number | undefined;
  /** First delay of the exponential schedule. Default 250. */
  readonly baseDelayMs?: number | undefined;
  /** Longest delay of the exponential schedule. Default 5,000. */
  readonly maxDelayMs?: number | undefined;
  /** Bound of each attempt. Default 10,000; `Infinity` for none. */
  readonly timeoutMs?: number | undefined;
  /** Spread of the exponential schedule. Default `true`, which is `'full'`. */
  readonly jitter?: boolean | Jitter | undefined;
  /** Any other schedule, in place of the three fields above. */
  readonly schedule?: Schedule | undefined;
  /** Stop when the next wait would bring all scheduled waiting above this. Default: no limit. */
  readonly maxWaitMs?: number | undefined;
  /** Stop when the next wait would end later than this after the first attempt started. Default: no limit. */
  readonly maxElapsedMs?: number | undefined;
  /** Default: hints up to a minute are honoured, longer ones are cut to a minute. */
  readonly hint?: Partial<HintRule> | undefined;
  /** Default `'monotonic'`. See {@link WaitClock}. */
  readonly clock?: WaitClock | undefined;
}

/** The fields of a policy. */
export const POLICY_FIELDS: readonly string[] = [
  'maxAttempts',
  'baseDelayMs',
  'maxDelayMs',
  'timeoutMs',
  'jitter',
  'schedule',
  'maxWaitMs',
  'maxElapsedMs',
  'hint',
  'clock',
] satisfies (keyof PolicyOptions)[];

/** What a policy is where its options say nothing. */
export interface PolicyDefaults {
  readonly maxAttempts: number;
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
  readonly timeoutMs: number;
}

const SERVICE_CALL: PolicyDefaults = { maxAttempts: 3, baseDelayMs: 250, maxDelayMs: 5_000, timeoutMs: 10_000 };

/**
 * Makes a policy, or refuses it with every wrong option named at once. With no options it is the service-call policy:
 * 3 attempts, 250 ms doubling to 5 s with full jitter, 10 s per attempt.
 */
export function policy(options: PolicyOptions = {}): Policy {
  return makePolicy(options, SERVICE_CALL);
}

function makePolicy(options: PolicyOptions, defaults: PolicyDefaults): Policy {
  const check = new OptionCheck('policy()');
  if (!check.object('options', options, 'pass an object such as { maxAttempts: 5 }')) check.done();
  check.known(options, POLICY_FIELDS);
  checkLimits(check, options);
  checkExponential(check, options);
  checkHint(check, options.hint);
  check.done();
  const schedule =
    options.schedule ??
    exponential({
      baseMs: options.baseDelayMs ?? Math.min(defaults.baseDelayMs, options.maxDelayMs ?? Infinity),
      maxMs: options.maxDelayMs ?? Math.max(defaults.maxDelayMs, options.baseDelayMs ?? 0),
      jitter: jitterOf(options.jitter ?? true),
    });
  return Object.freeze({
    [BRAND]: true as const,
    schedule,
    maxAttempts: options.maxAttempts ?? (endsByItself(options, schedule) ? Infinity : defaults.maxAttempts),
    timeoutMs: options.timeoutMs ?? Math.min(defaults.timeoutMs, options.maxElapsedMs ?? Infinity),
    maxWaitMs: options.maxWaitMs ?? Infinity,
    maxElapsedMs: options.maxElapsedMs ?? Infinity,
    hint: Object.freeze({ maxMs: options.hint?.maxMs ?? 60_000, above: options.hint?.above ?? 'clamp' }),
    clock: options.clock ?? 'monotonic',
  });
}

/** The policy itself, or the one made from options: what every function that takes either of them calls. */
export function toPolicy(value: Policy | PolicyOptions, defaults: PolicyDefaults = SERVICE_CALL): Policy {
  return typeof value === 'object' && value !== null && BRAND in value ? value : makePolicy(value, defaults);
}

/** The same policy under a name. */
export function named(name: string, unnamed: Policy): Policy {
  return Object.freeze({ ...unnamed, name });
}

function jitterOf(jitter: boolean | Jitter): Jitter {
  return jitter === true ? 'full' : jitter === false ? 'none' : jitter;
}

/** True when something other than the number of attempts ends the retries. */
function endsByItself({ maxWaitMs, maxElapsedMs }: PolicyOptions, schedule: Schedule): boolean {
  const far = schedule.delayMs(1_000_000, { random: 1, lastDelayMs: 0 });
  // Waits of nothing never use up a budget of waiting.
  return far === undefined || Number.isFinite(maxElapsedMs) || (Number.isFinite(maxWaitMs) && far > 0);
}

const LIMITS = {
  maxAttempts: { min: 1, integer: true, write: 'write a whole number from 1, the first attempt included' },
  timeoutMs: { min: 1, write: 'write milliseconds from 1, or Infinity for no bound' },
  maxWaitMs: { min: 0, write: 'write milliseconds from 0, or leave it out' },
  maxElapsedMs: { min: 1, write: 'write milliseconds from 1, or leave it out' },
};

function checkLimits(check: OptionCheck, options: PolicyOptions): void {
  const { timeoutMs, maxElapsedMs, clock } = options;
  for (const name of Object.keys(LIMITS) as (keyof typeof LIMITS)[])
    if (options[name] !== undefined) check.number(name, options[name], { ...LIMITS[name], max: Infinity });
  if (maxElapsedMs !== undefined && timeoutMs !== undefined && timeoutMs !== Infinity && timeoutMs > maxElapsedMs)
    check.refuse('timeoutMs', timeoutMs, `make it at most maxElapsedMs, which is ${maxElapsedMs}`);
  if (clock !== undefined) check.word('clock', clock, ['monotonic', 'wall']);
}

function checkExponential(check: OptionCheck, options: PolicyOptions): void {
  const { baseDelayMs, maxDelayMs, jitter, schedule } = options;
  const given = { baseDelayMs, maxDelayMs, jitter };
  if (schedule !== undefined) {
    if (typeof schedule?.delayMs !== 'function')
      check.refuse('schedule', schedule, 'write exponential(…), constant(…), steps(…) or expression(…)');
    for (const [name, value] of Object.entries(given)) {
      if (value !== undefined) check.refuse(name, value, 'leave it out, or put it into the schedule you pass');
    }
    return;
  }
  const delay = { min: 0, max: LONGEST_DELAY_MS, write: 'write milliseconds from 0' };
  if (baseDelayMs !== undefined) check.number('baseDelayMs', baseDelayMs, delay);
  if (maxDelayMs !== undefined) check.number('maxDelayMs', maxDelayMs, delay);
  if (baseDelayMs !== undefined && maxDelayMs !== undefined && baseDelayMs > maxDelayMs) {
    check.refuse('baseDelayMs', baseDelayMs, `make it at most maxDelayMs, which is ${maxDelayMs}`);
  }
  if (jitter !== undefined && typeof jitter !== 'boolean') check.word('jitter', jitter, JITTERS);
}

function checkHint(check: OptionCheck, hint: PolicyOptions['hint']): void {
  if (hint === undefined || !check.object('hint', hint, 'write { maxMs: 60_000 }, or leave it out')) return;
  check.known(hint, ['maxMs', 'above'], 'hint.');
  if (hint.maxMs !== undefined) {
    check.number('hint.maxMs', hint.maxMs, {
      min: 0,
      max: LONGEST_DELAY_MS,
      write: 'write milliseconds; 0 ignores hints',
    });
  }
  if (hint.above !== undefined) check.word('hint.above', hint.above, ['clamp', 'stop']);
}
