import type { StreamProgress } from './stream-progress.ts';

/** How much of an answer had been yielded when it broke off. */
export interface PartialOutput {
  readonly contentChunks: number;
  /** In characters. */
  readonly contentLength: number;
}

// Beside the error, not on it: the provider's error reaches the consumer untouched, frozen ones too.
const outputs = new WeakMap<object, PartialOutput>();

/** Remembers how far the stream had come when this error or error chunk was handed to the consumer. */
export function notePartialOutput(errorOrChunk: unknown, progress: StreamProgress): void {
  if ((typeof errorOrChunk !== 'object' && typeof errorOrChunk !== 'function') || errorOrChunk === null) return;
  const { contentChunks, contentLength } = progress;
  outputs.set(errorOrChunk, Object.freeze({ contentChunks, contentLength }));
}

/**
 * How much content came before the failure, for an error thrown by `retryStream` or an error chunk yielded by it.
 * `undefined` for anything else, and without `retry`, where nothing is counted. With `contentChunks` above 0 the answer is incomplete and was not retried.
 */
export function partialOutput(errorOrChunk: unknown): PartialOutput | undefined {
  return typeof errorOrChunk === 'object' && errorOrChunk !== null ? outputs.get(errorOrChunk) : undefined;
}
