import { linkAbort } from '../kernel/abort-link.ts';
import { type Effects, LONGEST_TIMER_MS } from '../kernel/effects.ts';

/** What the function under retry is given. */
export interface AttemptContext<Key extends string | undefined = string | undefined> {
  /** Aborted when this attempt's time is up, when the caller aborts, and at the deadline. Fresh for each attempt. */
  readonly signal: AbortSignal;
  /** From 1. */
  readonly attempt: number;
  /** `Infinity` when another limit ends the retries. */
  readonly maxAttempts: number;
  /** The same for all attempts: pass it on to what is called. A string when the operation was given one. */
  readonly idempotencyKey: Key;
}

/** The function under retry. Pass `signal` on to what it calls, so that a timeout really ends the work. */
export type Attemptable<T, Key extends string | undefined = string | undefined> = (
  context: AttemptContext<Key>,
) => Promise<T> | T;

/** What bounds an attempt. `timeoutMs` may be `Infinity`. */
export interface AttemptBounds {
  readonly timeoutMs: number;
  /** Made only when the time is up. */
  readonly timeoutError: () => unknown;
  readonly parent: AbortSignal | undefined;
  /** Called when the function had not ended when its time was up. */
  readonly onAbandoned: () => void;
}

// How many promise turns a function has to hand over what was already on its way when the abort came: an async function
// that returns another's promise takes three, the AI SDK 25 to reject. All of them pass before any timer or I/O, so "at
// once" stays true.
const GRACE_TURNS = 100;

/**
 * What the function is given when nothing can end its attempt: the signal is never aborted, and is made only if somebody
 * looks at it, which saves a quarter of a happy call. A copy by spread leaves it out, and with it nothing that could fire.
 */
export class UnboundedContext implements AttemptContext {
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly idempotencyKey: string | undefined;
  #controller: AbortController | undefined;

  constructor(attempt: number, maxAttempts: number, idempotencyKey: string | undefined) {
    this.attempt = attempt;
    this.maxAttempts = maxAttempts;
    this.idempotencyKey = idempotencyKey;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    return this.#controller.signal;
  }
}

/**
 * One call of the function under retry, ended in one of three ways: by itself, by its time limit, by the caller's abort.
 * It ends for the caller in the same tick as its signal is aborted, also when the function ignores that signal; a value
 * that was ready in that tick still wins. Afterwards no timer and no listener is left, and a late result is dropped.
 */
export class Attempt<T> {
  private readonly controller = new AbortController();
  private readonly bounds: AttemptBounds;
  private readonly effects: Effects;
  private interrupted: { readonly reason: unknown } | undefined;
  private settled = false;
  private timer: unknown;
  private unlink: (() => void) | undefined;
  private resolve!: (value: T) => void;
  private reject!: (error: unknown) => void;

  constructor(bounds: AttemptBounds, effects: Effects) {
    this.bounds = bounds;
    this.effects = effects;
  }

  /** Calls the function, once. Rejects with the caller's reason, the timeout error, or what the function threw. */
  run(fn: Attemptable<T>, about: Omit<AttemptContext, 'signal'>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
      const { parent, timeoutMs } = this.bounds;
      if (parent) this.unlink = linkAbort(parent, () => this.interrupt(parent.reason));
      if (timeoutMs !== Infinity) this.arm(timeoutMs);
      try {
        // Plain data, so that it may be spread: a copy without the signal would never hear of the timeout.
        const { attempt, maxAttempts, idempotencyKey } = about;
        const result = fn({ signal: this.controller.signal, attempt, maxAttempts, idempotencyKey });
        if (isThenable(result)) {
          result.then(
            (value) => this.succeed(value),
            (error: unknown) => this.fail(error),
          );
        } else this.succeed(result);
      } catch (error) {
        this.fail(error);
      }
    });
  }

  private arm(ms: number): void {
    this.timer =
      ms > LONGEST_TIMER_MS
        ? this.effects.setTimer(() => this.arm(ms - LONGEST_TIMER_MS), LONGEST_TIMER_MS)
        : this.effects.setTimer(() => this.interrupt(this.bounds.timeoutError()), Math.max(0, ms));
  }

  private interrupt(reason: unknown): void {
    if (this.settled || this.interrupted) return;
    this.interrupted = { reason };
    this.controller.abort(reason);
    void this.abandonAfterGrace(reason);
  }

  private async abandonAfterGrace(reason: unknown): Promise<void> {
    for (let turn = 0; turn < GRACE_TURNS; turn++) await Promise.resolve();
    if (this.settled) return;
    this.leave();
    this.bounds.onAbandoned();
    this.reject(reason);
  }

  private succeed(value: T): void {
    if (this.settled) return;
    this.leave();
    this.resolve(value);
  }

  private fail(error: unknown): void {
    if (this.settled) return;
    this.leave();
    this.reject(this.interrupted ? this.interrupted.reason : error);
  }

  private leave(): void {
    this.settled = true;
    this.unlink?.();
    if (this.timer !== undefined) this.effects.clearTimer(this.timer);
  }
}

function isThenable<T>(value: Promise<T> | T): value is Promise<T> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
}
