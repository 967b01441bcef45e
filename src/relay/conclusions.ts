import type { Effects } from '../kernel/effects.ts';
import { HoldfastError } from '../kernel/error.ts';
import { toDeliveryError } from './delivery-error.ts';
import { type HandlerDefinition, rulesOf } from './handler.ts';
import type { LaneState } from './lane-state.ts';
import { retryHolds } from './lines.ts';
import type { LineChange } from './key-line.ts';
import type { OwnedUnit } from './owned-unit.ts';
import type { RefusedReason, RelayEvent } from './relay-event.ts';
import type { Delivery, DeliveryError, Settlement } from './relay-store.ts';
import { deadPlan, type FailedAttempt, type FailurePlan, judge, planFailure } from './run-failure.ts';
import { planFault } from './run-fault.ts';
import type { Run, RunOutcome } from './run.ts';
import type { PendingResult, SettledAs, Settler } from './settler.ts';

/** What concluding runs needs from the work floor. */
export interface ConclusionHost<Tx> {
  readonly units: ReadonlyMap<number, OwnedUnit>;
  readonly settler: Settler;
  readonly effects: Effects;
  readonly tell: (event: RelayEvent) => void;
  readonly isReading: boolean;
  laneOf(unit: number): LaneState<Tx> | undefined;
  reload(unit: OwnedUnit, afterMs?: number): void;
  loadable(): void;
  /** A row becomes due after this long. */
  dueIn(ms: number): void;
  lose(unit: OwnedUnit): void;
  doubt(): void;
  settled(run: Run<Tx>): void;
}

// After a lost connection or a refusal not at once again: a database that is away, or a lease that is lost without our knowing
// yet, would be asked without end.
const PAUSE_MS = 250;
const REFUSED_PAUSE_MS = 50;

const SETTLE_FAILED = 'SETTLE_FAILED';

const PARKED: DeliveryError = {
  name: 'Parked',
  code: 'PARKED',
  kind: 'parked',
  message: 'set aside behind a dead letter of its key',
};

/** What follows the end of a run: the line of its key goes on, the result is written, and what happened is told. */
export class Conclusions<Tx> {
  readonly #host: ConclusionHost<Tx>;

  constructor(host: ConclusionHost<Tx>) {
    this.#host = host;
  }

