import { HoldfastError } from '../kernel/error.ts';
import type { RetryState } from '../kernel/retry-state.ts';
import { createSleep } from '../kernel/sleep.ts';
import { Attempt, type Attemptable, UnboundedContext } from './attempt.ts';
import { classifyWith } from './classify-with.ts';
import { decide, type Decision, type StopReason } from './decide.ts';
import type { Failure } from './failure.ts';
import type { Happening } from './retry-event.ts';
import type { RetryPlan } from './retry-options.ts';
import { elapsedMs, initialState, resume } from './state.ts';

type Stop = Decision & { kind: 'stop' };

/** What is said of an attempt that the operation's own limit ended. */
const OUT_OF_TIME: Failure = { verdict: 'retry', kind: 'timeout', code: 'DEADLINE_PASSED' };

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
  /** Set when the deadline or the elapsed budget ended the attempt: the error, told from one that passed further inside. */
  private cutShort: { readonly error: HoldfastError; readonly reason: StopReason } | undefined;

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
      if (deadlineAtMs !== Infinity) this.refuseAfterDeadline(this.plan.effects.now().wallMs);
      if (emit) this.started();
      // Listeners run user code: one of them may have aborted just now.
      if (signal?.aborted) throw this.aborted();
      const context = new UnboundedContext(this.attempts + 1, this.plan.policy.maxAttempts, this.plan.idempotencyKey);
      try {
        // Where nothing bounds the attempt the function is awaited as it is, without a promise of our own around it.
        const value = await (isBounded ? this.bounded().run(this.fn, context) : this.fn(context));
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
    const now = this.plan.effects.now();
    const { waitMs, state } = resume(kept, now);
    this.state = state;
    this.refuseAfterDeadline(now.wallMs + waitMs);
    if (waitMs > 0 && !(await this.pause(waitMs))) throw this.aborted();
  }

  private started(): void {
    this.attemptStartedMs = this.plan.effects.monoMs();
    this.emit({ type: 'attempt-started' });
  }

  /** Stops before an attempt that would start at or after the deadline. */
  private refuseAfterDeadline(startsAtMs: number): void {
    if (startsAtMs < this.plan.deadlineAtMs) return;
    const state = this.state ?? initialState(this.plan.effects.now());
    throw this.stopped(
      { kind: 'stop', reason: 'deadline', state },
      this.outOfTime('deadline', this.attempts),
      OUT_OF_TIME,
    );
  }

  private outOfTime(reason: StopReason, attempt: number = this.attempts + 1): HoldfastError {
    const error = new HoldfastError('DEADLINE_PASSED', { operation: this.name, attempt });
    this.cutShort = { error, reason };
    return error;
  }

  /** An attempt that ends with the first of its timeout, the elapsed budget and the deadline. */
  private bounded(): Attempt<T> {
    const { policy, effects, signal, deadlineAtMs } = this.plan;
    const { timeoutMs, maxElapsedMs } = policy;
    let leftMs = Infinity;
    let reason: StopReason = 'deadline';
    if (deadlineAtMs !== Infinity) leftMs = deadlineAtMs - effects.now().wallMs;
    if (maxElapsedMs !== Infinity && this.state) {
      const budgetMs = maxElapsedMs - elapsedMs(this.state, effects.now(), policy.clock);
      if (budgetMs < leftMs) reason = 'elapsed-budget';
      leftMs = Math.min(leftMs, budgetMs);
    }
    const attempt = this.attempts + 1;
    const timeoutError = (): HoldfastError =>
      leftMs < timeoutMs
        ? this.outOfTime(reason)
        : new HoldfastError('ATTEMPT_TIMEOUT', { operation: this.name, attempt, timeoutMs });
    const onAbandoned = (): void => this.emit({ type: 'attempt-abandoned', latencyMs: this.latencyMs() });
    return new Attempt<T>(
      { parent: signal, timeoutMs: Math.min(timeoutMs, leftMs), timeoutError, onAbandoned },
      effects,
    );
  }

  /** Waits for the next attempt, or throws what the caller of the operation gets. */
  private async afterFailure(error: unknown): Promise<void> {
    const { effects, emit, signal, budget } = this.plan;
    const failure = this.classify(error);
    if (emit) this.emit({ type: 'attempt-failed', latencyMs: this.latencyMs(), failure, error });
    const now = effects.now();
    const state = this.state ?? initialState(now);
    const decision = this.withinBounds(state, decide(this.plan.policy, state, failure, now, effects.random()), error);
    if (signal?.aborted) {
      if (decision.kind === 'wait') budget?.refund();
      throw this.aborted();
    }
    this.state = decision.state;
    if (decision.kind === 'stop') throw this.stopped(decision, error, failure);
    const { delayMs, from, hintClamped } = decision;
    const { attempts, dueAtMs } = decision.state;
    if (emit) this.emit({ type: 'wait-started', delayMs, dueAtMs, from, hintClamped, failure }, attempts);
    const completed = await this.pause(delayMs);
    if (!completed) budget?.refund();
    if (emit) this.emit({ type: 'wait-ended', aborted: !completed }, attempts);
    if (!completed) throw this.aborted(attempts);
  }

  private classify(error: unknown): Failure {
    if (this.cutShort && this.cutShort.error === error) return OUT_OF_TIME;
    try {
      return classifyWith(this.plan.classify, error, this.name);
    } catch (broken) {
      if (this.plan.signal?.aborted) throw this.aborted();
      const failure: Failure = { verdict: 'fail', kind: 'unknown' };
      this.emit({ type: 'attempt-failed', latencyMs: this.latencyMs(), failure, error });
      const { attempts, waitedMs } = this.state ?? { attempts: 0, waitedMs: 0 };
      this.emit({ type: 'stopped', reason: 'not-retryable', attempts: attempts + 1, waitedMs, failure });
      throw broken;
    }
  }

  /** The limits `decide` does not know, because they are not the policy's: the caller's deadline and the shared budget. */
  private withinBounds(before: RetryState, decision: Decision, error: unknown): Decision {
    if (decision.kind === 'stop') return decision;
    const stop = (reason: StopReason): Stop => {
      const { dueAtMs: _due, ...state } = decision.state;
      return { kind: 'stop', reason, state: { ...state, waitedMs: before.waitedMs, lastDelayMs: before.lastDelayMs } };
    };
    if (this.cutShort && this.cutShort.error === error) return stop(this.cutShort.reason);
    if (decision.state.dueAtMs > this.plan.deadlineAtMs)
      return stop(decision.from === 'hint' ? 'hint-exceeds-budget' : 'deadline');
    // Taken when the wait is scheduled, not when it ends: a hundred calls that wait together must not all find the last token.
    if (this.plan.budget && !this.plan.budget.withdraw()) return stop('shared-budget');
    return decision;
  }

  /** Waits; false when the caller aborted, also in the very tick in which the wait ended: the function must not be called then. */
  private async pause(ms: number): Promise<boolean> {
    const { effects, policy, signal } = this.plan;
    try {
      await createSleep(effects, policy.clock)(ms, signal);
      return !signal?.aborted;
    } catch {
      return false;
    }
  }

  /** Tells those who listen and gives back the caller's own reason, whatever it is: a string, undefined, an error. */
  private aborted(attempt: number = this.attempts + 1): unknown {
    const waitedMs = this.state?.waitedMs ?? 0;
    this.emit({ type: 'stopped', reason: 'aborted', attempts: this.attempts, waitedMs }, attempt);
    return this.plan.signal?.reason;
  }

  /** The error itself when it was refused at the first attempt; otherwise one that tells of all attempts. */
  private stopped({ reason, state }: Stop, error: unknown, failure: Failure): unknown {
    const { attempts, waitedMs, firstFailedAtMs } = state;
    this.emit({ type: 'stopped', reason, attempts, waitedMs, failure }, Math.max(attempts, 1));
    const refused = failure.verdict === 'fail' || this.plan.policy.maxAttempts === 1;
    if (refused && attempts === 1) return error;
    const endedAtMs = this.plan.effects.now().wallMs;
    const { kind, status, code } = failure;
    const lastFailure = { kind, ...(status === undefined ? {} : { status }), ...(code === undefined ? {} : { code }) };
    const first = firstFailedAtMs === undefined ? {} : { firstFailedAt: isoTime(firstFailedAtMs) };
    const times = { ...first, endedAt: isoTime(endedAtMs) };
    const details = { operation: this.name, reason, attempts, waitedMs, lastFailure, ...times, state };
    return new HoldfastError('RETRY_STOPPED', details, { cause: error });
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
