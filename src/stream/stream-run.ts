import { linkAbort } from '../kernel/abort-link.ts';
import { HoldfastError } from '../kernel/error.ts';
import type { LogFields } from '../kernel/log.ts';
import { streamClassifier } from '../retry/classifier.ts';
import type { Happening, RetryEvent } from '../retry/retry-event.ts';
import type { ChunkMeaning } from './chunk-meaning.ts';
import { type Ended, Interruptible } from './interruptible.ts';
import { notePartialOutput } from './partial-output.ts';
import { providerRetryEvent, type RetryStreamEvent } from './provider-retry-event.ts';
import type { StreamPlan } from './retry-stream-options.ts';
import { type ReadOutcome, StreamAttempt } from './stream-attempt.ts';
import { reportedFailure, type StreamFailure, thrownFailure } from './stream-failure.ts';
import { afterErrorChunk, NOTHING_READ, readChunk, type StreamProgress } from './stream-progress.ts';
import { brokenSleep, type WaitDecision, type WaitPlan } from './wait-plan.ts';

/** An attempt that failed unseen and is made again after the wait. */
interface Retry {
  readonly failed: StreamFailure;
  readonly wait: WaitDecision & { kind: 'wait' };
}

/** How an attempt ended: cleanly (or with its failure handed over as a chunk), because it was told to, or to be made again. */
type AttemptEnd = 'done' | 'told-to-end' | Retry;

/** What one attempt has given so far. */
interface Output<Chunk> {
  progress: StreamProgress;
  readonly held: Chunk[];
  /** Absent when the stream just passes through and no bound depends on what is in it. */
  readonly read: ((chunk: Chunk) => ChunkMeaning) | undefined;
}

/** A stream without retry is yielded as it comes: as if its content had begun. */
const PASS_THROUGH: StreamProgress = { ...NOTHING_READ, state: 'flowing' };

/**
 * One stream from its first attempt to its end: attempts and waits in turn, until an attempt ends cleanly, or fails for
 * good, or the caller aborts, or the consumer stops reading. What an attempt goes through is in `stream-progress.ts`.
 */
export class StreamRun<Chunk> {
  private readonly plan: StreamPlan<Chunk>;
  private readonly waits: WaitPlan | undefined;
  private attempt = 0;
  private startedMs = 0;
  private waitedMs = 0;
  /** The attempt or the wait under way. */
  private active: { interrupt(reason?: unknown): void } | undefined;
  private endedBy: 'caller' | 'consumer' | undefined;
  /** True once the end was told to those who listen. */
  private told = false;

  constructor(plan: StreamPlan<Chunk>) {
    this.plan = plan;
    this.waits = plan.waits?.();
  }

  /** The consumer reads no more: whatever is under way ends, and the stream with it. Not a failure. */
  close(): void {
    this.endedBy ??= 'consumer';
    this.active?.interrupt();
  }

  async *chunks(): AsyncGenerator<Chunk | RetryStreamEvent, void, undefined> {
    const { signal } = this.plan;
    if (signal?.aborted) this.endedBy = 'caller';
    const unlink = signal && !signal.aborted ? linkAbort(signal, () => this.callerAborted(signal)) : undefined;
    try {
      while (!this.endedBy) {
        const end = yield* this.oneAttempt();
        if (end === 'done') return;
        if (end !== 'told-to-end' && !this.endedBy) yield* this.wait(end);
      }
      this.leaveEarly();
    } catch (error) {
      // An abort in the same tick as a failure is an abort.
      if (this.endedBy) return this.leaveEarly();
      this.tellStop('not-retryable');
      throw error;
    } finally {
      unlink?.();
      this.tellStop('aborted');
    }
  }

  private callerAborted(signal: AbortSignal): void {
    this.endedBy ??= 'caller';
    this.active?.interrupt(signal.reason);
  }

  /** Silently for the consumer, who asked for it; with the signal's own reason for the caller. */
  private leaveEarly(): void {
    if (this.endedBy === 'caller') throw this.plan.signal?.reason;
  }

