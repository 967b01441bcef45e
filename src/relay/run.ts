import { OptionCheck } from '../kernel/check-options.ts';
import { HoldfastError } from '../kernel/error.ts';
import type { HandlerContext } from './handler.ts';
import { LocalFault } from './local-fault.ts';
import type { OwnedUnit } from './owned-unit.ts';
import type { CommitOutcome, CommitTarget, Delivery, SettleTarget } from './relay-store.ts';

const MAX_POSTPONE_MS = 366 * 24 * 60 * 60_000;

/** How a run ended. `interrupted`: it was not its fault and nothing is written; whoever owns the row runs it again. */
export type RunOutcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'committed' }
  | { readonly kind: 'failed'; readonly error: unknown }
  | {
      /** No attempt is counted. */
      readonly kind: 'postponed';
      readonly error: unknown;
      readonly delayMs: number;
      readonly reason: 'type-unknown' | 'postponed';
    }
  | { /** Its process died each of the last times it ran. */ readonly kind: 'killer' }
  | {
      /** Something between it and its database went wrong; the row tells what became of it. */ readonly kind: 'fault';
      readonly fault: LocalFault;
    }
  | { readonly kind: 'refused' }
  | { readonly kind: 'interrupted' };

/** How a run ended whose commit came to this. */
export function afterCommit(committed: CommitOutcome | LocalFault): RunOutcome {
  return committed instanceof LocalFault ? { kind: 'fault', fault: committed } : { kind: committed };
}

/** What a run needs from the relay. */
export interface RunHost<Tx> {
  workerId(): string;
  commit(run: Run<Tx>, effect: (tx: Tx) => Promise<unknown>): Promise<void>;
}

/** In whose name a run writes: refused by the database once the delivery is another process's, or was changed. */
export interface RunClaim extends SettleTarget {
  readonly workerId: string;
  /** Attempts that had ended when this one began: a retry changes nothing else of the row. */
  readonly attempts: number;
}

/** The claim of the run that a handler was given this context of; nothing: it is not one of a relay here. */
export function claimOf(ctx: object): RunClaim | undefined {
  return ctx instanceof Run ? ctx.claim : undefined;
}

/** One run of one delivery, and the context its handler is given. */
export class Run<Tx> implements HandlerContext<Tx> {
  readonly delivery: Delivery;
  readonly unit: OwnedUnit;
  readonly handler: string;
  /** As its policy says. */
  readonly policyAttempts: number;
  /** When its handler was called; before that, when it was taken out of its line. */
  startedMs: number;
  readonly commit: HandlerContext<Tx>['commit'];
  readonly #host: RunHost<Tx>;
  /** The result no longer counts: it ended, or was given up. */
  isOver = false;
  isExecuting = false;
  /** It shares a commit, and a slot, with others. */
  isGrouped = false;
  /** The epoch of the breaker that it was started to try; most are not. */
  readonly probe: number | undefined;
  timeoutMs: number | undefined;
  /** What `ctx.commit` came to; it decides over whatever the handler does afterwards. */
  committed: CommitOutcome | LocalFault | undefined;
  #controller: AbortController | undefined;
  #abort: { readonly reason: unknown } | undefined;
  #committing: Promise<unknown> | undefined;
  #onAbort: ((reason: unknown) => void) | undefined;

  constructor(
    host: RunHost<Tx>,
    about: {
      delivery: Delivery;
      unit: OwnedUnit;
      handler: string;
      maxAttempts: number;
      startedMs: number;
      probe?: number | undefined;
    },
  ) {
    this.#host = host;
    this.delivery = about.delivery;
    this.unit = about.unit;
    this.handler = about.handler;
    this.policyAttempts = about.maxAttempts;
    this.startedMs = about.startedMs;
    this.probe = about.probe;
    // A field and not a method: handlers take it out of the context.
    this.commit = (effect) => {
      const isItsCommit = !this.isOver && !this.isCommitting && this.committed === undefined;
      const committed = host.commit(this, effect);
      // Whether or not the handler waits for it: the end of the run does, and judges its failure.
      if (isItsCommit) committed.catch(() => undefined);
      return committed;
    };
  }

