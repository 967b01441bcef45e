import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Producer } from '@platformatic/kafka';
import { afterAll, expect } from 'vitest';
import { parse } from 'yaml';
import { ProcessKeeper } from '../../examples/local-processes/process-keeper.ts';
import { type Prometheus, type PrometheusConfig, startPrometheus } from '../observability/prometheus-server.ts';
import type { TestServer } from '../support/needs.ts';
import { freePort } from '../support/private-server.ts';
import { requestOf, spentOf } from './requests.ts';
import { type Budget, type Servers, sharedBudget } from './shared-budget.ts';

const CLI = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const CONFIG = fileURLToPath(new URL('../../docs/observability/prometheus.yml', import.meta.url));

/** What was done in the run: what the metrics have to say. */
export const DONE = { orders: 4, replays: 3, deadLetters: 1, transactions: 7, duplicates: 1 } as const;

/** The example at work, `holdfast serve` beside it, and a Prometheus that has seen all of the run. */
export interface WatchedBudget extends Prometheus {
  readonly config: PrometheusConfig;
  /**
   * Sends one further request of each protocol. A series that was first scraped after all of its events shows no rate until there is
   * another: whether a scrape came in between is up to the machine.
   */
  requestAll(): Promise<void>;
}

/** Starts everything once for all tests of a file, with the configuration of the repository on the ports of this run, and lets it work. */
export function watchedBudget(): (servers: Servers, prometheus: TestServer) => Promise<WatchedBudget> {
  const theBudget = sharedBudget();
  const ends: (() => Promise<unknown>)[] = [];
  afterAll(async () => {
    for (const end of ends.toReversed()) await end();
  });
  const start = async (servers: Servers, prometheus: TestServer): Promise<WatchedBudget> => {
    const budget = await theBudget(servers);
    const servePort = await startServe(budget, ends);
    const config = onPortsOf(budget, servePort);
    const running = await startPrometheus(prometheus.url, config, (stop) => ends.push(stop));
    // A counter that is there with 0 before the work is an increase after it.
    const up = async (): Promise<number> => (await running.query('up == 1')).length;
    await expect.poll(up).toBe(config.scrape_configs.length);
    await work(budget);
    return { ...running, config, requestAll: () => requestAll(budget) };
  };
  let watched: Promise<WatchedBudget> | undefined;
  return (servers, prometheus) => (watched ??= start(servers, prometheus));
}

/** The repository's own prometheus.yml: other ports, and more often. */
function onPortsOf({ ports }: Budget, servePort: number): PrometheusConfig {
  const moved: Readonly<Record<string, number>> = {
    '127.0.0.1:3001': ports.orders,
    '127.0.0.1:3002': ports.expenses,
    '127.0.0.1:3005': ports.transactionsRest,
    '127.0.0.1:3006': ports.ordersRelay,
    '127.0.0.1:4747': servePort,
  };
  const { rule_files, scrape_configs } = parse(readFileSync(CONFIG, 'utf8')) as PrometheusConfig;
  return {
    global: { scrape_interval: '500ms', scrape_timeout: '500ms', evaluation_interval: '500ms' },
    rule_files: rule_files.map((file) => join(dirname(CONFIG), file)),
    scrape_configs: scrape_configs.map(({ job_name, static_configs }) => ({
      job_name,
      static_configs: static_configs.map(({ targets }) => ({ targets: targets.map((at) => `127.0.0.1:${moved[at]}`) })),
    })),
  };
}

async function startServe({ env }: Budget, ends: (() => Promise<unknown>)[]): Promise<number> {
  const port = await freePort();
  const keeper = new ProcessKeeper({ ...process.env, ...env, HOLDFAST_SCHEMA: 'budget_orders' }, () => undefined);
  ends.push(() => keeper.stop());
  await keeper.start({ name: 'serve', args: [CLI, 'serve', '--local', '--port', String(port)], ready: /^Serving / });
  return port;
}

const PROTOCOLS = ['REST', 'REST', 'REST', 'REST expense', 'REST transaction', 'GraphQL', 'gRPC'] as const;

async function requestAll(budget: Budget): Promise<void> {
  for (const protocol of new Set(PROTOCOLS)) await requestOf(budget, protocol, 'further').send();
}

/** Requests over all protocols, repetitions, an order that becomes a dead letter, and a message that comes twice. */
async function work(budget: Budget): Promise<void> {
  for (const protocol of PROTOCOLS) await requestOf(budget, protocol, 'watched').send();
  const again = requestOf(budget, 'REST', 'watched', 'yachts');
  await again.send();
  for (let n = 0; n < DONE.replays; n++) expect(await again.send()).toMatchObject({ isReplay: true });
  await expect.poll(() => spentOf(budget, 'watched')).toMatchObject({ transactions: PROTOCOLS.length });
  await publishAgain(budget);
}

/** Sends one of the messages to Kafka a second time, as a producer does that has lost the acknowledgement. */
async function publishAgain({ kafka, env, prefix }: Budget): Promise<void> {
  const published = (): number => kafka.seen.findIndex(({ headers }) => headers['ce_type'] === 'expense.booked');
  await expect.poll(published).toBeGreaterThanOrEqual(0);
  const { headers = {}, payload = {} } = kafka.seen[published()] ?? {};
  const producer = new Producer({ clientId: 'again', bootstrapBrokers: [env['KAFKA_BROKERS'] ?? ''] });
  const pairs = Object.entries(headers).map(([name, value]) => [Buffer.from(name), Buffer.from(value)] as const);
  const key = Buffer.from(String(payload['budgetId']));
  const value = Buffer.from(JSON.stringify(payload));
  await producer.send({ messages: [{ topic: `${prefix}expense`, key, value, headers: new Map(pairs) }] });
  await producer.close();
}
