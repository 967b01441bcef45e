import type { ChunkMeaning } from './chunk-meaning.ts';

/**
 * How far one attempt has come.
 *
 * holding   nothing but keep-alives was yielded; a failure may be retried
 *   ├─ preamble ──────────────────▶ holding, the chunk is kept back
 *   ├─ content, or too many kept ─▶ flowing, all that was kept back is yielded first
 *   ├─ closing event ─────────────▶ complete, all that was kept back is yielded first
 *   └─ failure ───────────────────▶ judged: a new attempt starts from `holding`, or the failure surfaces
 * flowing   content was yielded; a failure surfaces as it came
 *   └─ closing event, error chunk ▶ complete
 * complete  the provider said that it is done; its end is a clean one, also when the connection breaks
 *   └─ more content ──────────────▶ flowing (a second choice goes on after the first has closed)
 */
export interface StreamProgress {
  readonly state: 'holding' | 'flowing' | 'complete';
  readonly held: number;
  readonly contentChunks: number;
  readonly contentLength: number;
}

/** A chunk that reports a failure. */
export type FailureMeaning = ChunkMeaning & { readonly kind: 'error' | 'caught' };

/** What to do with the chunk just read: keep it, yield it, yield all that was kept and then it, or judge the failure in it. */
export type ChunkStep =
  | { readonly act: 'hold' | 'pass' | 'release'; readonly progress: StreamProgress }
  | { readonly act: 'judge'; readonly progress: StreamProgress; readonly reported: FailureMeaning };

/** Before the first chunk of an attempt. */
export const NOTHING_READ: StreamProgress = { state: 'holding', held: 0, contentChunks: 0, contentLength: 0 };

/** Decides what to do with a chunk, and where the attempt stands afterwards. Pure. */
export function readChunk(progress: StreamProgress, meaning: ChunkMeaning, maxHeld: number): ChunkStep {
  const holding = progress.state === 'holding';
  switch (meaning.kind) {
    case 'keep-alive':
      return { act: 'pass', progress };
    case 'error':
    case 'caught':
      return { act: 'judge', progress, reported: meaning };
    case 'content':
      return { act: holding ? 'release' : 'pass', progress: withContent(progress, meaning) };
    case 'preamble':
      if (meaning.end)
        return { act: holding ? 'release' : 'pass', progress: { ...progress, state: 'complete', held: 0 } };
      if (!holding) return { act: 'pass', progress };
      if (progress.held < maxHeld) return { act: 'hold', progress: { ...progress, held: progress.held + 1 } };
      return { act: 'release', progress: { ...progress, state: 'flowing', held: 0 } };
    default:
      return meaning satisfies never;
  }
}

/** Where an attempt stands after its failure was handed to the consumer as a chunk: nothing more is expected of it. */
export function afterErrorChunk(progress: StreamProgress): StreamProgress {
  return { ...progress, state: 'complete', held: 0 };
}

function withContent(progress: StreamProgress, meaning: ChunkMeaning & { kind: 'content' }): StreamProgress {
  return {
    state: meaning.end ? 'complete' : 'flowing',
    held: 0,
    contentChunks: progress.contentChunks + 1,
    contentLength: progress.contentLength + meaning.length,
  };
}
