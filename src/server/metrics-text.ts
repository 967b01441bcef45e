import type { HandlerOverview, Overview } from '../operator/overview.ts';
import { METRICS } from '../telemetry/metric-catalog.ts';
import { type GaugeValue, gauge, type MetricCatalog } from '../telemetry/metric-sink.ts';
import { PrometheusText } from '../telemetry/prometheus-text.ts';

const OF_HANDLER = ['service', 'handler'] as const;

/** What only a look over all of the database knows. */
export const SERVER_METRICS: MetricCatalog = {
  holdfast_handler_pending: gauge('Ready deliveries of a handler; exact up to 10,000.', ...OF_HANDLER),
  holdfast_handler_waiting: gauge('Deliveries of a handler that wait for a retry or their time.', ...OF_HANDLER),
  holdfast_handler_failed: gauge('Dead letters of a handler that wait for a decision.', ...OF_HANDLER),
  holdfast_handler_oldest_seconds: gauge('Age of the oldest ready delivery of a handler.', ...OF_HANDLER),
  holdfast_handler_workers: gauge('Live workers that serve a handler.', ...OF_HANDLER),
  holdfast_handler_paused: gauge('1 while a handler is paused.', ...OF_HANDLER),
  holdfast_attention: gauge('Things that need somebody, by kind, as the console shows them.', 'kind'),
};

/** What the database says: with the gauges of the outbox under the names they have in relays. */
const CATALOG: MetricCatalog = {
  outbox_pending: METRICS.outbox_pending,
  holdfast_outbox_failed: METRICS.holdfast_outbox_failed,
  holdfast_outbox_oldest_seconds: METRICS.holdfast_outbox_oldest_seconds,
  ...SERVER_METRICS,
};

/** The pages that were handed in, and the gauges of the database that none of them has. */
export function metricsText(pages: readonly string[], overview: Overview | undefined): string {
  const given = pages.map((page) => (page === '' || page.endsWith('\n') ? page : `${page}\n`)).join('');
  if (overview === undefined) return given;
  // Two values of one name without labels are one too many for Prometheus.
  const names = Object.keys(CATALOG).filter((name) => !new RegExp(`^${name}[ {]`, 'm').test(given));
  const isNamed = (name: string): boolean => new RegExp(`^# TYPE ${name} `, 'm').test(given);
  const shown = Object.fromEntries(names.flatMap((name) => (CATALOG[name] ? [[name, CATALOG[name]] as const] : [])));
  const sink = new PrometheusText(shown);
  const values = valuesOf(overview);
  for (const name of names) sink.set(name, values[name] ?? []);
  const lines = sink.text().split('\n');
  const isTold = (line: string): boolean => {
    const name = /^# (?:HELP|TYPE) (\S+)/.exec(line)?.[1];
    return name !== undefined && isNamed(name);
  };
  return given + lines.filter((line) => !isTold(line)).join('\n');
}

function valuesOf({ handlers, attention }: Overview): Readonly<Record<string, readonly GaugeValue[]>> {
  const of = (value: (one: HandlerOverview) => number | undefined): readonly GaugeValue[] =>
    handlers.flatMap((one) => {
      const known = value(one);
      const labels = { service: one.service, handler: one.handler };
      return known === undefined ? [] : [{ labels, value: known }];
    });
  const sum = (value: (one: HandlerOverview) => number): readonly GaugeValue[] => [
    { labels: {}, value: handlers.reduce((total, one) => total + value(one), 0) },
  ];
  const oldestMs = Math.max(0, ...handlers.map((one) => one.oldestMs ?? 0));
  return {
    outbox_pending: sum((one) => one.pending + one.waiting),
    holdfast_outbox_failed: sum((one) => one.failed),
    holdfast_outbox_oldest_seconds: [{ labels: {}, value: oldestMs / 1_000 }],
    holdfast_handler_pending: of((one) => one.pending),
    holdfast_handler_waiting: of((one) => one.waiting),
    holdfast_handler_failed: of((one) => one.failed),
    holdfast_handler_oldest_seconds: of((one) => (one.oldestMs === undefined ? undefined : one.oldestMs / 1_000)),
    holdfast_handler_workers: of((one) => one.workers.length),
    holdfast_handler_paused: of((one) => (one.pausedAt === undefined ? 0 : 1)),
    holdfast_attention: attention.map(({ kind }) => ({ labels: { kind }, value: 1 })),
  };
}
