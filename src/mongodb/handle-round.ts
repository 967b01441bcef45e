import type { ClientSession, Db } from 'mongodb';
import { linkAbort } from '../kernel/abort-link.ts';
import type { Effects, Instant } from '../kernel/effects.ts';
import { HoldfastError } from '../kernel/error.ts';
import type { HandlingHandler } from '../relay/handler.ts';
import type { RelayObserver } from '../relay/relay-event.ts';
import type { Delivery } from '../relay/relay-store.ts';
import { LocalFault } from '../relay/local-fault.ts';
import { attemptOf, planFailure } from '../relay/run-failure.ts';
import { runWrapped, type RunWrapper } from '../relay/run-wrapper.ts';
import { insideHandler } from '../retry/handler-scope.ts';
import { FAULT_FAILURE, faultError } from '../relay/run-fault.ts';
import type { Failure } from '../retry/failure.ts';
import { deliveryOf, type InboxRow } from './row.ts';
import type { HeldLease } from './lease.ts';
import type { Rows } from './rows.ts';
import { CommitUnknown, withEffect } from './transaction.ts';
import type { Wakeup } from './wakeup.ts';
import type { Tenure, WorkerParts } from './worker.ts';

/** A message that is being handled. */
export interface HandledMessage {
  readonly row: InboxRow;
  readonly delivery: Delivery;
  /** Aborted when its time is up, when the inbox stops, and when another process has taken over. */
  readonly signal: AbortSignal;
}

/** What handling needs. */
export interface HandleParts {
  readonly db: Db;
  readonly rows: Rows<InboxRow>;
  readonly wakeup: Wakeup;
  readonly handler: HandlingHandler<unknown>;
  /** Makes the effect in the transaction in which the message is written as processed. */
  readonly handle: (message: HandledMessage, session: ClientSession) => Promise<void>;
  /** The id of a row's message. */
  readonly idOf: (row: InboxRow) => string;
  readonly effects: Effects;
  readonly tell: RelayObserver;
  readonly wrapRun: RunWrapper | undefined;
}

/** So many rows are read at once; of each key one is begun. */
const LOOK_AHEAD = 100;

/** Another has processed it since it was read. Never leaves this file. */
class Taken extends Error {}

/** Handles messages: several keys at once, of one key one after the other. */
export class Handling {
  readonly #parts: HandleParts;
  readonly #running = new Map<InboxRow, Promise<void>>();
  /** Read and not begun. Nobody else ends them while the lease is held, and of a key that fails they are dropped. */
  #ahead: readonly InboxRow[] = [];
  #lease: HeldLease | undefined;

  constructor(parts: HandleParts) {
    this.#parts = parts;
  }

