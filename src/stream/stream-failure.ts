import { streamClassifier } from '../retry/classifier.ts';
import { classifyWith } from '../retry/classify-with.ts';
import type { Classify, Failure } from '../retry/failure.ts';
import type { FailureMeaning } from './stream-progress.ts';

/** A failure of an attempt: what it is, and what people are told of it. */
export interface StreamFailure {
  readonly failure: Failure;
  readonly message: string;
  /** What was thrown, or the chunk that reported it. */
  readonly error: unknown;
}

/** A thrown value as a failure: the caller's classifier first, then the rules for streams. */
export function thrownFailure(error: unknown, classify: Classify | undefined, operation: string): StreamFailure {
  const judge: Classify = (thrown) => {
    const answer = classify?.(thrown);
    return answer === undefined ? streamClassifier(thrown) : answer;
  };
  const failure = classifyWith(judge, error, operation);
  return { failure, message: messageOf(error), error };
}

/** A failure that came as a chunk. The provider's own flag decides; what a client had caught is judged as if thrown. */
export function reportedFailure(
  meaning: FailureMeaning,
  chunk: unknown,
  classify: Classify | undefined,
  operation: string,
): StreamFailure {
  if (meaning.kind === 'caught') return { ...thrownFailure(meaning.error, classify, operation), error: chunk };
  const failure: Failure = {
    verdict: meaning.retryable ? 'retry' : 'fail',
    kind: meaning.failure ?? 'unknown',
    ...(meaning.status !== undefined && { status: meaning.status }),
    ...(meaning.code !== undefined && { code: meaning.code }),
  };
  return { failure, message: meaning.message, error: chunk };
}

/** What a thrown value says, word for word; never throws itself. */
function messageOf(error: unknown): string {
  try {
    const message: unknown = (error as { message?: unknown } | null | undefined)?.message;
    return typeof message === 'string' && message !== '' ? message : String(error);
  } catch {
    return 'an error that cannot be shown';
  }
}