  /** Yields what one attempt gives. Throws when the attempt threw and that is the end of the stream. */
  private async *oneAttempt(): AsyncGenerator<Chunk, AttemptEnd, undefined> {
    const { plan } = this;
    const attempt = new StreamAttempt<Chunk>(plan.timeouts, plan.effects);
    const output: Output<Chunk> = this.waits
      ? { progress: NOTHING_READ, held: [], read: plan.adapter.reader() }
      : { progress: PASS_THROUGH, held: [], read: plan.isBounded ? plan.adapter.reader() : undefined };
    this.startAttempt(attempt);
    try {
      let reading = await attempt.open(plan.open, { attempt: this.attempt, idempotencyKey: plan.idempotencyKey });
      for (; ; reading = undefined) {
        reading ??= await attempt.read();
        // By our own signals, not by what was read: clients swallow the abort and end as if all were well.
        if (this.endedBy) return this.endEarly(output.progress);
        if (reading.kind !== 'chunk') break;
        const taken = this.take(reading.chunk, output);
        if ('wait' in taken) return taken;
        if (output.progress.contentChunks > 0) attempt.contentCame();
        for (const chunk of taken) yield chunk;
      }
      const failed = this.failureAtEnd(reading, output.progress, attempt);
      const retry = failed && this.judge(failed, output.progress);
      if (retry) return retry;
      for (const chunk of output.held) yield chunk;
      if (failed) throw failed.error;
      if (reading.kind === 'ended') attempt.finish();
      this.tellSuccess();
      return 'done';
    } finally {
      this.active = undefined;
      attempt.close();
    }
  }

  /** Told to end after the closing event, the answer is whole all the same. */
  private endEarly(progress: StreamProgress): AttemptEnd {
    if (progress.state !== 'complete') return 'told-to-end';
    this.tellSuccess();
    return 'done';
  }

  private startAttempt(attempt: StreamAttempt<Chunk>): void {
    this.active = attempt;
    this.attempt += 1;
    this.startedMs = this.plan.effects.now().monoMs;
    this.emit({ type: 'attempt-started' });
  }

  /** What is to be yielded now, of this chunk and of those held back; or the retry it leads to. */
  private take(chunk: Chunk, output: Output<Chunk>): readonly Chunk[] | Retry {
    if (!output.read) return [chunk];
    const { classify, operation, maxHeldChunks } = this.plan;
    const step = readChunk(output.progress, output.read(chunk), maxHeldChunks);
    output.progress = step.progress;
    if (!this.waits) return [chunk];
    switch (step.act) {
      case 'hold':
        output.held.push(chunk);
        return [];
      case 'pass':
        return [chunk];
      case 'judge': {
        const retry = this.judge(reportedFailure(step.reported, chunk, classify, operation), step.progress);
        if (retry) return retry;
        output.progress = afterErrorChunk(step.progress);
        return [...output.held.splice(0), chunk];
      }
      case 'release':
        return [...output.held.splice(0), chunk];
      default:
        return step satisfies never;
    }
  }

  /** The failure in how the provider's stream ended; none when it ended as it should. */
  private failureAtEnd(
    reading: ReadOutcome<Chunk> & { kind: 'ended' | 'failed' },
    progress: StreamProgress,
    attempt: StreamAttempt<Chunk>,
  ): StreamFailure | undefined {
    const { classify, operation, requireEnd } = this.plan;
    const complete = progress.state === 'complete';
    if (reading.kind === 'failed') {
      // The answer is whole; a connection that then breaks, or stays open until a bound passes, takes nothing from it.
      // An error chunk was no closing event, and without retry the provider's errors are not ours to swallow.
      const harmless = complete && (attempt.timedOut !== undefined || (!this.told && this.waits !== undefined));
      if (!harmless && !this.waits) throw reading.error;
      if (!harmless) return thrownFailure(reading.error, classify, operation);
      const { code } = streamClassifier(reading.error);
      this.log('debug', { errorCode: code }, 'the stream broke after its closing event');
    }
    if (complete || !requireEnd || !this.waits) return undefined;
    const { contentChunks, contentLength } = progress;
    const truncated = new HoldfastError('STREAM_TRUNCATED', { contentChunks, contentLength });
    return thrownFailure(truncated, classify, operation);
  }

