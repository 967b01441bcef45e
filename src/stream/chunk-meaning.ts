import type { FailureKind } from '../retry/failure.ts';

/** What one chunk of a provider's stream means to a retry. */
export type ChunkMeaning =
  /**
   * Nothing anybody could act on yet: opening events, empty deltas, hidden reasoning, usage. Held back until the first
   * content, so that a retry before it stays unseen. `end` marks the provider's closing event.
   */
  | { readonly kind: 'preamble'; readonly end?: boolean | undefined }
  /**
   * Text, visible reasoning, a tool call. From the moment it is yielded nothing is retried. `length` is its size in
   * characters, as far as it can be told.
   */
  | { readonly kind: 'content'; readonly length: number; readonly end?: boolean | undefined }
  /** Only says that the connection lives. Passed on at once; it restarts the idle timer and nothing else. */
  | { readonly kind: 'keep-alive' }
  /** The provider reports a failure as a chunk. Retried only when `retryable` is true. */
  | {
      readonly kind: 'error';
      readonly retryable: boolean;
      readonly message: string;
      readonly code?: string | undefined;
      readonly status?: number | undefined;
      /** Default `'unknown'`. */
      readonly failure?: FailureKind | undefined;
    }
  /** An error that a client library caught and handed over as a chunk. Judged as if it had been thrown. */
  | { readonly kind: 'caught'; readonly error: unknown };

/** Knows one provider's stream format. Write one as an object; it needs nothing from this package. */
export interface StreamAdapter<Chunk> {
  /** Called once for each attempt, so that what is remembered of one attempt never reaches the next. */
  readonly reader: () => (chunk: Chunk) => ChunkMeaning;
}
