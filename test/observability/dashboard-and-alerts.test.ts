import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { idempotency, memoryIdempotency } from '../../src/idempotency/index.ts';
import { constant, event, policy } from '../../src/index.ts';
import { SERVER_METRICS } from '../../src/server/metrics-text.ts';
import { IDEMPOTENCY_METRICS } from '../../src/telemetry/idempotency-catalog.ts';
import { idempotencyMetrics, relayMetrics } from '../../src/telemetry/index.ts';
import { METRICS } from '../../src/telemetry/metric-catalog.ts';
import { testService } from '../relay/service.ts';
import { needs } from '../support/needs.ts';
import { alertRules, ALERTS_FILE, asSent, dashboard, metricsIn } from './dashboard.ts';
import { oneJob, startPrometheus } from './prometheus-server.ts';

const exec = promisify(execFile);
const ROOT = join(import.meta.dirname, '..', '..');
const ALL_METRICS = [METRICS, SERVER_METRICS, IDEMPOTENCY_METRICS].flatMap((catalog) => Object.keys(catalog));
const shown = dashboard().panels.filter(({ type }) => type !== 'row');
const queries = shown.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

describe('the dashboard', () => {
  test('shows every metric there is, and none that is not there [S1.11]', () => {
    expect([...new Set(queries.flatMap(metricsIn))].toSorted()).toEqual(ALL_METRICS.toSorted());
  });

  test('every panel says what it shows, in which unit, and from the source that was chosen [S1.11]', () => {
    expect(shown.length).toBeGreaterThan(20);
    for (const { title, description, fieldConfig, datasource, targets } of shown) {
      expect([title, description ?? '', fieldConfig?.defaults.unit ?? ''], title).not.toContain('');
      expect(datasource?.uid).toBe('${datasource}');
      expect(targets?.every(({ expr }) => expr.includes('job=~"$job"'))).toBe(true);
    }
    expect(new Set(shown.map(({ title, targets }) => `${title} ${targets?.[0]?.expr}`)).size).toBe(shown.length);
    expect(dashboard().templating.list.map(({ name }) => name)).toEqual(['datasource', 'job', 'instance']);
  });
});

describe('the alerts', () => {
  test('each names metrics that are there, and the part of the runbook that says what to do [X.18]', () => {
    const rules = alertRules();
    expect(rules.length).toBeGreaterThan(10);
    for (const { alert, expr, annotations, labels } of rules) {
      expect(ALL_METRICS, alert).toEqual(expect.arrayContaining([...metricsIn(expr)]));
      expect(['page', 'ticket']).toContain(labels.severity);
      const [file = '', part = ''] = annotations.runbook_url.split('#');
      const headings = readFileSync(join(ROOT, file), 'utf8').matchAll(/^## (.+)$/gm);
      expect(part).toBe(alert.toLowerCase());
      expect([...headings].map(([, heading = '']) => heading)).toContain(alert);
    }
  });

  needs('prometheus')(
    'promtool accepts the rules; each fires for what it is about and none while all is well [X.18]',
    async ({ prometheus }) => {
      const promtool = join(prometheus.url, 'promtool');
      const { stdout } = await exec(promtool, ['check', 'rules', ALERTS_FILE]);
      expect(stdout).toContain(`${alertRules().length} rules found`);
      const tests = ALERTS_FILE.replace(/\.yml$/, '-check.yml');
      await exec(promtool, ['test', 'rules', tests]);
      const tested = [...readFileSync(tests, 'utf8').matchAll(/^ {2}- name: (\S+)$/gm)].map(([, name]) => name);
      expect(tested).toEqual(alertRules().map(({ alert }) => alert));
    },
  );
});

const placed = event<{ n: number }>('order.placed', { key: ({ n }) => String(n) });

needs('postgres', 'prometheus')(
  'a real Prometheus reads a running service: counters move by what was done, and every query has an answer [S1.10] [S1.11]',
  async ({ postgres, prometheus }) => {
    const metrics = relayMetrics();
    const requests = idempotencyMetrics();
    const page = createServer((_request, reply) => void reply.end(metrics.text() + requests.text()));
    await once(page.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void page.close());
    const { port } = page.address() as { port: number };
    const { query } = await startPrometheus(prometheus.url, oneJob(`127.0.0.1:${port}`, ALERTS_FILE));

    const { hf, inTransaction, start } = await testService(postgres);
    const failing = Object.assign(new Error('no'), { code: 'ODD' });
    hf.on(
      placed,
      'charge',
      ({ n }) => {
        if (n % 5 === 0) throw failing;
      },
      { policy: policy({ maxAttempts: 3, schedule: constant(1) }) },
    );
    await start({ observers: [metrics.observe] });
    // Each number may come with the next reading of the page only.
    const expectSum = async (expr: string, value: number): Promise<void> => {
      await expect.poll(async () => (await query(`sum(${expr})`))[0]?.value, { message: expr }).toBe(value);
    };
    // There from the start: the first dead letter is an increase.
    await expectSum('dlq_messages_total{handler="charge",type="order.placed"}', 0);

    const idem = idempotency({ store: memoryIdempotency(), service: 'orders', observers: [requests.observe] });
    for (const key of ['a', 'b', 'a']) await idem.once(key, async () => key, { domain: 'POST /orders' });
    await inTransaction(async (tx) => {
      for (let n = 1; n <= 20; n++) await hf.send(tx, placed, { n });
    });
    const about = '{handler="charge",type="order.placed"';
    await expectSum(`dlq_messages_total${about}}`, 4);
    await expectSum(`consumer_processed_total${about},outcome="done"}`, 16);
    await expectSum(`consumer_processed_total${about},outcome="retry"}`, 8);
    await expectSum('outbox_published_total{type="order.placed"}', 16);
    await expectSum(`holdfast_attempts_total${about}}`, 28);
    await expectSum('holdfast_run_duration_seconds_count{handler="charge"}', 28);
    await expectSum('idempotency_cache_hits_total', 1);
    await expectSum('idempotency_requests_total{outcome="first"}', 2);
    await expectSum('holdfast_outbox_failed', 4);

    for (const expr of [...queries.map((one) => asSent(one)), ...alertRules().map((rule) => rule.expr)])
      await query(expr);
    const bare = Object.entries({ ...METRICS, ...IDEMPOTENCY_METRICS })
      .filter(([, { kind, labels }]) => kind !== 'histogram' && labels.length === 0)
      .map(([name]) => name);
    const answers = await Promise.all(bare.map((name) => query(name)));
    expect(bare.filter((_, i) => answers[i]?.length === 0)).toEqual([]);
    // What was to be seen of this run is seen by the panels' own queries.
    const panel = async (title: string): Promise<number | undefined> => {
      const [target] = shown.find((one) => one.title === title)?.targets ?? [];
      return (await query(asSent(target?.expr ?? '')))[0]?.value;
    };
    await expect.poll(() => panel('Dead letters')).toBe(4);
    await expect.poll(() => panel('Handled')).toBeGreaterThan(0);
    await expect.poll(async () => (await query('ALERTS{alertname="HoldfastDeadLetters"}')).length).toBe(1);
  },
);
