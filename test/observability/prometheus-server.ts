import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { freePort, freshFolder, startPrivate } from '../support/private-server.ts';

/** One time series of an answer. */
interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: number;
}

/** What `prometheus.yml` may say, as far as tests look at it. */
export interface PrometheusConfig {
  readonly global?: Readonly<Record<string, string>>;
  readonly rule_files: readonly string[];
  readonly scrape_configs: readonly {
    readonly job_name: string;
    readonly static_configs: readonly { readonly targets: readonly string[] }[];
  }[];
}

/** A running Prometheus. */
export interface Prometheus {
  /** The `data` of an answer of its HTTP API. Rejects with what it says of a query that it refuses. */
  readonly api: <Data>(path: string, parameters?: Readonly<Record<string, string>>) => Promise<Data>;
  readonly query: (expression: string) => Promise<readonly Sample[]>;
}

/** One page, scraped as the job `orders`. */
export function oneJob(target: string, rules: string): PrometheusConfig {
  return { rule_files: [rules], scrape_configs: [{ job_name: 'orders', static_configs: [{ targets: [target] }] }] };
}

const FIVE_TIMES_A_SECOND = { scrape_interval: '200ms', scrape_timeout: '200ms', evaluation_interval: '200ms' };

/** A real Prometheus, by default scraping five times a second, until the test ends or what `atEnd` waits for. */
export async function startPrometheus(
  programs: string,
  { global = FIVE_TIMES_A_SECOND, ...config }: PrometheusConfig,
  atEnd: (stop: () => Promise<void>) => void = onTestFinished,
): Promise<Prometheus> {
  const folder = freshFolder('prometheus');
  const port = await freePort();
  writeFileSync(join(folder, 'prometheus.json'), JSON.stringify({ global, ...config }));
  const base = `http://127.0.0.1:${port}`;
  const server = await startPrivate({
    name: 'prometheus',
    folder,
    server: [
      join(programs, 'prometheus'),
      `--config.file=${join(folder, 'prometheus.json')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    probe: async () => {
      const { ok } = await fetch(`${base}/-/ready`);
      if (!ok) throw new Error('not ready');
    },
  });
  atEnd(() => server.stop());
  const api = async <Data>(path: string, parameters: Readonly<Record<string, string>> = {}): Promise<Data> => {
    const answer = await fetch(`${base}/api/v1/${path}?${new URLSearchParams(parameters)}`);
    const { status, error, data } = (await answer.json()) as { status: string; error?: string; data: Data };
    if (status !== 'success') throw new Error(`${path} ${Object.values(parameters).join(' ')}: ${error ?? ''}`);
    return data;
  };
  return {
    api,
    query: async (query) => {
      const { result } = await api<{ result: { metric: Record<string, string>; value: [number, string] }[] }>('query', {
        query,
      });
      return result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }));
    },
  };
}
