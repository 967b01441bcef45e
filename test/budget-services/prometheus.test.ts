import { expect } from 'vitest';
import { alertRules, asSent, dashboard } from '../observability/dashboard.ts';
import { needs } from '../support/needs.ts';
import { BUDGET_SERVERS } from './shared-budget.ts';
import { DONE, type WatchedBudget, watchedBudget } from './watched-budget.ts';

const theWatched = watchedBudget();
const test = needs(...BUDGET_SERVERS, 'prometheus').extend<{ watched: WatchedBudget }>({
  watched: async ({ prometheus, postgres, mongodb, redis, rabbitmq, kafka }, use) =>
    use(await theWatched({ postgres, mongodb, redis, rabbitmq, kafka }, prometheus)),
});

/** Longer than the run: how fast this machine is says nothing about a panel. */
const THE_RUN = '1h';

/** Metrics that have no series in this run, and why. */
const WITHOUT_DATA: Readonly<Record<string, string>> = {
  holdfast_handler_oldest_seconds: 'nothing waits',
  holdfast_attention: 'nothing in the schema of the orders needs attention',
  holdfast_outbox_unserved: 'every handler has a worker',
  holdfast_store_failures_total: 'the databases always answer',
  holdfast_transport_failures_total: 'both brokers always answer',
  holdfast_transport_waiting: 'every queue and topic is there',
  idempotency_lost_total: 'no request loses its claim',
  idempotency_unconfirmed_total: 'the store confirms each end in time',
  idempotency_store_failures_total: 'the databases always answer',
  idempotency_reply_cache_failures_total: 'Redis always answers',
  idempotency_wait_seconds_bucket: 'no request waits for another with its key',
};

/** True if a query names a metric without data, and does not say itself what to show then. */
function mayBeEmpty(expr: string): boolean {
  return !expr.includes('vector(0)') && Object.keys(WITHOUT_DATA).some((name) => expr.includes(name));
}

test.for([
  ['max(outbox_pending)', 0],
  ['max(outbox_pending{job="orders-relay"})', 0],
  ['sum(outbox_published_total{job="orders-relay", type="order.placed"})', DONE.orders],
  ['sum(consumer_processed_total{job="expenses", handler="inbox", outcome="done"})', DONE.orders - DONE.deadLetters],
  ['sum(consumer_processed_total{job="expenses", handler="inbox", outcome="retry"})', 6 * DONE.deadLetters],
  ['sum(consumer_processed_total{job="transactions", handler="budget", outcome="done"})', DONE.transactions],
  ['sum(consumer_dedup_hits_total{job="transactions", handler="from-kafka"})', DONE.duplicates],
  ['sum(dlq_messages_total)', DONE.deadLetters],
  ['sum(dlq_messages_total{job="expenses", handler="inbox"})', DONE.deadLetters],
  ['sum(idempotency_cache_hits_total{job="orders"})', DONE.replays],
] as const)(
  'the budget services: a real Prometheus scrapes each process, and %s is %i after the run [S1.10]',
  // The first of them starts everything.
  { timeout: 120_000 },
  async ([expr, value], { watched }) => {
    await expect.poll(async () => (await watched.query(expr)).map((one) => one.value)).toEqual([value]);
  },
);

test('the budget services: each query of the dashboard has values in a real Prometheus, but for what did not happen in the run [S1.11]', async ({
  watched,
}) => {
  for (const { title, targets = [] } of dashboard().panels) {
    for (const expr of targets.map((target) => target.expr)) {
      // It rejects with the error that Grafana would show.
      const found = async (): Promise<number> => {
        const { length } = (await watched.query(asSent(expr, THE_RUN))).filter(({ value }) => !Number.isNaN(value));
        if (length === 0 && !mayBeEmpty(expr)) await watched.requestAll();
        return length;
      };
      if (mayBeEmpty(expr)) await found();
      else await expect.poll(found, { message: `${title}: ${expr}`, interval: 500 }).toBeGreaterThan(0);
    }
  }
});

test.for(['Dead letters', 'Second effects that did not happen', 'Answered with what was kept'] as const)(
  'the budget services: what happened once in the run is an increase on the panel "%s" [S1.11]',
  async (title, { watched }) => {
    const panel = dashboard().panels.find((one) => one.type === 'timeseries' && one.title === title);
    const expr = asSent(panel?.targets?.[0]?.expr ?? '', THE_RUN);
    const most = async (): Promise<number> => Math.max(...(await watched.query(expr)).map(({ value }) => value));
    await expect.poll(most).toBeGreaterThan(0);
  },
);

test('the budget services: each variable of the dashboard lists every job and process that is scraped [S1.11]', async ({
  watched,
}) => {
  const jobs = watched.config.scrape_configs;
  const scraped: Readonly<Record<string, readonly string[]>> = {
    job: jobs.map(({ job_name }) => job_name),
    instance: jobs.flatMap(({ static_configs }) => static_configs.flatMap(({ targets }) => targets)),
  };
  const variables = dashboard().templating.list.filter(({ type }) => type === 'query');
  expect(variables.map(({ name }) => name)).toEqual(Object.keys(scraped));
  for (const { name, query } of variables) {
    const text = typeof query === 'string' ? query : query.query;
    const [, series = '', label] = /^label_values\((.+), (\w+)\)$/.exec(text) ?? [];
    const listed = (): Promise<readonly string[]> =>
      watched.api(`label/${label}/values`, { 'match[]': asSent(series) });
    await expect.poll(async () => (await listed()).toSorted()).toEqual(scraped[name]?.toSorted());
  }
});

interface Rules {
  readonly groups: readonly {
    readonly rules: readonly { readonly name: string; readonly health: string; readonly lastError?: string }[];
  }[];
}

test('the budget services: a real Prometheus evaluates each alert rule without an error, each has data, and the dead letter fires one [X.18]', async ({
  watched,
}) => {
  const evaluated = async (): Promise<unknown> => {
    const { groups } = await watched.api<Rules>('rules');
    return groups.flatMap(({ rules }) => rules.map(({ name, health, lastError }) => [name, health, lastError ?? '']));
  };
  await expect.poll(evaluated).toEqual(alertRules().map(({ alert }) => [alert, 'ok', '']));
  for (const { alert, expr } of alertRules()) {
    // Without its bound a rule shows what it looks at.
    const looksAt = expr.replace(/ (?:>|==) [\d.]+(?: or .*)?$/, '');
    expect(looksAt, alert).not.toBe(expr);
    const found = async (): Promise<number> => (await watched.query(looksAt)).length;
    if (mayBeEmpty(looksAt)) await found();
    else await expect.poll(found, { message: alert }).toBeGreaterThan(0);
  }
  await expect
    .poll(() => watched.query('ALERTS{alertname="HoldfastDeadLetters", alertstate="firing"}'))
    .toMatchObject([{ metric: { handler: 'inbox', type: 'order.placed' } }]);
});
