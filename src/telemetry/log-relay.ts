import { CORRELATION_FIELDS, type LogFields, type Logger } from '../kernel/log.ts';
import type { RelayEvent, RelayObserver } from '../relay/relay-event.ts';
import type { HouseReport } from '../relay/house-report.ts';
import type { Delivery } from '../relay/relay-store.ts';
import type { Failure } from '../retry/failure.ts';
import { errorFields } from './error-fields.ts';
import { parseTraceparent } from './traceparent.ts';

/**
 * Writes a structured line for what a relay does: runs that went well at `debug`, retries at `warn`, dead letters at `error`,
 * refused results at `info`, the first failure of the database in a row at `warn`. Texts of errors and payloads are not
 * logged, codes are. `fields` stand in every line.
 */
export function logRelay(logger: Logger, fields: LogFields = {}): RelayObserver {
  const house = houseLog(logger, fields);
  return (event) => {
    switch (event.kind) {
      case 'run-started':
      case 'run-done':
      case 'run-failed':
      case 'run-refused':
      case 'run-interrupted':
      case 'parked':
        return logRun(logger, fields, event);
      case 'units-acquired':
        return event.orphaned > 0
          ? logger.info(
              { ...fields, units: event.units.length, orphaned: event.orphaned },
              'took over from a dead process',
            )
          : logger.debug({ ...fields, units: event.units.length }, 'units acquired');
      case 'units-released':
        return logger.debug({ ...fields, units: event.units.length }, 'units released');
      case 'units-lost':
        return logger.warn({ ...fields, units: event.units.length, why: event.why }, 'units lost');
      case 'store-failed': {
        const line = { ...fields, operation: event.during, failures: event.failures, ...errorFields(event.error) };
        // One line for an outage, not one for each try.
        return event.failures <= 1
          ? logger.warn(line, 'the database does not answer, trying again')
          : logger.debug(line, 'the database still does not answer');
      }
      case 'transport-failed': {
        const { transport, during, failures } = event;
        const line = { ...fields, transport, operation: during, failures, ...errorFields(event.error) };
        return failures <= 1
          ? logger.warn(line, 'the broker does not answer, trying again')
          : logger.debug(line, 'the broker still does not answer');
      }
      case 'place-waiting':
      case 'place-ready':
        return logPlace(logger, fields, event);
      case 'received': {
        const { transport, stored, duplicates, ignored } = event;
        return logger.debug({ ...fields, transport, stored, duplicates, ignored }, 'received');
      }
      case 'breaker':
        return logBreaker(logger, fields, event);
      case 'house':
        return house(event.report);
      case 'started':
      case 'stopping':
      case 'stopped':
        return logger.info(fields, `relay ${event.kind}`);
      default:
        return event satisfies never;
    }
  };
}

function logPlace(
  logger: Logger,
  fields: LogFields,
  event: Extract<RelayEvent, { kind: 'place-waiting' | 'place-ready' }>,
): void {
  const { transport, place } = event;
  if (event.kind === 'place-ready') return logger.info({ ...fields, transport, place }, 'it is read now');
  const { failures } = event;
  const line = { ...fields, transport, place, failures, ...errorFields(event.error) };
  return failures <= 1
    ? logger.warn(line, 'a topic, queue or stream cannot be read, looking for it again')
    : logger.debug(line, 'a topic, queue or stream still cannot be read');
}

/** One line for an outage and one for its end; what is tried in between is for those who look closely. */
function logBreaker(logger: Logger, fields: LogFields, event: Extract<RelayEvent, { kind: 'breaker' }>): void {
  const { breaker, handlers, state, cause, waiting, failingMs, probeInMs, error } = event;
  const line = {
    ...fields,
    breaker,
    handlers: handlers.join(','),
    cause,
    waiting,
    failingMs,
    ...(probeInMs === undefined ? {} : { probeInMs: Math.round(probeInMs) }),
    ...(error && { errorClass: error.name, errorKind: error.kind }),
    ...(error?.code === undefined ? {} : { errorCode: error.code }),
  };
  if (cause === 'start') return;
  if (state === 'probing') return logger.debug(line, 'breaker tries a message');
  if (state === 'closed') return logger.info(line, 'breaker closed, its handlers go on');
  if (cause === 'probe') return logger.debug(line, 'breaker stays open, what its handlers call is still down');
  logger.warn(line, 'breaker open, nothing of its handlers is started');
}

type RunEvent = Extract<RelayEvent, { readonly delivery: Delivery }>;

/** That a relay stops is part of each deployment; that runs cannot be completed is not. */
function logInterrupted(logger: Logger, about: LogFields, event: RunEvent & { kind: 'run-interrupted' }): void {
  const { reason, detail, faults } = event;
  const line = { ...about, reason, ...(detail !== undefined && { detail }), ...(faults !== undefined && { faults }) };
  if (reason === 'database-fault') logger.warn(line, 'run could not be completed in the database');
  else logger.info(line, 'run ended without a result');
}

