import { counter, gauge, histogram, type MetricDefinition } from './metric-sink.ts';

const RUN_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const AGE_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200, 86_400];

const COUNTERS: Readonly<Record<CounterName, MetricDefinition>> = {
  outbox_published_total: counter('Deliveries that left the outbox: handled, and the completion written.', 'type'),
  consumer_processed_total: counter('Ended runs by outcome: done, retry or dead.', 'handler', 'type', 'outcome'),
  consumer_dedup_hits_total: counter(
    'Second effects that did not happen: results that were refused, messages that came again.',
    'handler',
    'type',
  ),
  dlq_messages_total: counter('Deliveries that became dead letters, parked ones included.', 'handler', 'type'),
  holdfast_parked_total: counter('Deliveries set aside behind a dead letter of their key.', 'handler', 'type'),
  holdfast_attempts_total: counter('Started runs.', 'handler', 'type'),
  holdfast_retries_total: counter('Failed runs that are tried again, by kind of failure.', 'handler', 'type', 'kind'),
  holdfast_results_refused_total: counter('Results that came too late or for a changed row.', 'handler', 'reason'),
  holdfast_units_orphaned_total: counter('Units taken over from a process that died.'),
  holdfast_units_lost_total: counter('Units this process lost: it was taken for dead, or a write was refused.', 'why'),
  holdfast_transport_failures_total: counter(
    'Calls to a broker that failed and were tried again.',
    'transport',
    'during',
  ),
  holdfast_received_total: counter('Messages taken from a broker, by what became of them.', 'transport', 'outcome'),
  holdfast_breaker_opened_total: counter('Breakers that this process opened, because of failures in a row.', 'breaker'),
  holdfast_store_failures_total: counter('Calls to the database that failed and were tried again.', 'during'),
};

const GAUGES: Readonly<Record<GaugeName, MetricDefinition>> = {
  outbox_pending: gauge('Open deliveries, as the housekeeper last counted.'),
  holdfast_outbox_failed: gauge('Dead letters that wait for a replay or a discard.'),
  holdfast_outbox_oldest_seconds: gauge('Age of the oldest delivery that is ready to run.'),
  holdfast_outbox_full: gauge('1 while senders are refused because too much is pending.'),
  holdfast_outbox_unserved: gauge(
    'Open deliveries that no live worker serves.',
    'reason',
    'handler',
    'type',
    'generation',
  ),
  holdfast_outbox_sampled_timestamp_seconds: gauge('When the housekeeper last counted.'),
  holdfast_transport_waiting: gauge('1 for a topic, queue or stream that cannot be read.', 'transport', 'place'),
  holdfast_breaker_state: gauge('0 closed, 1 probing, 2 open, as this process sees it.', 'breaker'),
  holdfast_units_owned: gauge('Units of the key space this process owns.'),
  holdfast_housekeeper: gauge('1 in the process that does the housekeeping and shows the outbox gauges.'),
};

const HISTOGRAMS: Readonly<Record<HistogramName, MetricDefinition>> = {
  holdfast_run_duration_seconds: histogram('How long runs took.', RUN_SECONDS, 'handler', 'outcome'),
  holdfast_delivery_age_seconds: histogram(
    'From the send of a message until it was handled, waits and retries included.',
    AGE_SECONDS,
    'handler',
  ),
};

export type CounterName =
  | 'outbox_published_total'
  | 'consumer_processed_total'
  | 'consumer_dedup_hits_total'
  | 'dlq_messages_total'
  | 'holdfast_parked_total'
  | 'holdfast_attempts_total'
  | 'holdfast_retries_total'
  | 'holdfast_results_refused_total'
  | 'holdfast_units_orphaned_total'
  | 'holdfast_units_lost_total'
  | 'holdfast_transport_failures_total'
  | 'holdfast_received_total'
  | 'holdfast_breaker_opened_total'
  | 'holdfast_store_failures_total';
export type GaugeName =
  | 'outbox_pending'
  | 'holdfast_outbox_failed'
  | 'holdfast_outbox_oldest_seconds'
  | 'holdfast_outbox_full'
  | 'holdfast_outbox_unserved'
  | 'holdfast_outbox_sampled_timestamp_seconds'
  | 'holdfast_transport_waiting'
  | 'holdfast_breaker_state'
  | 'holdfast_units_owned'
  | 'holdfast_housekeeper';
export type HistogramName = 'holdfast_run_duration_seconds' | 'holdfast_delivery_age_seconds';
export type MetricName = CounterName | GaugeName | HistogramName;

/** Every metric of a relay, in the order they are shown. */
export const METRICS: Readonly<Record<MetricName, MetricDefinition>> = { ...COUNTERS, ...GAUGES, ...HISTOGRAMS };

/** What only the housekeeper knows, and only for as long as it is the housekeeper. */
export const SAMPLED: readonly GaugeName[] = [
  'outbox_pending',
  'holdfast_outbox_failed',
  'holdfast_outbox_oldest_seconds',
  'holdfast_outbox_full',
  'holdfast_outbox_unserved',
  'holdfast_outbox_sampled_timestamp_seconds',
];
