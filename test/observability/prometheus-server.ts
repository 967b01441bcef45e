import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { freePort, freshFolder, startPrivate } from '../support/private-server.ts';

/** One time series of an answer. */
export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A real Prometheus that reads one page five times a second, until the test ends. */
export async function startPrometheus(
  programs: string,
  target: string,
  rules: string,
): Promise<{ query(expression: string): Promise<readonly Sample[]> }> {
  const folder = freshFolder('prometheus');
  const port = await freePort();
  const config = {
    global: { scrape_interval: '200ms', scrape_timeout: '200ms', evaluation_interval: '200ms' },
    rule_files: [rules],
    scrape_configs: [{ job_name: 'orders', static_configs: [{ targets: [target] }] }],
  };
  writeFileSync(join(folder, 'prometheus.json'), JSON.stringify(config));
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
  onTestFinished(() => server.stop());
  return {
    async query(expression) {
      const answer = await fetch(`${base}/api/v1/query`, {
        method: 'POST',
        body: new URLSearchParams({ query: expression }),
      });
      const { status, error, data } = (await answer.json()) as {
        status: string;
        error?: string;
        data?: { result: { metric: Record<string, string>; value: [number, string] }[] };
      };
      if (status !== 'success') throw new Error(`${expression}: ${error ?? ''}`);
      return (data?.result ?? []).map(({ metric, value }) => ({ metric, value: Number(value[1]) }));
    },
  };
}
