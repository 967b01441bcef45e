import type { EntryEvent, IdempotencyEvent, IdempotencyObserver } from '../idempotency/idempotency-event.ts';
import { activeSpan } from '../system/active-span.ts';
import { errorFields } from './error-fields.ts';

type Attributes = Record<string, string | number | boolean>;

/**
 * Writes what idempotency does to the span the application is in: what became of a request as attributes (`idempotency.outcome`,
 * `.domain`, `.key`, `.run`), everything after it as events. Needs no tracer, and costs nothing where there is none.
 */
export function traceIdempotency(): IdempotencyObserver {
  return (event) => {
    const span = activeSpan();
    if (!span) return;
    if (isEntry(event)) span.setAttributes?.(entryAttributes(event));
    else span.addEvent(`idempotency.${event.kind}`, eventAttributes(event));
  };
}

const ENTRIES: Readonly<Record<EntryEvent['kind'], true>> = {
  first: true,
  'taken-over': true,
  replayed: true,
  'in-flight': true,
  mismatch: true,
  unknown: true,
  'store-down': true,
  unguarded: true,
};

function isEntry(event: IdempotencyEvent): event is EntryEvent {
  return event.kind in ENTRIES;
}

function entryAttributes(event: EntryEvent): Attributes {
  const { domain, key } = event.about;
  return {
    'idempotency.outcome': event.kind,
    'idempotency.domain': domain,
    'idempotency.key': key,
    ...('run' in event ? { 'idempotency.run': event.run } : {}),
    ...('status' in event ? { 'idempotency.status': event.status } : {}),
  };
}

function eventAttributes(event: Exclude<IdempotencyEvent, EntryEvent>): Attributes {
  return {
    ...('run' in event ? { 'idempotency.run': event.run } : {}),
    ...('status' in event ? { 'idempotency.status': event.status } : {}),
    ...('why' in event ? { 'idempotency.why': event.why } : {}),
    ...('during' in event ? { 'idempotency.during': event.during } : {}),
    ...('waitedMs' in event ? { 'idempotency.waited_ms': event.waitedMs } : {}),
    ...('runMs' in event ? { 'idempotency.run_ms': event.runMs } : {}),
    ...('count' in event ? { 'idempotency.count': event.count } : {}),
    ...('error' in event ? { 'error.type': errorType(event.error) } : {}),
  };
}

function errorType(error: unknown): string {
  const { errorCode, errorClass } = errorFields(error);
  return errorCode ?? errorClass;
}
