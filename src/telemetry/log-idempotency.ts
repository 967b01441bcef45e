import type { IdempotencyEvent, IdempotencyObserver } from '../idempotency/idempotency-event.ts';
import type { LogFields, Logger } from '../kernel/log.ts';
import { activeSpan } from '../system/active-span.ts';
import { errorFields } from './error-fields.ts';

interface Line {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
}

const LINES: Readonly<Record<IdempotencyEvent['kind'], Line>> = {
  first: { level: 'debug', message: 'let in' },
  'taken-over': { level: 'warn', message: 'let in after a run that was lost' },
  replayed: { level: 'info', message: 'answered with what was kept' },
  'in-flight': { level: 'info', message: 'refused, another run is under way' },
  mismatch: { level: 'warn', message: 'refused, the key was used for another request' },
  unknown: { level: 'warn', message: 'refused, nobody knows how an earlier run ended' },
  'store-down': { level: 'error', message: 'refused, no idempotency store answered' },
  unguarded: { level: 'error', message: 'let in without a guard, no idempotency store answered' },
  finished: { level: 'debug', message: 'run kept' },
  released: { level: 'info', message: 'run ended without an effect, the next one runs' },
  doubted: { level: 'warn', message: 'run ended in doubt, its outcome is unknown' },
  late: { level: 'warn', message: 'run ended too late, another had taken over' },
  lost: { level: 'warn', message: 'run lost its claim' },
  unconfirmed: { level: 'warn', message: 'the idempotency store did not confirm the end of a run, telling it again' },
  waited: { level: 'debug', message: 'waited for the run of another' },
  'store-failed': { level: 'warn', message: 'the idempotency store did not answer' },
  'cache-failed': { level: 'warn', message: 'the cache of replies did not answer, asking the store instead' },
  reaped: { level: 'debug', message: 'expired idempotency records removed' },
};

/**
 * Writes a structured line for what idempotency does: what is as it should be at `debug` and `info`, what somebody should know of at
 * `warn`, requests that no store could answer at `error`. Texts of errors and replies are not logged, codes are. `fields` stand in
 * every line.
 */
export function logIdempotency(logger: Logger, fields: LogFields = {}): IdempotencyObserver {
  return (event) => {
    const { level, message } = LINES[event.kind];
    logger[level]({ ...fields, ...aboutFields(event), ...ownFields(event) }, message);
  };
}

/** The correlation fields that are known. */
function aboutFields(event: IdempotencyEvent): LogFields {
  const traceId = activeSpan()?.spanContext?.().traceId;
  const trace = traceId === undefined ? {} : { traceId };
  if (!('about' in event) || event.about === undefined) return trace;
  const { service, domain, key, id } = event.about;
  return { source: service, operation: domain, idempotencyKey: key, recordId: id, ...trace };
}

function ownFields(event: IdempotencyEvent): LogFields {
  return {
    ...('run' in event ? { attempt: event.run } : {}),
    ...('runMs' in event ? { latencyMs: event.runMs } : {}),
    ...('waitedMs' in event ? { latencyMs: event.waitedMs } : {}),
    ...('leaseLeftMs' in event ? { leaseLeftMs: event.leaseLeftMs, retryable: true } : {}),
    ...('status' in event ? { status: event.status } : {}),
    ...('why' in event ? { reason: event.why } : {}),
    ...('during' in event ? { during: event.during } : {}),
    ...('count' in event ? { count: event.count } : {}),
    ...('error' in event ? errorFields(event.error) : {}),
  };
}
