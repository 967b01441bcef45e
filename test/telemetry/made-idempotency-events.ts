import type { IdempotencyAbout, IdempotencyEvent } from '../../src/idempotency/idempotency-event.ts';

type Finished = Extract<IdempotencyEvent, { kind: 'finished' }>;

export function about(own: Partial<IdempotencyAbout> = {}): IdempotencyAbout {
  return { service: 'orders', domain: 'POST /orders', key: 'key-1', id: 'record-1', ...own };
}

export function finished(own: Partial<Finished> = {}): Finished {
  return { kind: 'finished', about: about(), run: 1, runMs: 20, status: 'completed', ...own };
}

/** One of each kind, and a failed run. */
export function idempotencyEvents(): readonly IdempotencyEvent[] {
  const error = Object.assign(new Error('password=hunter2'), { code: 'ECONNREFUSED' });
  const run = { about: about(), run: 1, runMs: 20 };
  return [
    { kind: 'first', about: about(), run: 1 },
    { kind: 'taken-over', about: about(), run: 2 },
    { kind: 'replayed', about: about(), status: 'completed', isKept: true, finishedAt: 0 },
    { kind: 'in-flight', about: about(), leaseLeftMs: 26_000 },
    { kind: 'mismatch', about: about() },
    { kind: 'unknown', about: about(), run: 1 },
    { kind: 'store-down', about: about(), error },
    { kind: 'unguarded', about: about(), error },
    finished(),
    finished({ status: 'failed' }),
    { kind: 'released', ...run },
    { kind: 'doubted', ...run },
    { kind: 'late', ...run },
    { kind: 'lost', ...run, why: 'taken' },
    { kind: 'unconfirmed', ...run, error },
    { kind: 'waited', about: about(), waitedMs: 150 },
    { kind: 'store-failed', about: about(), during: 'claim', error },
    { kind: 'cache-failed', during: 'get', error },
    { kind: 'reaped', count: 7 },
  ];
}