  // Most never ask for it, so it is no field of each run.
  get postpone(): HandlerContext<Tx>['postpone'] {
    return (delayMs, reason) => {
      const check = new OptionCheck('ctx.postpone()');
      check.number('delayMs', delayMs, { min: 0, max: MAX_POSTPONE_MS, write: 'write milliseconds, up to a year' });
      check.done();
      throw new HoldfastError('POSTPONED', { id: this.id, delayMs, reason });
    };
  }

  get attempt(): number {
    return this.delivery.attempts + this.outageFailures + 1;
  }

  get maxAttempts(): number {
    return this.policyAttempts + this.outageFailures;
  }

  /** Runs of it that an outage ended: each is an attempt with a number of its own, and none is one of those its policy allows. */
  private get outageFailures(): number {
    return this.delivery.retry?.outage?.failures ?? 0;
  }

  get replays(): number {
    return this.delivery.cycle;
  }

  get id(): string {
    return this.delivery.id;
  }

  get type(): string {
    return this.delivery.type;
  }

  get key(): string | undefined {
    return this.delivery.key;
  }

  get idempotencyKey(): string {
    const { idempotencyKey, version, rerun } = this.delivery;
    const edited = version === 0 ? '' : `:v${version}`;
    return `${idempotencyKey}:${this.handler}${edited}${rerun === 0 ? '' : `:r${rerun}`}`;
  }

  get source(): string {
    return this.delivery.source;
  }

  get target(): string | undefined {
    return this.delivery.target;
  }

  get headers(): Readonly<Record<string, string>> {
    return this.delivery.headers ?? {};
  }

  get generation(): number | undefined {
    return this.delivery.generation;
  }

  get correlationId(): string | undefined {
    return this.delivery.correlationId;
  }

  get causationId(): string | undefined {
    return this.delivery.causationId;
  }

  get traceparent(): string | undefined {
    return this.delivery.traceparent;
  }

  get createdAt(): Date {
    return new Date(this.delivery.createdAtMs);
  }

  /** Made only if somebody looks at it. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#abort && !this.#controller.signal.aborted) this.#controller.abort(this.#abort.reason);
    return this.#controller.signal;
  }

  get aborted(): { readonly reason: unknown } | undefined {
    return this.#abort;
  }

  abort(reason: unknown): void {
    if (this.#abort) return;
    this.#abort = { reason };
    this.#controller?.abort(reason);
    this.#onAbort?.(reason);
  }

  /** What the work comes to, or a rejection with the reason as soon as the run is aborted. */
  abortable(work: Promise<unknown>): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#abort) reject(this.#abort.reason);
      this.#onAbort = reject;
      work.then(() => resolve(), reject);
    });
  }

  get isCommitting(): boolean {
    return this.#committing !== undefined;
  }

  /** Notes what its commit comes to. */
  async commitWith<Outcome extends CommitOutcome | LocalFault>(commit: () => Promise<Outcome>): Promise<Outcome> {
    const committing = commit();
    this.#committing = committing;
    try {
      const committed = await committing;
      this.committed = committed;
      return committed;
    } finally {
      this.#committing = undefined;
    }
  }

  /** Resolves when no commit is on its way, with its error if it failed. */
  async whenCommitEnds(): Promise<{ readonly error: unknown } | undefined> {
    return this.#committing?.then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
  }

  get claim(): RunClaim {
    const { seq, state, version, cycle, attempts } = this.delivery;
    return { workerId: this.#host.workerId(), token: this.unit.token, seq, state, version, cycle, attempts };
  }

  targetAt(nowMs: number): CommitTarget {
    const { seq, state, version, cycle } = this.delivery;
    const durationMs = Math.round(nowMs - this.startedMs);
    return { token: this.unit.token, seq, state, version, cycle, attempts: this.attempt, durationMs };
  }
}
