import { type IdempotencyMetrics, idempotencyMetrics, type RelayMetrics, relayMetrics } from 'holdfast/telemetry';

/** What one process counts, for Prometheus. */
export interface ServiceMetrics {
  readonly relay: RelayMetrics;
  readonly requests: IdempotencyMetrics;
  readonly contentType: string;
  /** All of it in the text format. */
  readonly text: () => string;
}

/** Counts for one process: its relay, and the requests it answers. */
export function serviceMetrics(): ServiceMetrics {
  const [relay, requests] = [relayMetrics(), idempotencyMetrics()];
  return {
    relay,
    requests,
    contentType: relay.response().headers.get('content-type') ?? 'text/plain',
    text: () => relay.text() + requests.text(),
  };
}
