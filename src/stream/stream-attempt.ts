import type { Effects } from '../kernel/effects.ts';
import { HoldfastError } from '../kernel/error.ts';
import { AttemptTimer, type StreamTimeouts } from './attempt-timer.ts';
import { type Ended, Interruptible } from './interruptible.ts';

/** What `open` is given. */
export interface StreamAttemptContext {
  /** Aborted when this attempt is over for any reason but its own clean end. Fresh for each attempt: pass it on. */
  readonly signal: AbortSignal;
  /** From 1. */
  readonly attempt: number;
  /** The same for all attempts. */
  readonly idempotencyKey: string | undefined;
}

/** Makes the provider request, once for each attempt, and gives its stream. */
export type OpenStream<Chunk> = (
  context: StreamAttemptContext,
) => AsyncIterable<Chunk> | PromiseLike<AsyncIterable<Chunk>>;

/** What a read gave. */
export type ReadOutcome<Chunk> =
  | { readonly kind: 'chunk'; readonly chunk: Chunk }
  | { readonly kind: 'ended' }
  | { readonly kind: 'failed'; readonly error: unknown };

/**
 * One provider request and its stream, read chunk by chunk. It ends for the reader as soon as it is interrupted or a
 * bound is passed, also when the provider's client ignores its signal or swallows the abort and just ends.
 */
export class StreamAttempt<Chunk> {
  private readonly work = new Interruptible();
  private readonly timer: AttemptTimer;
  private iterator: AsyncIterator<Chunk> | undefined;
  private closed = false;
  /** The bound that ended this attempt, if one did. */
  timedOut: keyof StreamTimeouts | undefined;

  constructor(timeouts: StreamTimeouts, effects: Effects) {
    this.timer = new AttemptTimer(timeouts, effects, (phase, timeoutMs) => {
      this.timedOut = phase;
      this.work.interrupt(new HoldfastError('STREAM_TIMEOUT', { phase, timeoutMs }));
    });
  }

  /** Makes the request; gives what went wrong, or nothing. */
  async open(
    open: OpenStream<Chunk>,
    about: Omit<StreamAttemptContext, 'signal'>,
  ): Promise<ReadOutcome<Chunk> | undefined> {
    for (const bound of ['openMs', 'firstContentMs', 'totalMs'] as const) this.timer.start(bound);
    const opened = await this.work.run(async (signal) => {
      const stream = await open({ ...about, signal });
      // It may come after its time: nobody will read it, so it is closed here.
      if (this.closed) closeIterator(iteratorOf(stream));
      return stream;
    });
    this.timer.stop('openMs');
    if (opened.kind === 'threw') return { kind: 'failed', error: opened.error };
    this.iterator = iteratorOf(opened.value);
    return undefined;
  }

  async read(): Promise<ReadOutcome<Chunk>> {
    const { iterator } = this;
    if (!iterator) return { kind: 'ended' };
    this.timer.start('idleMs');
    const result: Ended<IteratorResult<Chunk>> = await this.work.run(() => iterator.next());
    this.timer.stop('idleMs');
    if (result.kind === 'threw') return { kind: 'failed', error: result.error };
    return result.value.done ? { kind: 'ended' } : { kind: 'chunk', chunk: result.value.value };
  }

  /** The first content is there: its bound is off. */
  contentCame(): void {
    this.timer.stop('firstContentMs');
  }

  interrupt(reason?: unknown): void {
    this.work.interrupt(reason);
  }

  /** The stream ended by itself: nothing to abort, nothing to close. */
  finish(): void {
    this.closed = true;
    this.timer.stopAll();
  }

  /** Gives the request up: its signal is aborted and the iterator closed, without waiting for either. Safe to call twice. */
  close(): void {
    if (this.closed) return;
    this.finish();
    this.work.interrupt();
    if (this.iterator) closeIterator(this.iterator);
  }
}

function iteratorOf<Chunk>(stream: AsyncIterable<Chunk>): AsyncIterator<Chunk> {
  const iterate: unknown = (stream as Partial<AsyncIterable<Chunk>> | undefined)?.[Symbol.asyncIterator];
  if (typeof iterate !== 'function') {
    const write =
      'give the async iterable itself, for example result.stream of the AI SDK or the promise of create({ stream: true })';
    throw new HoldfastError('INVALID_OPTIONS', {
      of: 'retryStream()',
      problems: [{ option: 'open', found: 'a function whose result cannot be iterated', write }],
    });
  }
  return stream[Symbol.asyncIterator]();
}

/** Closes without waiting: a provider's `return()` waits for its own pending read, which may never end. */
function closeIterator(iterator: AsyncIterator<unknown>): void {
  void (async () => iterator.return?.())().catch(() => undefined);
}
