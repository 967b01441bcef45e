import { counter, histogram, type MetricDefinition } from './metric-sink.ts';

const RUN_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

export type IdempotencyCounter =
  | 'idempotency_requests_total'
  | 'idempotency_cache_hits_total'
  | 'idempotency_ended_total'
  | 'idempotency_late_total'
  | 'idempotency_lost_total'
  | 'idempotency_unconfirmed_total'
  | 'idempotency_store_failures_total'
  | 'idempotency_reply_cache_failures_total'
  | 'idempotency_reaped_total';
export type IdempotencyHistogram = 'idempotency_run_duration_seconds' | 'idempotency_wait_seconds';

/** Every metric of idempotency, in the order they are shown. */
export const IDEMPOTENCY_METRICS: Readonly<Record<IdempotencyCounter | IdempotencyHistogram, MetricDefinition>> = {
  idempotency_requests_total: counter('Requests to run, by what they were answered.', 'domain', 'outcome'),
  idempotency_cache_hits_total: counter('Requests that were answered with what was kept.', 'domain'),
  idempotency_ended_total: counter('Runs that ended, by how.', 'domain', 'outcome'),
  idempotency_late_total: counter('Ends that were refused because another run had taken over.', 'domain'),
  idempotency_lost_total: counter('Runs that lost their claim or took too long.', 'domain', 'why'),
  idempotency_unconfirmed_total: counter('Ends that the store did not confirm in time; they are told again.', 'domain'),
  idempotency_store_failures_total: counter('Calls to the store that failed or took too long.', 'during'),
  idempotency_reply_cache_failures_total: counter('Calls to the cache of replies that failed.', 'during'),
  idempotency_reaped_total: counter('Expired records that were removed.'),
  idempotency_run_duration_seconds: histogram('How long runs took.', RUN_SECONDS, 'domain', 'outcome'),
  idempotency_wait_seconds: histogram('How long requests waited for the run of another.', RUN_SECONDS, 'domain'),
};
