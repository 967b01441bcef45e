import { OptionCheck } from '../kernel/check-options.ts';
import type { RunFacts } from '../idempotency/entry.ts';
import type { StandardSchema } from '../kernel/standard-schema.ts';

/** One kind of signed job. Only the name must be given. */
export interface JobOptions<Payload> {
  /** What the job is called: `send-reminder`. Part of every key, so jobs never meet. */
  readonly name: string;
  /** What the body must be, from any Standard Schema library. A body that does not fit is not sent again. Default: any JSON. */
  readonly schema?: StandardSchema<Payload> | undefined;
  /**
   * What the effect is about, such as the id of the reminder: whoever sends the same thing under a new message id has no second
   * effect within `doneTtlSeconds`.
   */
  readonly businessKey?: ((payload: Payload) => string) | undefined;
  /** How long a delivery that is not heard of counts as running. Default 240 seconds, a day at most. */
  readonly lockTtlSeconds?: number | undefined;
  /** How long a business key that is not heard of counts as taken. Default 300 seconds, a day at most. */
  readonly reservationTtlSeconds?: number | undefined;
  /**
   * How long it is remembered that a message or a business key was done. Default: a day, or as long as the sender may try again where
   * that is longer; less than that is refused. Never less than its lock, and a message is remembered at least as long as its
   * signature is good.
   */
  readonly doneTtlSeconds?: number | undefined;
  /** The largest body, in bytes. Default: a mebibyte. */
  readonly maxBodyBytes?: number | undefined;
  /** How often the sender tries again after the first time. Default 5, as `publishJob` asks for. */
  readonly retries?: number | undefined;
}

/** What a handler of a job may use. */
export interface JobRun<Tx> extends RunFacts {
  readonly job: string;
  readonly messageId: string;
  /** 1 for the first delivery. */
  readonly attempt: number;
  readonly isFinalAttempt: boolean;
  /** Runs `work` in a transaction. What it writes and the mark that the job is done are committed together, or not at all. */
  commit<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
}

/** A job with everything filled in. */
export interface Job<Payload> {
  readonly name: string;
  readonly schema: StandardSchema<Payload> | undefined;
  readonly businessKey: ((payload: Payload) => string) | undefined;
  readonly lockMs: number;
  readonly reservationMs: number;
  readonly doneMs: number;
  readonly maxBodyBytes: number;
  readonly retries: number;
}

const RETRIES = 5;
const SECONDS = { lockTtlSeconds: 240, reservationTtlSeconds: 300, doneTtlSeconds: 86_400 } as const;

const YEAR_S = 31_536_000;

/** How long after the first time the last one comes, in seconds: 10 s later, and twice as long each time, as `publishJob` asks for. */
function retriedForS(retries: number): number {
  return Math.min(10 * (2 ** retries - 1), YEAR_S);
}

/**
 * Fills in a job. Throws `INVALID_OPTIONS`. A bare name is a job. `schemeRetriesForS`: for how long the sender tries again, where that
 * does not follow from the number of retries.
 */
export function checkedJob<Payload>(
  job: JobOptions<Payload> | string,
  schemeRetriesForS: number | undefined,
): Job<Payload> {
  const options: JobOptions<Payload> = typeof job === 'string' ? { name: job } : job;
  const check = new OptionCheck('receive()');
  if (check.object('job', options, "pass { name: 'send-reminder' }")) {
    const { name, businessKey, schema, maxBodyBytes, retries } = options;
    check.known(options, ['name', 'schema', 'businessKey', 'maxBodyBytes', 'retries', ...Object.keys(SECONDS)]);
    if (typeof name !== 'string' || !/^[\w.-]{1,100}$/.test(name))
      check.refuse('name', name, 'name it: letters, digits, _ . -');
    if (businessKey !== undefined && typeof businessKey !== 'function')
      check.refuse('businessKey', businessKey, 'pass a function of the payload');
    if (schema !== undefined && typeof schema['~standard']?.validate !== 'function')
      check.refuse('schema', schema, 'pass a Standard Schema, such as one of zod or valibot');
    for (const field of Object.keys(SECONDS) as (keyof typeof SECONDS)[]) {
      if (options[field] === undefined) continue;
      const [max, most] = field === 'doneTtlSeconds' ? [YEAR_S, 'a year'] : [86_400, 'a day'];
      check.number(field, options[field], { min: 1, max, write: `write seconds from 1 to ${most}` });
    }
    if (maxBodyBytes !== undefined)
      check.number('maxBodyBytes', maxBodyBytes, { min: 1, integer: true, write: 'write a number of bytes' });
    if (retries !== undefined)
      check.number('retries', retries, { min: 0, integer: true, write: 'write a whole number' });
  }
  check.done();
  const { retries = RETRIES, doneTtlSeconds } = options;
  const horizonS = schemeRetriesForS ?? retriedForS(retries);
  if (doneTtlSeconds !== undefined && doneTtlSeconds < horizonS) {
    check.refuse(
      'doneTtlSeconds',
      doneTtlSeconds,
      `write ${horizonS} or more: the sender may send it again for so long`,
    );
  }
  check.done();
  return {
    name: options.name,
    schema: options.schema,
    businessKey: options.businessKey,
    lockMs: (options.lockTtlSeconds ?? SECONDS.lockTtlSeconds) * 1_000,
    reservationMs: (options.reservationTtlSeconds ?? SECONDS.reservationTtlSeconds) * 1_000,
    doneMs: (doneTtlSeconds ?? Math.max(SECONDS.doneTtlSeconds, horizonS)) * 1_000,
    maxBodyBytes: options.maxBodyBytes ?? 1_048_576,
    retries,
  };
}
