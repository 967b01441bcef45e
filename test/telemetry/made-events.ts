import type { RelayEvent } from '../../src/relay/relay-event.ts';
import type { HouseReport } from '../../src/relay/house-report.ts';
import type { Delivery } from '../../src/relay/relay-store.ts';

type Failed = Extract<RelayEvent, { kind: 'run-failed' }>;

export const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
export const SPAN_ID = 'b7ad6b7169203331';

/** A delivery as it is read, with what a test cares about. */
export function delivery(own: Partial<Delivery> = {}): Delivery {
  return {
    unit: 33,
    seq: 1,
    state: 'ready',
    version: 0,
    id: '019a0000-0000-7000-8000-000000000001',
    type: 'order.placed',
    key: 'ord_1',
    payload: '{"card":"4111"}',
    attempts: 0,
    cycle: 0,
    rerun: 0,
    retry: undefined,
    starts: 0,
    idempotencyKey: 'order:1',
    source: 'orders',
    target: 'billing',
    aggregateType: undefined,
    aggregateId: undefined,
    generation: undefined,
    correlationId: 'corr-1',
    causationId: undefined,
    traceparent: `00-${TRACE_ID}-${SPAN_ID}-01`,
    tracestate: undefined,
    headers: undefined,
    createdAtMs: Date.UTC(2026, 0, 1),
    ...own,
  };
}

export function started(own: Partial<Delivery> = {}, handler = 'charge'): RelayEvent {
  return { kind: 'run-started', handler, delivery: delivery(own), attempt: 1 };
}

export function done(own: Partial<Delivery> = {}, handler = 'charge'): RelayEvent {
  return { kind: 'run-done', handler, delivery: delivery(own), attempt: 1, maxAttempts: 5, durationMs: 20 };
}

export function failed(own: Partial<Failed> = {}): Failed {
  return {
    kind: 'run-failed',
    handler: 'charge',
    delivery: delivery(),
    attempt: 2,
    maxAttempts: 5,
    durationMs: 300,
    failure: { verdict: 'retry', kind: 'network', code: 'ECONNRESET' },
    error: { name: 'Error', message: 'read ECONNRESET', code: 'ECONNRESET', kind: 'network' },
    next: { kind: 'retry', delayMs: 1_000 },
    ...own,
  };
}

/** The dead letter that `dead()` makes. */
export const DLQ_ID = `${delivery().id}:3`;

export function dead(own: Partial<Failed> = {}): Failed {
  return failed({ attempt: 5, next: { kind: 'dead', reason: 'attempts', dlqId: DLQ_ID }, ...own });
}

export function house(own: Partial<HouseReport> = {}, unit?: number): RelayEvent {
  return {
    kind: 'house',
    unit,
    report: { pending: 7, failed: 2, oldestMs: 1_500, isFull: false, unserved: [], ...own },
  };
}
