import { HoldfastError } from '../kernel/error.ts';
import { createSleep } from '../kernel/sleep.ts';
import { Attempt, type Attemptable, Context } from './attempt.ts';
import { classifyWith } from './classify-with.ts';
import { decide, type Decision, type StopReason } from './decide.ts';
import type { Failure } from './failure.ts';
import type { RetryEvent } from './retry-event.ts';
import type { RetryPlan } from './retry-options.ts';
import { initialState, resume, type RetryState } from './state.ts';

const DEADLINE: Failure = { verdict: 'retry', kind: 'timeout', code: 'DEADLINE_PASSED' };

/** The part of an event that is not the same for the whole operation. */
type Happening = RetryEvent extends infer Event
  ? Event extends RetryEvent
    ? Omit<Event, 'operation' | 'attempt' | 'maxAttempts' | 'idempotencyKey'>
    : never
  : never;

/**
 * One operation under retry, from its first attempt to its end.
 *
 * attempt ─ value ──────────────────────────────▶ resolved
 *    │
 *    ├─ the caller aborted ─────────────────────▶ rejected with the signal's reason; not a failure, never classified
 *    │
 *    └─ failed ─ classify ─ decide ─┬─ stop ────▶ rejected with the error, or `RETRY_STOPPED` around it
 *                                   └─ wait ─┬──▶ next attempt
 *                                            └─ aborted ▶ rejected with the signal's reason
 */
export class Operation<T> {
  private readonly name: string;
  private readonly fn: Attemptable<T>;
  private readonly plan: RetryPlan;
  /** Absent until somebody needs it: most operations succeed at once, and reading the clocks costs a third of a happy call. */
  private state: RetryState | undefined;
  private attemptStartedMs = 0;
  /** What our own deadline threw into the attempt, told from a deadline that passed further inside. */
  private deadlineError: HoldfastError | undefined;

  constructor(name: string, fn: Attemptable<T>, plan: RetryPlan) {
    this.name = name;
    this.fn = fn;
    this.plan = plan;
    if (plan.policy.maxElapsedMs !== Infinity) this.state = initialState(plan.effects.now());
  }

  async run(): Promise<T> {
    const { signal, emit, resumeFrom, isBounded, deadlineAtMs } = this.plan;
    if (signal?.aborted) throw this.aborted();
    this.plan.budget?.deposit();
    if (resumeFrom) await this.takeUp(resumeFrom);
    for (;;) {
      if (deadlineAtMs !== Infinity) this.refuseAfterDeadline();
      const context = new Context(this.attempts + 1, this.plan.policy.maxAttempts, this.plan.idempotencyKey);
      if (emit) this.started();
      try {
        // Where nothing bounds the attempt the function is awaited as it is, without a promise of our own around it.
        const value = await (isBounded ? this.bounded(context).run(this.fn) : this.fn(context));
        if (emit) this.emit({ type: 'attempt-succeeded', latencyMs: this.latencyMs() });
        return value;
      } catch (error) {
        // By our own signal, not by the error's name: providers throw AbortErrors of their own for their own timeouts.
        if (signal?.aborted) throw this.aborted();
        await this.afterFailure(error);
      }
    }
  }

  private get attempts(): number {
    return this.state?.attempts ?? 0;
  }

  /** Continues a kept state in this process: the rest of its wait first, then the attempt that was due. */
  private async takeUp(kept: RetryState): Promise<void> {
    const { waitMs, state } = resume(kept, this.plan.effects.now());
    this.state = state;
    if (waitMs > 0) await this.sleep(waitMs, state);
  }

  private started(): void {
    this.attemptStartedMs = this.plan.effects.monoMs();
    this.emit({ type: 'attempt-started' });
  }

  private refuseAfterDeadline(): void {
    const now = this.plan.effects.now();
    if (now.wallMs < this.plan.deadlineAtMs) return;
    const decision = { kind: 'stop', reason: 'deadline', state: this.state ?? initialState(now) } as const;
    throw this.stopped(decision, this.deadlinePassed(), DEADLINE);
  }

  private deadlinePassed(): HoldfastError {
    this.deadlineError = new HoldfastError('DEADLINE_PASSED', { operation: this.name, attempt: this.attempts + 1 });
    return this.deadlineError;
  }

  private timedOut(): HoldfastError {
    const { timeoutMs } = this.plan.policy;
    return new HoldfastError('ATTEMPT_TIMEOUT', { operation: this.name, attempt: this.attempts + 1, timeoutMs });
  }

