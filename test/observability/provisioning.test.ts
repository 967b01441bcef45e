import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readSettings } from '../../examples/budget-services/parts/settings.ts';
import { needs } from '../support/needs.ts';
import { dashboard } from './dashboard.ts';
import type { PrometheusConfig } from './prometheus-server.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PROMETHEUS_YML = 'docs/observability/prometheus.yml';

interface ComposeService {
  readonly image: string;
  readonly profiles: readonly string[];
  readonly network_mode: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes: readonly string[];
}

/** What Grafana knows of a data source and of a provider of dashboards in its provisioning files. */
const DATASOURCE_FIELDS = [
  'name',
  'type',
  'access',
  'orgId',
  'uid',
  'url',
  'user',
  'database',
  'basicAuth',
  'basicAuthUser',
  'withCredentials',
  'isDefault',
  'jsonData',
  'secureJsonData',
  'version',
  'editable',
];
const PROVIDER_FIELDS = [
  'name',
  'orgId',
  'folder',
  'folderUid',
  'type',
  'disableDeletion',
  'updateIntervalSeconds',
  'allowUiUpdates',
  'options',
];

function read(path: string): unknown {
  return parse(readFileSync(join(ROOT, path), 'utf8'));
}

const { services } = read('compose.yaml') as { services: Record<'prometheus' | 'grafana', ComposeService> };
const { prometheus, grafana } = services;
const scraping = read(PROMETHEUS_YML) as PrometheusConfig;

/** The file of this repository that a container sees under a path. */
function mountedAt({ volumes }: ComposeService, path: string): string | undefined {
  for (const volume of volumes) {
    const [here = '', there = '', mode] = volume.split(':');
    expect([volume, existsSync(join(ROOT, here)), mode]).toEqual([volume, true, 'ro']);
    if (path === there) return posix.normalize(here);
    if (path.startsWith(`${there}/`)) return posix.join(here, path.slice(there.length));
  }
  return undefined;
}

function optionOf({ command = [] }: ComposeService, name: string): string {
  return command.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3) ?? '';
}

describe('compose.yaml', () => {
  test('pins Prometheus and Grafana, starts them only when asked to, and lets no other machine in [S1.11]', () => {
    for (const { image, profiles, network_mode } of [prometheus, grafana]) {
      expect(image).toMatch(/^[a-z]+\/[a-z]+:v?\d+\.\d+\.\d+$/);
      expect([profiles, network_mode]).toEqual([['observability'], 'host']);
    }
    expect(optionOf(prometheus, 'web.listen-address')).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(grafana.environment).toMatchObject({
      GF_SERVER_HTTP_ADDR: '127.0.0.1',
      GF_AUTH_ANONYMOUS_ORG_ROLE: 'Viewer',
    });
  });

  test('gives Prometheus the configuration of the repository, with rules that are there [S1.11]', () => {
    expect(mountedAt(prometheus, optionOf(prometheus, 'config.file'))).toBe(PROMETHEUS_YML);
    const files = scraping.rule_files.map((file) => posix.join(dirname(PROMETHEUS_YML), file));
    expect(files).toEqual(['docs/observability/alerts.yml']);
    for (const file of files) expect(existsSync(join(ROOT, file)), file).toBe(true);
  });

  test('gives Grafana the data source that its dashboard asks for, at the Prometheus beside it [S1.11]', () => {
    const file = mountedAt(grafana, '/etc/grafana/provisioning/datasources/holdfast.yaml') ?? '';
    const { apiVersion, datasources } = read(file) as { apiVersion: number; datasources: Record<string, unknown>[] };
    expect([apiVersion, datasources.length]).toEqual([1, 1]);
    const [source = {}] = datasources;
    expect(Object.keys(source).filter((field) => !DATASOURCE_FIELDS.includes(field))).toEqual([]);
    const variable = dashboard().templating.list.find(({ type }) => type === 'datasource');
    // The dashboard has a variable in place of a uid, so that it fits every Grafana. It takes the default one of its kind.
    expect(source).toMatchObject({ type: variable?.query, access: 'proxy', isDefault: true });
    expect(source['uid']).toMatch(/^[\w-]{1,40}$/);
    expect(new URL(String(source['url'])).host).toBe(optionOf(prometheus, 'web.listen-address'));
    expect(source['jsonData']).toMatchObject({ timeInterval: scraping.global?.['scrape_interval'] });
  });

  test('gives Grafana the dashboard, and opens it first [S1.11]', () => {
    const file = mountedAt(grafana, '/etc/grafana/provisioning/dashboards/holdfast.yaml') ?? '';
    type Provider = Record<string, unknown> & { readonly options: { readonly path: string } };
    const { apiVersion, providers } = read(file) as { apiVersion: number; providers: Provider[] };
    expect([apiVersion, providers.length]).toEqual([1, 1]);
    const [provider] = providers;
    expect(Object.keys(provider ?? {}).filter((field) => !PROVIDER_FIELDS.includes(field))).toEqual([]);
    expect(provider).toMatchObject({ name: expect.stringMatching(/./), type: 'file' });
    const home = grafana.environment?.['GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH'] ?? '';
    expect(posix.dirname(home)).toBe(provider?.options.path);
    expect(mountedAt(grafana, home)).toBe('docs/observability/dashboard.json');
  });
});

test('the dashboard can be provisioned as it is: it has a uid, no id, and nothing that only an import by hand fills in [S1.11]', () => {
  const json = dashboard() as unknown as Record<string, unknown>;
  expect(json).toMatchObject({ uid: 'holdfast', title: 'Holdfast', schemaVersion: expect.any(Number) });
  expect(['id', '__inputs', '__requires'].filter((name) => name in json)).toEqual([]);
  const names = dashboard().templating.list.map(({ name }) => name);
  const placed = JSON.stringify(json).matchAll(/\$\{([^}]+)\}/g);
  expect([...placed].filter(([, name = '']) => !names.includes(name))).toEqual([]);
});

test('prometheus.yml scrapes the ports on which the budget services and holdfast serve listen by default [S1.10]', () => {
  const servers = { DATABASE_URL: 'x', REDIS_URL: 'x', RABBITMQ_URL: 'x', KAFKA_BROKERS: 'x', MONGODB_URL: 'x' };
  const { host, ports, relayPort, transactionsRestPort } = readSettings(servers);
  const targets = scraping.scrape_configs.map(({ job_name, static_configs }) => [job_name, static_configs[0]?.targets]);
  expect(Object.fromEntries(targets)).toEqual({
    orders: [`${host}:${ports.orders}`],
    'orders-relay': [`${host}:${relayPort}`],
    expenses: [`${host}:${ports.expenses}`],
    transactions: [`${host}:${transactionsRestPort}`],
    'holdfast-serve': ['127.0.0.1:4747'],
  });
});

needs('prometheus')('promtool accepts prometheus.yml with its rules [S1.10]', async ({ prometheus: programs }) => {
  const check = [join(programs.url, 'promtool'), ['check', 'config', join(ROOT, PROMETHEUS_YML)]] as const;
  const { stdout } = await promisify(execFile)(...check);
  expect(stdout).toContain('prometheus.yml is valid prometheus config file syntax');
});