  /** True when the result is on its way to the database. */
  conclude(run: Run<Tx>, lane: LaneState<Tx>, outcome: RunOutcome): boolean {
    const { handler, breaker } = lane;
    const { unit, delivery } = run;
    const host = this.#host;
    const isStale = host.units.get(delivery.unit) !== unit;
    const isSuccess = outcome.kind === 'done' || outcome.kind === 'committed';
    if (isSuccess) lane.succeededAtMs = host.effects.now().wallMs;
    if (isStale || outcome.kind !== 'failed') breaker?.ended(run, isSuccess ? 'well' : 'undecided');
    if (isStale) {
      this.#concludeStale(run, outcome);
      return false;
    }
    switch (outcome.kind) {
      case 'done':
        this.#settle(run, handler, { ...run.targetAt(host.effects.monoMs()), kind: 'done' }, 'done', this.#done(run));
        return true;
      case 'committed':
        unit.ended(delivery, 'done');
        unit.settled(delivery, host.isReading);
        host.tell(this.#done(run));
        return false;
      case 'failed': {
        const { settlement, change, event } = this.#planFailure(run, lane, outcome.error);
        this.#settle(run, handler, settlement, change, event);
        return true;
      }
      case 'postponed': {
        const error = toDeliveryError(outcome.error, { verdict: 'retry', kind: 'unknown' });
        this.#postpone(run, handler, error, outcome.delayMs, outcome.reason);
        return true;
      }
      case 'killer':
        this.#settleKiller(run, lane);
        return true;
      case 'fault': {
        const plan = planFault(handler, outcome.fault, this.#attempted(run, lane));
        this.#settle(run, handler, plan.settlement, plan.change, plan.event);
        if (outcome.fault.blame === 'run') return true;
        // What stands behind it would fare alike: nothing is started before the database answers again.
        host.reload(unit, PAUSE_MS);
        host.doubt();
        return true;
      }
      case 'refused':
        this.#tellRefused(run.handler, delivery, 'row-changed');
        unit.interrupted(delivery);
        host.reload(unit, REFUSED_PAUSE_MS);
        host.doubt();
        return false;
      case 'interrupted':
        host.tell({ kind: 'run-interrupted', handler: run.handler, delivery, reason: 'stopped' });
        unit.interrupted(delivery);
        host.reload(unit);
        return false;
      default:
        return outcome satisfies never;
    }
  }

  /** No attempt is counted; its key waits, as for a retry. */
  #postpone(
    run: Run<Tx>,
    handler: HandlerDefinition<Tx>,
    error: DeliveryError,
    delayMs: number,
    reason: 'type-unknown' | 'postponed',
  ): void {
    const holds = retryHolds(handler.lines, run.key);
    const target = run.targetAt(this.#host.effects.monoMs());
    const settlement = { ...target, kind: 'postpone', delayMs, holds, error } as const;
    const about = { kind: 'run-interrupted', handler: run.handler, delivery: run.delivery, reason } as const;
    const event = reason === 'postponed' ? { ...about, detail: error.message } : about;
    this.#settle(run, handler, settlement, holds ? 'waits' : 'yields', event);
  }

  /**
   * Parks deliveries together behind a dead letter of their key, all of them or none; without one, they are due and stand in line as ready
   * from now on.
   */
  move(unit: OwnedUnit, deliveries: readonly Delivery[], lane: LaneState<Tx>, behind: number | undefined): void {
    const { handler } = lane;
    const results = deliveries.map((delivery) => {
      const { seq, state, version, cycle, attempts } = delivery;
      const target = { token: unit.token, seq, state, version, cycle };
      if (behind === undefined) return this.#result(unit, delivery, handler, { ...target, kind: 'ready' }, undefined);
      const settlement = { ...target, kind: 'dead', attempts, error: PARKED, holds: true, behind } as const;
      const event = { kind: 'parked', handler: handler.name, delivery, dlqId: lane.dlqIdOf(delivery) } as const;
      return this.#result(unit, delivery, handler, settlement, event);
    });
    this.#host.settler.addTogether(results);
  }

  /** The lease passed to another, and perhaps back. The row tells what became of it. */
  #concludeStale(run: Run<Tx>, outcome: RunOutcome): void {
    if (outcome.kind === 'committed') this.#host.tell(this.#done(run));
    else this.#tellRefused(run.handler, run.delivery, 'lease-lost');
    const current = this.#host.units.get(run.delivery.unit);
    current?.interrupted(run.delivery);
    if (current) this.#host.reload(current);
  }

  #planFailure(run: Run<Tx>, lane: LaneState<Tx>, error: unknown): FailurePlan {
    const { handler, breaker, succeededAtMs } = lane;
    const failure = judge(rulesOf(handler, run.type), handler.name, error);
    const heldMs = breaker?.failed(run, failure, error);
    return planFailure(handler, {
      ...this.#attempted(run, lane),
      error,
      failure,
      heldMs,
      isOwnTimeLimit: run.aborted !== undefined && run.aborted.reason === error,
      succeededAtMs: Math.max(succeededAtMs, breaker?.succeededAtMs ?? -Infinity),
    });
  }