  private bounded(context: Context): Attempt<T> {
    const { policy, effects, signal, deadlineAtMs } = this.plan;
    const leftMs = deadlineAtMs === Infinity ? Infinity : deadlineAtMs - effects.now().wallMs;
    return new Attempt<T>(
      context,
      {
        parent: signal,
        timeoutMs: Math.min(policy.timeoutMs, leftMs),
        timeoutError: () => (leftMs < policy.timeoutMs ? this.deadlinePassed() : this.timedOut()),
        onAbandoned: () => this.emit({ type: 'attempt-abandoned', latencyMs: this.latencyMs() }),
      },
      effects,
    );
  }

  /** Waits for the next attempt, or throws what the caller of the operation gets. */
  private async afterFailure(error: unknown): Promise<void> {
    const { policy, effects, emit, signal, budget } = this.plan;
    const failure = error === this.deadlineError ? DEADLINE : classifyWith(this.plan.classify, error, this.name);
    if (emit) this.emit({ type: 'attempt-failed', latencyMs: this.latencyMs(), failure, error });
    const now = effects.now();
    const state = this.state ?? initialState(now);
    const decision = this.withinBounds(state, decide(policy, state, failure, now, effects.random()));
    if (signal?.aborted) {
      if (decision.kind === 'wait') budget?.refund();
      throw this.aborted();
    }
    this.state = decision.state;
    if (decision.kind === 'stop') throw this.stopped(decision, error, failure);
    if (emit) this.emit({ type: 'wait-started', ...waitOf(decision), failure }, decision.state.attempts);
    await this.sleep(decision.delayMs, decision.state);
  }

  /** The limits `decide` does not know, because they are not the policy's: the caller's deadline and the shared budget. */
  private withinBounds(before: RetryState, decision: Decision): Decision {
    if (decision.kind === 'stop') return decision;
    const stop = (reason: StopReason): Decision => {
      const { dueAtMs: _due, ...state } = decision.state;
      return { kind: 'stop', reason, state: { ...state, waitedMs: before.waitedMs, lastDelayMs: before.lastDelayMs } };
    };
    if (decision.state.dueAtMs > this.plan.deadlineAtMs)
      return stop(decision.from === 'hint' ? 'hint-exceeds-budget' : 'deadline');
    // Taken when the wait is scheduled, not when it ends: a hundred calls that wait together must not all find the last token.
    if (this.plan.budget && !this.plan.budget.withdraw()) return stop('shared-budget');
    return decision;
  }

  private async sleep(ms: number, state: RetryState): Promise<void> {
    const { effects, policy, signal, budget, emit } = this.plan;
    try {
      await createSleep(effects, policy.clock)(ms, signal);
      // The wait may have ended in the same tick as the abort came; the function must not be called again then.
      if (signal?.aborted) throw signal.reason;
    } catch {
      budget?.refund();
      this.emit({ type: 'wait-ended', aborted: true }, state.attempts);
      throw this.aborted(state.attempts);
    }
    if (emit) this.emit({ type: 'wait-ended', aborted: false }, state.attempts);
  }

  /** Tells those who listen and gives back the caller's own reason, whatever it is: a string, undefined, an error. */
  private aborted(attempt: number = this.attempts + 1): unknown {
    this.emit(
      { type: 'stopped', reason: 'aborted', attempts: this.attempts, waitedMs: this.state?.waitedMs ?? 0 },
      attempt,
    );
    return this.plan.signal?.reason;
  }

  /** The error itself when it was refused at the first attempt; otherwise one that tells of all attempts. */
  private stopped({ reason, state }: Decision & { kind: 'stop' }, error: unknown, failure: Failure): unknown {
    const { attempts, waitedMs, firstFailedAtMs } = state;
    this.emit({ type: 'stopped', reason, attempts, waitedMs, failure }, attempts);
    const refused = failure.verdict === 'fail' || this.plan.policy.maxAttempts === 1;
    if (refused && attempts === 1) return error;
    const endedAtMs = this.plan.effects.now().wallMs;
    const times = { firstFailedAt: isoTime(firstFailedAtMs ?? endedAtMs), endedAt: isoTime(endedAtMs) };
    return new HoldfastError(
      'RETRY_STOPPED',
      { operation: this.name, reason, attempts, waitedMs, ...times, state },
      { cause: error },
    );
  }

  private latencyMs(): number {
    return Math.round(this.plan.effects.monoMs() - this.attemptStartedMs);
  }

  private emit(happening: Happening, attempt: number = this.attempts + 1): void {
    const { emit, policy, idempotencyKey } = this.plan;
    emit?.({ operation: this.name, attempt, maxAttempts: policy.maxAttempts, idempotencyKey, ...happening });
  }
}

function isoTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

function waitOf(decision: Decision & { kind: 'wait' }): Omit<Happening & { type: 'wait-started' }, 'type' | 'failure'> {
  return {
    delayMs: decision.delayMs,
    dueAtMs: decision.state.dueAtMs,
    from: decision.from,
    hintClamped: decision.hintClamped,
  };
}
