import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect, onTestFinished } from 'vitest';
import type { RelayEvent } from '../../src/relay/relay-event.ts';
import { metricsText, SERVER_METRICS } from '../../src/server/metrics-text.ts';
import { IDEMPOTENCY_METRICS } from '../../src/telemetry/idempotency-catalog.ts';
import { idempotencyMetrics, relayMetrics } from '../../src/telemetry/index.ts';
import { METRICS } from '../../src/telemetry/metric-catalog.ts';
import { needs } from '../support/needs.ts';
import { dead, delivery, done, failed, house, started } from '../telemetry/made-events.ts';
import { idempotencyEvents } from '../telemetry/made-idempotency-events.ts';
import { ALERTS_FILE } from './dashboard.ts';
import { overviewOf } from './made-overview.ts';
import { oneJob, startPrometheus } from './prometheus-server.ts';

const error = new Error('away');

/** What a relay may tell, each kind as often as the table below expects. */
const SCRIPT: readonly RelayEvent[] = [
  { kind: 'started', handlers: [{ handler: 'charge', types: ['order.placed'] }] },
  { kind: 'units-acquired', units: [33, 34, 35], orphaned: 2 },
  ...Array.from({ length: 5 }, () => started()),
  ...Array.from({ length: 3 }, () => done()),
  failed(),
  dead(),
  { kind: 'parked', handler: 'charge', delivery: delivery(), dlqId: 'm:1' },
  { kind: 'run-refused', handler: 'charge', delivery: delivery(), reason: 'lease-lost' },
  { kind: 'units-lost', units: [35], why: 'buried' },
  { kind: 'transport-failed', transport: 'kafka', during: 'publish', error, failures: 1 },
  { kind: 'place-waiting', transport: 'kafka', place: 'orders', error, failures: 1 },
  { kind: 'received', transport: 'kafka', stored: 4, duplicates: 2, ignored: 1 },
  { kind: 'store-failed', during: 'read', error, failures: 1 },
  { kind: 'breaker', handlers: [], waiting: 0, failingMs: 0, breaker: 'bank', state: 'open', cause: 'failures' },
  house({
    isFull: true,
    unserved: [{ reason: 'no-worker', handler: 'mail', type: undefined, generation: undefined, count: 6 }],
  }),
];

/** The sum over all series of each metric; of histograms, how many were seen. */
const EXPECTED: Readonly<Record<string, number>> = {
  outbox_published_total: 3,
  consumer_processed_total: 5,
  consumer_dedup_hits_total: 3,
  dlq_messages_total: 2,
  holdfast_parked_total: 1,
  holdfast_attempts_total: 5,
  holdfast_retries_total: 1,
  holdfast_results_refused_total: 1,
  holdfast_units_orphaned_total: 2,
  holdfast_units_lost_total: 1,
  holdfast_transport_failures_total: 1,
  holdfast_received_total: 7,
  holdfast_store_failures_total: 1,
  holdfast_breaker_opened_total: 1,
  holdfast_breaker_state: 2,
  outbox_pending: 7,
  holdfast_outbox_failed: 2,
  holdfast_outbox_oldest_seconds: 1.5,
  holdfast_outbox_full: 1,
  holdfast_outbox_unserved: 6,
  holdfast_transport_waiting: 1,
  holdfast_units_owned: 2,
  holdfast_housekeeper: 1,
  holdfast_run_duration_seconds: 5,
  holdfast_delivery_age_seconds: 3,
  idempotency_requests_total: 8,
  idempotency_cache_hits_total: 1,
  idempotency_ended_total: 4,
  idempotency_late_total: 1,
  idempotency_lost_total: 1,
  idempotency_unconfirmed_total: 1,
  idempotency_store_failures_total: 1,
  idempotency_reply_cache_failures_total: 1,
  idempotency_reaped_total: 7,
  idempotency_run_duration_seconds: 4,
  idempotency_wait_seconds: 1,
  holdfast_handler_pending: 12,
  holdfast_handler_waiting: 3,
  holdfast_handler_failed: 4,
  holdfast_handler_oldest_seconds: 90,
  holdfast_handler_workers: 2,
  holdfast_handler_paused: 1,
  holdfast_attention: 1,
};

needs('prometheus')(
  'every metric moves by exactly what was told, as a real Prometheus reads it [S1.10] [S1.11]',
  async ({ prometheus }) => {
    const relay = relayMetrics();
    const requests = idempotencyMetrics();
    const catalogs = { ...METRICS, ...IDEMPOTENCY_METRICS, ...SERVER_METRICS };
    // The one that tells a time has another value each time.
    const names = Object.keys(catalogs).filter((name) => name !== 'holdfast_outbox_sampled_timestamp_seconds');
    expect(Object.keys(EXPECTED).toSorted()).toEqual(names.toSorted());
    for (const event of SCRIPT) relay.observe(event);
    for (const event of idempotencyEvents()) requests.observe(event);
    const page = createServer(
      (_request, reply) => void reply.end(metricsText([relay.text(), requests.text()], overviewOf())),
    );
    await once(page.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void page.close());
    const { port } = page.address() as { port: number };
    const { query } = await startPrometheus(prometheus.url, oneJob(`127.0.0.1:${port}`, ALERTS_FILE));
    await expect.poll(async () => (await query('up')).map(({ value }) => value)).toEqual([1]);
    const sums = (): Promise<(readonly [name: string, sum: number | undefined])[]> =>
      Promise.all(
        names.map(async (name) => {
          const counted = catalogs[name as keyof typeof catalogs]?.kind === 'histogram' ? `${name}_count` : name;
          return [name, (await query(`sum(${counted})`))[0]?.value] as const;
        }),
      );
    // A page that was not read in time has no values until it is read again.
    await expect.poll(async () => Object.fromEntries(await sums())).toEqual(EXPECTED);
  },
);
