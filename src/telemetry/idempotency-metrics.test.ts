import { describe, expect, test } from 'vitest';
import { about, finished, idempotencyEvents } from '../../test/telemetry/made-idempotency-events.ts';
import { idempotencyMetrics } from './idempotency-metrics.ts';

function valueOf(text: string, series: string): number | undefined {
  const line = text.split('\n').find((one) => one.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

describe('metrics of idempotency', () => {
  test('count requests by outcome, replays, ends, and what went wrong [S1.10]', () => {
    const metrics = idempotencyMetrics();
    for (const event of idempotencyEvents()) metrics.observe(event);
    metrics.observe({ kind: 'mismatch', about: about() });
    const text = metrics.text();
    const shown = (name: string, labels: string): number | undefined => valueOf(text, `${name}{${labels}}`);
    const domain = 'domain="POST /orders"';
    for (const outcome of ['first', 'taken-over', 'replayed', 'in-flight', 'unknown', 'store-down', 'unguarded']) {
      expect(shown('idempotency_requests_total', `${domain},outcome="${outcome}"`)).toBe(1);
    }
    expect(shown('idempotency_requests_total', `${domain},outcome="mismatch"`)).toBe(2);
    expect(shown('idempotency_cache_hits_total', domain)).toBe(1);
    for (const outcome of ['completed', 'failed', 'released', 'doubted']) {
      expect(shown('idempotency_ended_total', `${domain},outcome="${outcome}"`)).toBe(1);
      expect(shown('idempotency_run_duration_seconds_sum', `${domain},outcome="${outcome}"`)).toBe(0.02);
    }
    expect(shown('idempotency_late_total', domain)).toBe(1);
    expect(shown('idempotency_lost_total', `${domain},why="taken"`)).toBe(1);
    expect(shown('idempotency_unconfirmed_total', domain)).toBe(1);
    expect(shown('idempotency_store_failures_total', 'during="claim"')).toBe(1);
    expect(shown('idempotency_reply_cache_failures_total', 'during="get"')).toBe(1);
    expect(shown('idempotency_wait_seconds_bucket', `${domain},le="0.25"`)).toBe(1);
    expect(valueOf(text, 'idempotency_reaped_total')).toBe(7);
  });

  test('are there with 0 from the first request on, so that the first mismatch is an increase', () => {
    const metrics = idempotencyMetrics();
    metrics.observe({ kind: 'first', about: about(), run: 1 });
    const text = metrics.text();
    expect(valueOf(text, 'idempotency_requests_total{domain="POST /orders",outcome="mismatch"}')).toBe(0);
    expect(valueOf(text, 'idempotency_cache_hits_total{domain="POST /orders"}')).toBe(0);
    expect(valueOf(text, 'idempotency_reaped_total')).toBe(0);
  });

  test('are bounded: domains made of ids are added up under "other"', () => {
    const metrics = idempotencyMetrics();
    for (let i = 0; i < 3_000; i++) metrics.observe(finished({ about: about({ domain: `GET /orders/${i}` }) }));
    const lines = metrics.text().split('\n');
    expect(lines.filter((line) => line.startsWith('idempotency_ended_total{'))).toHaveLength(2_001);
  });

  test('show neither keys nor ids', () => {
    const metrics = idempotencyMetrics();
    for (const event of idempotencyEvents()) metrics.observe(event);
    expect(metrics.text()).not.toMatch(/key-1|record-1/);
  });
});
