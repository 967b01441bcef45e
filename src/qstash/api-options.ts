import type { Deliveries } from '../delivery/deliveries.ts';
import { OptionCheck } from '../kernel/check-options.ts';
import type { Effects } from '../kernel/effects.ts';
import type { Logger } from '../kernel/log.ts';
import type { Activity } from './route.ts';

/** What `qstashApi` takes. */
export interface QstashApiOptions {
  /** Such as `postgresDelivery({ pool, secret })`. */
  readonly deliveries: Deliveries;
  /** Below which path `/v2` is: `/ops`. Default: none. */
  readonly basePath?: string | undefined;
  /** The most a message's body may have. Default 1,000,000. */
  readonly maxBodyBytes?: number | undefined;
  /** The most a whole batch may have. Default 10,000,000. */
  readonly maxBatchBytes?: number | undefined;
  /** The most messages of a batch. Default 1,000. */
  readonly maxBatch?: number | undefined;
  /** How far ahead a message may be, in milliseconds. Default a year. */
  readonly maxDelayMs?: number | undefined;
  /** The most of one queue at once. Default 1,000. */
  readonly maxParallelism?: number | undefined;
  /** Requests of one token a minute, as many at once. Default 120,000. */
  readonly requestsPerMinute?: number | undefined;
  /**
   * Tokens of the scope `publish` may stand in the query (`?qstash_token=…`), for senders that can set no header. Such an address holds a
   * secret and ends in logs. Never for a token that is public. Default false.
   */
  readonly tokenInQuery?: boolean | undefined;
  /** How many deliveries may be on their way, and are. Default: unknown, told as 0. */
  readonly activity?: (() => Activity) | undefined;
  /** Is told of requests that failed here. */
  readonly logger?: Logger | undefined;
  /** For tests. */
  readonly effects?: Effects | undefined;
}

const NUMBERS = {
  maxBodyBytes: 100_000_000,
  maxBatchBytes: 1_000_000_000,
  maxBatch: 100_000,
  maxDelayMs: 3_650 * 86_400_000,
  maxParallelism: 1_000_000,
  requestsPerMinute: 1_000_000_000,
} as const;

const KNOWN: readonly (keyof QstashApiOptions)[] = [
  'deliveries',
  'basePath',
  'maxBodyBytes',
  'maxBatchBytes',
  'maxBatch',
  'maxDelayMs',
  'maxParallelism',
  'requestsPerMinute',
  'tokenInQuery',
  'activity',
  'logger',
  'effects',
];

/** Refuses options that cannot work. Throws `INVALID_OPTIONS`. */
export function checkApiOptions(options: QstashApiOptions): void {
  const check = new OptionCheck('qstashApi()');
  if (!check.object('options', options, 'pass { deliveries: postgresDelivery({ pool, secret }) }')) check.done();
  check.known(options, KNOWN);
  check.object('deliveries', options.deliveries, 'pass postgresDelivery({ pool, secret })');
  if (options.basePath !== undefined && !/^(?:\/[\w.~-]+)*\/?$/.test(options.basePath)) {
    check.refuseName('basePath', options.basePath, 'write a path such as /ops');
  }
  for (const [name, max] of Object.entries(NUMBERS)) {
    const value = options[name as keyof typeof NUMBERS];
    if (value !== undefined) {
      check.number(name, value, { min: 1, max, integer: true, write: `write a whole number from 1 to ${max}` });
    }
  }
  check.done();
}
