import type { RetryStreamEvent } from './provider-retry-event.ts';
import { planStream, type RetryStreamOptions } from './retry-stream-options.ts';
import { StreamRun } from './stream-run.ts';

/**
 * The provider's stream, opened again as long as it fails before it has said anything. Content is never repeated and
 * never retried: from its first piece on, failures surface as they came, thrown or as a chunk.
 *
 * Before each wait a `provider-retry` event is yielded, after it a `provider-retry-end`; both are for people and belong
 * in no history. When the budget ends, the last failure surfaces. A stream that ends without its closing event has
 * failed (`STREAM_TRUNCATED`). An abort throws the signal's own reason; a consumer that stops reading just ends it.
 *
 * Throws `INVALID_OPTIONS` at once, naming everything that is wrong.
 */
export function retryStream<Chunk>(
  options: RetryStreamOptions<Chunk>,
): AsyncGenerator<Chunk | RetryStreamEvent, void, undefined> {
  const run = new StreamRun(planStream(options));
  const chunks = run.chunks();
  // A generator alone would make return() wait for the read or the half hour of waiting that is under way.
  return {
    next: () => chunks.next(),
    return(value) {
      run.close();
      return chunks.return(value);
    },
    async throw(error) {
      await this.return();
      throw error;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
    async [Symbol.asyncDispose]() {
      await this.return();
    },
  };
}