function logRun(logger: Logger, fields: LogFields, event: RunEvent): void {
  if (event.kind === 'run-started') return;
  if (event.kind === 'run-done' && logger.isLevelEnabled?.('debug') === false) return;
  const about = { ...fields, ...deliveryFields(event.delivery, event.handler) };
  switch (event.kind) {
    case 'run-done':
      return logger.debug({ ...about, ...attemptFields(event), latencyMs: event.durationMs }, 'message handled');
    case 'run-refused':
      return logger.info({ ...about, attempt: event.delivery.attempts + 1, reason: event.reason }, 'result refused');
    case 'run-interrupted':
      return logInterrupted(logger, about, event);
    case 'parked':
      return logger.warn({ ...about, dlqId: event.dlqId }, 'message set aside behind a dead letter of its key');
    case 'run-failed': {
      const { durationMs, failure, error, next } = event;
      const line = {
        ...about,
        ...attemptFields(event),
        latencyMs: durationMs,
        ...failureFields(failure),
        errorClass: error.name,
      };
      return next.kind === 'retry'
        ? logger.warn({ ...line, delayMs: next.delayMs }, 'message failed, will be tried again')
        : logger.error({ ...line, reason: next.reason, dlqId: next.dlqId }, 'message failed for good');
    }
    default:
      return event satisfies never;
  }
}

/** Which attempt it was, and of how many, where there is a limit. */
function attemptFields({ attempt, maxAttempts }: RunEvent & { kind: 'run-done' | 'run-failed' }): LogFields {
  return { attempt, ...(maxAttempts === Infinity ? {} : { maxAttempts }) };
}

/** Those that its sender put into its headers under their own names. */
function carriedFields(headers: Delivery['headers']): LogFields {
  if (!headers) return {};
  return Object.fromEntries(CORRELATION_FIELDS.flatMap((field) => (field in headers ? [[field, headers[field]]] : [])));
}

/** The correlation fields of a delivery. */
function deliveryFields(delivery: Delivery, handler: string): LogFields {
  const { id, type, source, target, idempotencyKey, correlationId, causationId, generation, cycle } = delivery;
  const traceId = parseTraceparent(delivery.traceparent)?.traceId;
  const sagaId = delivery.headers?.['saga-id'];
  return {
    ...carriedFields(delivery.headers),
    eventId: id,
    eventType: type,
    source,
    ...(target === undefined ? {} : { target }),
    idempotencyKey,
    operation: handler,
    ...(traceId === undefined ? {} : { traceId }),
    ...(sagaId === undefined ? {} : { sagaId }),
    ...(correlationId === undefined ? {} : { correlationId }),
    ...(causationId === undefined ? {} : { causationId }),
    ...(generation === undefined ? {} : { generation }),
    ...(cycle === 0 ? {} : { cycle }),
  };
}

function failureFields({ verdict, kind, status, code, nestedAttempts }: Failure): LogFields {
  return {
    retryable: verdict === 'retry',
    errorKind: kind,
    ...(status === undefined ? {} : { httpStatus: status }),
    ...(code === undefined ? {} : { errorCode: code }),
    ...(nestedAttempts === undefined ? {} : { nestedAttempts }),
  };
}

/** Reports come every few seconds: a line when something begins or ends, and none in between. */
function houseLog(logger: Logger, fields: LogFields): (report: HouseReport) => void {
  let wasFull = false;
  let unservedBefore = new Set<string>();
  return ({ pending, failed, oldestMs, isFull, unserved }) => {
    const line = { ...fields, pending, failed, ...(oldestMs === undefined ? {} : { oldestMs }) };
    logger.debug(line, 'outbox counted');
    if (isFull && !wasFull) logger.warn(line, 'the outbox is full, senders are refused');
    if (!isFull && wasFull) logger.info(line, 'the outbox is no longer full');
    wasFull = isFull;
    const now = new Set<string>();
    for (const one of unserved) {
      const id = `${one.reason} ${one.handler ?? ''} ${one.type ?? ''} ${one.generation ?? ''}`;
      now.add(id);
      if (!unservedBefore.has(id)) logger.warn({ ...line, ...unservedFields(one) }, 'messages that nobody serves');
    }
    unservedBefore = now;
  };
}

function unservedFields({ reason, handler, type, generation, count }: HouseReport['unserved'][number]): LogFields {
  return {
    reason,
    ...(handler === undefined ? {} : { operation: handler }),
    ...(type === undefined ? {} : { eventType: type }),
    ...(generation === undefined ? {} : { generation }),
    count,
  };
}
