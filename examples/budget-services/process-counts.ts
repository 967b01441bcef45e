/** What one process has counted since it was started. */
export interface ProcessCounts {
  readonly published: number;
  readonly pending: number;
  readonly handled: number;
  readonly retried: number;
  readonly duplicates: number;
  readonly replayed: number;
  readonly dead: number;
}

const LIMIT_MS = 1_000;

/** Reads them from its page of metrics, as Prometheus does. Nothing where it does not answer. */
export async function readProcessCounts(metricsUrl: string): Promise<ProcessCounts | undefined> {
  try {
    const response = await fetch(metricsUrl, { signal: AbortSignal.timeout(LIMIT_MS) });
    return countsOf(await response.text());
  } catch {
    return undefined;
  }
}

function countsOf(text: string): ProcessCounts {
  return {
    published: sumOf(text, 'outbox_published_total'),
    pending: sumOf(text, 'outbox_pending'),
    handled: sumOf(text, 'consumer_processed_total', 'outcome="done"'),
    retried: sumOf(text, 'consumer_processed_total', 'outcome="retry"'),
    duplicates: sumOf(text, 'consumer_dedup_hits_total'),
    replayed: sumOf(text, 'idempotency_cache_hits_total'),
    dead: sumOf(text, 'dlq_messages_total'),
  };
}

function sumOf(text: string, name: string, label = ''): number {
  return text
    .split('\n')
    .filter((line) => (line.startsWith(`${name}{`) || line.startsWith(`${name} `)) && line.includes(label))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}
