import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

const FOLDER = join(import.meta.dirname, '..', '..', 'docs', 'observability');

/** A panel of the dashboard, as far as tests look at it. */
export interface Panel {
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly datasource?: { readonly uid: string };
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } };
  readonly targets?: readonly { readonly expr: string }[];
}

/** The Grafana dashboard. */
export function dashboard(): {
  readonly title: string;
  readonly templating: {
    readonly list: readonly {
      readonly name: string;
      readonly type: string;
      readonly query: string | { query: string };
    }[];
  };
  readonly panels: readonly Panel[];
} {
  return JSON.parse(readFileSync(join(FOLDER, 'dashboard.json'), 'utf8')) as ReturnType<typeof dashboard>;
}

/** One alert rule. */
export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}

export const ALERTS_FILE: string = join(FOLDER, 'alerts.yml');

/** The alert rules. */
export function alertRules(): readonly AlertRule[] {
  const { groups } = parse(readFileSync(ALERTS_FILE, 'utf8')) as { groups: { rules: AlertRule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

/** A panel's query as Grafana would send it; rates and increases are those of the last minute, or of another time. */
export function asSent(expr: string, rateInterval = '1m'): string {
  return expr.replaceAll('$__rate_interval', rateInterval).replaceAll('$job', '.+').replaceAll('$instance', '.+');
}

/** The metrics a query names, without what a histogram's parts add to the name. */
export function metricsIn(expr: string): readonly string[] {
  const bare = expr.replaceAll(/"[^"]*"/g, '');
  const found = bare.match(/\b(?:outbox|consumer|dlq|holdfast|idempotency)_\w+/g) ?? [];
  return found.map((name) => name.replace(/_(?:bucket|sum|count)$/, ''));
}