  /** An attempt that has just ended, but for why. */
  #attempted(run: Run<Tx>, lane: LaneState<Tx>): Omit<FailedAttempt, 'error'> {
    const { effects } = this.#host;
    const { delivery } = run;
    const now = effects.now();
    const startedAt = { wallMs: now.wallMs - (now.monoMs - run.startedMs), monoMs: run.startedMs };
    const target = run.targetAt(now.monoMs);
    return { delivery, dlqId: lane.dlqIdOf(delivery), target, startedAt, now, random: effects.random() };
  }

  /** No attempt is counted: it was not run, and no classifier is asked. */
  #settleKiller(run: Run<Tx>, lane: LaneState<Tx>): void {
    const { handler } = lane;
    const { id, delivery } = run;
    const failure = { verdict: 'fail', kind: 'terminal' } as const;
    const starts = run.unit.marks.startsOf(delivery);
    const error = toDeliveryError(new HoldfastError('PROCESS_KILLED', { id, handler: handler.name, starts }), failure);
    const target = run.targetAt(this.#host.effects.monoMs());
    const plan = deadPlan(handler, delivery, target, delivery.attempts, error);
    this.#settle(run, handler, plan.settlement, plan.change, {
      kind: 'run-failed',
      handler: handler.name,
      delivery,
      attempt: run.attempt,
      maxAttempts: run.maxAttempts,
      durationMs: 0,
      failure,
      error,
      next: { kind: 'dead', reason: 'process-killed', dlqId: lane.dlqIdOf(delivery) },
    });
  }

  #settle(
    run: Run<Tx>,
    handler: HandlerDefinition<Tx>,
    settlement: Settlement,
    change: LineChange,
    event: RelayEvent | undefined,
  ): void {
    run.unit.ended(run.delivery, change);
    this.#write(run.unit, run.delivery, handler, settlement, event, () => {
      if (change === 'passes') run.unit.passed(run.delivery);
      this.#host.settled(run);
    });
  }

  #write(
    unit: OwnedUnit,
    delivery: Delivery,
    handler: HandlerDefinition<Tx>,
    settlement: Settlement,
    event: RelayEvent | undefined,
    onSettled?: () => void,
  ): void {
    this.#host.settler.addTogether([this.#result(unit, delivery, handler, settlement, event, onSettled)]);
  }

  /** What is written, and what follows the answer. */
  #result(
    unit: OwnedUnit,
    delivery: Delivery,
    handler: HandlerDefinition<Tx>,
    settlement: Settlement,
    event: RelayEvent | undefined,
    onSettled?: () => void,
  ): PendingResult {
    const onAnswer = (answer: SettledAs): void => {
      if (answer.kind === 'impossible' && settlement.kind !== 'dead') {
        // The database cannot take this result. Running the message again would end the same way: it is a dead letter.
        const { token, seq, state, version, cycle } = settlement;
        const error = {
          ...toDeliveryError(answer.error, { verdict: 'fail', kind: 'database' }),
          code: SETTLE_FAILED,
        };
        const plan = deadPlan(handler, delivery, { token, seq, state, version, cycle }, delivery.attempts + 1, error);
        const dead = this.#impossible(delivery, handler, error, event);
        this.#write(unit, delivery, handler, plan.settlement, dead, onSettled);
        return;
      }
      if (answer.kind === 'written' && 'delayMs' in settlement) this.#host.dueIn(settlement.delayMs);
      this.#answered(unit, delivery, handler.name, event, answer);
      if (answer.kind === 'written' && settlement.kind === 'dead') unit.buried(delivery);
      onSettled?.();
    };
    return { settlement, onAnswer };
  }

  /** The event of a dead letter whose own result the database refused. */
  #impossible(
    delivery: Delivery,
    handler: HandlerDefinition<Tx>,
    error: DeliveryError,
    event: RelayEvent | undefined,
  ): RelayEvent | undefined {
    const lane = this.#host.laneOf(delivery.unit);
    if (!lane) return undefined;
    const { maxAttempts } = rulesOf(handler, delivery.type).policy;
    const about = { handler: handler.name, delivery, attempt: delivery.attempts + 1, maxAttempts, durationMs: 0 };
    return {
      ...about,
      ...(event && 'durationMs' in event && { attempt: event.attempt, durationMs: event.durationMs }),
      kind: 'run-failed',
      failure: { verdict: 'fail', kind: 'database', code: SETTLE_FAILED },
      error,
      next: { kind: 'dead', reason: 'settle-failed', dlqId: lane.dlqIdOf(delivery) },
    };
  }

  #answered(
    unit: OwnedUnit,
    delivery: Delivery,
    handler: string,
    event: RelayEvent | undefined,
    answer: SettledAs,
  ): void {
    const host = this.#host;
    unit.settled(delivery, host.isReading);
    if (answer.kind === 'written') {
      if (event) host.tell(event);
      if (unit.phase !== 'open' && !unit.hasSettling) host.loadable();
      return;
    }
    const isLost = answer.kind === 'refused' && answer.isUnitLost;
    // What was not set aside did not run: nothing is refused.
    if (event?.kind !== 'parked') this.#tellRefused(handler, delivery, isLost ? 'lease-lost' : 'row-changed');
    if (isLost) host.lose(unit);
    else host.reload(unit, answer.kind === 'impossible' ? PAUSE_MS : REFUSED_PAUSE_MS);
  }

  #done({ handler, delivery, attempt, maxAttempts, startedMs }: Run<Tx>): RelayEvent {
    const durationMs = this.#host.effects.monoMs() - startedMs;
    return { kind: 'run-done', handler, delivery, attempt, maxAttempts, durationMs };
  }

  #tellRefused(handler: string, delivery: Delivery, reason: RefusedReason): void {
    this.#host.tell({ kind: 'run-refused', handler, delivery, reason });
  }
}