  /** The rounds of a worker: begins what can be begun. */
  readonly round: WorkerParts['round'] = async (tenure) => {
    const { rows, handler } = this.#parts;
    if (tenure.lease !== this.#lease) this.#ahead = [];
    this.#lease = tenure.lease;
    // Who ends wakes.
    if (this.#running.size >= handler.concurrency) return { idleMs: Infinity };
    if (this.#beginAhead(tenure)) return 'busy';
    const busy = [...this.#running.keys()];
    const read = await rows.read(LOOK_AHEAD, {
      ids: busy.map(({ _id: id }) => id),
      keys: busy.flatMap(({ key }) => key ?? []),
    });
    this.#ahead = read.rows;
    return this.#beginAhead(tenure) ? 'busy' : { idleMs: read.nextDueInMs ?? Infinity };
  };

  /** Resolves when nothing runs. */
  readonly settled = async (): Promise<void> => void (await Promise.all(this.#running.values()));

  /** Begins what was read before, of each key that does not run the first. False: there is none. */
  #beginAhead(tenure: Tenure): boolean {
    const room = this.#parts.handler.concurrency - this.#running.size;
    const busy = new Set([...this.#running.keys()].map(({ key }) => key));
    const begun = new Set<InboxRow>();
    for (const row of this.#ahead) {
      if (begun.size === room) break;
      if (row.key !== null && busy.has(row.key)) continue;
      busy.add(row.key);
      begun.add(row);
    }
    this.#ahead = this.#ahead.filter((row) => !begun.has(row));
    for (const row of begun) this.#begin(row, tenure);
    return begun.size > 0;
  }

  #begin(row: InboxRow, tenure: Tenure): void {
    const run = this.#run(row, tenure).finally(() => {
      this.#running.delete(row);
      this.#parts.wakeup.wake();
    });
    this.#running.set(row, run);
  }

  /** Never rejects. */
  async #run(row: InboxRow, tenure: Tenure): Promise<void> {
    const { handler, effects, tell, idOf } = this.#parts;
    const delivery = deliveryOf(row, idOf(row));
    const { attempt, maxAttempts } = attemptOf(handler, delivery);
    const startedAt = effects.now();
    tell({ kind: 'run-started', handler: handler.name, delivery, attempt });
    try {
      await this.#handle(row, delivery, tenure);
      const durationMs = effects.monoMs() - startedAt.monoMs;
      tell({ kind: 'run-done', handler: handler.name, delivery, attempt, maxAttempts, durationMs });
    } catch (error) {
      // What stands behind it must not be begun before it.
      this.#ahead = this.#ahead.filter(({ key }) => key === null || key !== row.key);
      const about = { handler: handler.name, delivery };
      if (error instanceof Taken) tell({ kind: 'run-refused', ...about, reason: 'row-changed' });
      else if (tenure.signal.aborted) tell({ kind: 'run-interrupted', ...about, reason: 'stopped' });
      // Whether a commit without an answer came about the row tells: if it did, nothing is written to it as a failure.
      else if (error instanceof CommitUnknown) {
        const fault = new LocalFault('run', error.cause);
        const unanswered = faultError(delivery, handler.name, fault);
        await this.#failed({ row, delivery, error: unanswered, failure: FAULT_FAILURE, startedAt }, tenure);
      } else await this.#failed({ row, delivery, error, startedAt }, tenure);
    }
  }

  async #handle(row: InboxRow, delivery: Delivery, tenure: Tenure): Promise<void> {
    const { db, rows, handle, handler, effects, wrapRun } = this.#parts;
    const { timeoutMs } = handler;
    const about = { handler: handler.name, delivery, attempt: attemptOf(handler, delivery).attempt };
    const attempt = new AbortController();
    const run = { isOver: false };
    const late = Promise.withResolvers<never>();
    late.promise.catch(() => undefined);
    const giveUp = (error: unknown): void => {
      attempt.abort(error);
      late.reject(error);
    };
    const stop = (): void => giveUp(new HoldfastError('RELAY_STOPPED', { handler: handler.name, id: delivery.id }));
    const unlink = linkAbort(tenure.signal, stop);
    if (tenure.signal.aborted) stop();
    const timer = effects.setTimer(
      () =>
        giveUp(new HoldfastError('ATTEMPT_TIMEOUT', { operation: handler.name, attempt: row.attempts + 1, timeoutMs })),
      timeoutMs,
    );
    try {
      // One that goes on after it was given up has a session that is over: none of its writes are kept.
      await withEffect(
        db.client,
        async (session) => {
          attempt.signal.throwIfAborted();
          const call = (): Promise<void> => handle({ row, delivery, signal: attempt.signal }, session);
          const handled = insideHandler(run, () => runWrapped(wrapRun, about, call));
          await Promise.race([handled, late.promise]);
        },
        // As the last step, so that an arrival of the same message does not wait for the handler.
        async (session) => {
          if (!(await rows.finishIn(session, row))) throw new Taken();
        },
      );
    } finally {
      run.isOver = true;
      effects.clearTimer(timer);
      unlink();
    }
  }

  async #failed(
    run: { row: InboxRow; delivery: Delivery; error: unknown; failure?: Failure; startedAt: Instant },
    { lease }: Tenure,
  ): Promise<void> {
    const { rows, handler, effects, tell } = this.#parts;
    const { row, delivery } = run;
    const { _id: dlqId } = row;
    const token = { unit: 0, epoch: lease.epoch };
    const target = { token, seq: row.seq, state: delivery.state, version: 0, cycle: row.replays };
    const [now, random] = [effects.now(), effects.random()];
    const { settlement, event } = planFailure(handler, { ...run, dlqId, target, now, random });
    const reason = event.next.kind === 'dead' ? event.next.reason : null;
    try {
      if (await rows.fail(lease, row, settlement, reason)) tell(event);
    } catch (problem) {
      // Nothing is known to be written: it is read again.
      tell({ kind: 'store-failed', during: 'settle', error: problem, failures: 1 });
    }
  }
}