  /** Decides what follows a failure: the retry, or nothing when it must surface. */
  private judge(failed: StreamFailure, progress: StreamProgress): Retry | undefined {
    notePartialOutput(failed.error, progress);
    if (!this.waits || this.told) return undefined;
    const { failure, error } = failed;
    this.emit({ type: 'attempt-failed', latencyMs: this.latencyMs(), failure, error });
    if (progress.state !== 'holding') {
      const { contentChunks, contentLength } = progress;
      this.log('warn', { contentChunks, contentLength }, 'the stream broke off after content');
      this.tellStop('unsafe-replay', failed);
      return undefined;
    }
    const wait = this.waits.next(failure, error);
    if (wait.kind === 'wait') return { failed, wait };
    this.tellStop(wait.reason, failed);
    return undefined;
  }

  /** Announces the wait, waits, and announces its end. Ends at once when the run is told to end. */
  private async *wait({ failed, wait }: Retry): AsyncGenerator<RetryStreamEvent, void, undefined> {
    const { conversationId, turnId, effects } = this.plan;
    const { delayMs, from, hintClamped, waitedMs } = wait;
    const { failure, message } = failed;
    const about = { conversationId, turnId, attempt: this.attempt - 1 };
    const maxAttempts = this.waits?.maxAttempts;
    const dueAtMs = effects.now().wallMs + delayMs;
    this.emit({ type: 'wait-started', delayMs, dueAtMs, from, hintClamped, failure });
    this.waitedMs = waitedMs + delayMs;
    yield providerRetryEvent({
      ...about,
      delayMs,
      message,
      code: failure.status === undefined ? failure.code : String(failure.status),
      maxAttempts: maxAttempts === Infinity ? undefined : maxAttempts,
      nextAtMs: dueAtMs,
      waitedMs,
      kind: failure.kind,
    });
    const slept = await this.sleep(delayMs);
    const over = slept.kind === 'value' && !this.endedBy;
    this.emit({ type: 'wait-ended', aborted: !over });
    if (this.endedBy === 'consumer') return;
    yield Object.freeze({ type: 'provider-retry-end', ...about, outcome: over ? 'retrying' : 'cancelled' });
    if (slept.kind === 'threw' && !this.endedBy) throw brokenSleep(slept.error, failed.error);
  }

  /** Waits by the strategy's own sleep, but no longer than the run lasts, whatever that sleep makes of its signal. */
  private async sleep(ms: number): Promise<Ended<void>> {
    if (this.endedBy) return { kind: 'value', value: undefined };
    const waiting = new Interruptible();
    this.active = waiting;
    const ended = await waiting.run((signal) => this.waits?.sleep(ms, signal));
    this.active = undefined;
    return ended;
  }

  private tellSuccess(): void {
    if (this.told) return;
    this.told = true;
    this.emit({ type: 'attempt-succeeded', latencyMs: this.latencyMs() });
  }

  private tellStop(reason: (RetryEvent & { type: 'stopped' })['reason'], failed?: StreamFailure): void {
    if (this.told) return;
    this.told = true;
    const failure = failed && { failure: failed.failure };
    this.emit({ type: 'stopped', reason, attempts: this.attempt, waitedMs: this.waitedMs, ...failure });
  }

  private log(level: 'debug' | 'warn', fields: LogFields, message: string): void {
    const { logger, logFields, operation } = this.plan;
    try {
      logger?.[level]({ ...logFields, operation, attempt: this.attempt, ...fields }, message);
    } catch {
      // As for every listener: a broken logger must not cut an answer short.
    }
  }

  private latencyMs(): number {
    return Math.round(this.plan.effects.now().monoMs - this.startedMs);
  }

  private emit(happening: Happening): void {
    if (!this.waits) return;
    const { emit, operation, idempotencyKey } = this.plan;
    emit({ operation, attempt: this.attempt, maxAttempts: this.waits.maxAttempts, idempotencyKey, ...happening });
  }
}
