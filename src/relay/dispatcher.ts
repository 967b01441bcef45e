import type { Effects } from '../kernel/effects.ts';
import { HoldfastError } from '../kernel/error.ts';
import type { BreakerGate, BreakerHost } from './breaker-gate.ts';
import { Breakers } from './breakers.ts';
import { CarefulStarts, KILLER_STARTS } from './careful-starts.ts';
import { commitRun } from './commit-run.ts';
import { Conclusions, type ConclusionHost } from './conclusions.ts';
import { DatabaseWatch } from './database-watch.ts';
import type { DispatcherOptions } from './dispatcher-options.ts';
import { runsAlone } from './faults.ts';
import { type GroupingHandler, groupSize } from './group-size.ts';
import { type HandlerDefinition, rulesOf } from './handler.ts';
import type { KeyLine } from './key-line.ts';
import { LaneState } from './lane-state.ts';
import { OwnedUnit, type UnitSink } from './owned-unit.ts';
import { ProbeTurns } from './probe-turns.ts';
import type { RelayEvent } from './relay-event.ts';
import type { Delivery, FreeUnit, Lane, RelaySession, Token } from './relay-store.ts';
import { failureOf, runGroup, runHandler, type RunnerHost } from './run-handler.ts';
import { runPublishing, sequenceText } from './run-publishing.ts';
import { afterCommit, Run, type RunOutcome } from './run.ts';
import { Settler } from './settler.ts';
import type { RunWrapper } from './run-wrapper.ts';
import { Timeouts } from './timeouts.ts';
import { Unmarks } from './unmarks.ts';

const PAUSE_MS = 250;
// So few left to start in a unit that the reader should bring more.
const LOW = 8;

/**
 * The work floor of one process: takes what the reader brings, starts what may run, and hands results to the settler. Per key
 * as many as its line is wide, per handler as many as it allows.
 */
export class Dispatcher<Tx> implements UnitSink, RunnerHost<Tx>, ConclusionHost<Tx>, BreakerHost {
  readonly units: Map<number, OwnedUnit> = new Map();
  readonly settler: Settler;
  readonly breakers: Breakers = new Breakers(this);
  readonly effects: Effects;
  readonly session: RelaySession<Tx>;
  readonly watch: DatabaseWatch;
  readonly tell: (event: RelayEvent) => void;
  readonly quiet: () => void;
  readonly dueIn: (ms: number) => void;
  /** What is asked of a unit may be loaded now. */
  readonly loadable: () => void;
  /** Something was refused: find out whether this worker still lives. */
  readonly doubt: () => void;
  readonly wrapRun: RunWrapper | undefined;
  /** A read is on its way: what is settled now may still be in its answer. */
  isReading = false;
  /** Nothing new is started: the relay stops, or cannot be sure that it still owns its units. */
  isHeld = false;
  readonly #options: DispatcherOptions<Tx>;
  readonly #lanes: LaneState<Tx>[] = [];
  readonly #laneOfUnit = new Map<number, LaneState<Tx>>();
  readonly #careful: CarefulStarts<Tx>;
  readonly #conclusions: Conclusions<Tx>;
  readonly #timeouts: Timeouts<Tx>;
  readonly #unmarks: Unmarks;
  #executing = 0;
  /** Tails of long lines that are on their way. */
  #fetching = 0;
  #isPumping = false;
  #published = 0;
  readonly #probes = new ProbeTurns();

  constructor(options: DispatcherOptions<Tx>) {
    this.#options = options;
    this.session = options.session;
    this.watch = new DatabaseWatch(options.session);
    this.effects = options.effects;
    this.tell = options.tell;
    this.quiet = options.onQuiet;
    this.dueIn = options.onDueIn;
    this.loadable = options.onLoad;
    this.doubt = options.onDoubt;
    this.wrapRun = options.wrapRun;
    this.settler = new Settler({
      effects: options.effects,
      settle: (settlements) => this.session.settle(this.workerId(), settlements),
      onFailure: (error) => this.#storeFailed('settle', error),
    });
    this.#conclusions = new Conclusions(this);
    this.#careful = new CarefulStarts({
      mark: (targets) => this.#mark(targets),
      nowMs: () => this.effects.monoMs(),
      execute: (run) => this.#execute(run),
      drop: (run) => this.end(run, { kind: 'refused' }),
      executing: () => this.#executing,
    });
    this.#unmarks = new Unmarks({
      effects: options.effects,
      unmark: (unit, seqs) => this.session.unmark(unit, seqs),
      onFailure: (error) => this.#storeFailed('unmark', error),
    });
    this.#timeouts = new Timeouts(options.effects, (run, error) => this.end(run, { kind: 'failed', error }));
  }

  workerId(): string {
    return this.#options.workerId();
  }

  /** Who handles which lane. Called again after the worker joined anew. */
  setLanes(lanes: readonly Lane[], handlers: ReadonlyMap<string, HandlerDefinition<Tx>>): void {
    void this.watch.look();
    for (const lane of lanes) {
      const handler = handlers.get(lane.handler);
      if (!handler || this.#lanes.some((state) => state.lane.lane === lane.lane)) continue;
      const state = new LaneState(lane, handler, this.breakers.of(handler.breaker));
      this.#lanes.push(state);
      state.watch(this.units);
      for (let bucket = 0; bucket < lane.unitCount; bucket++) this.#laneOfUnit.set(lane.firstUnit + bucket, state);
    }
  }

  startProbe(gate: BreakerGate, epoch: number): boolean {
    if (this.isHeld || this.#careful.isExclusive) return false;
    const lanes = this.#lanes.filter((lane) => lane.breaker === gate && !lane.isPaused);
    return this.#probes.begin(lanes, (lane, delivery) => this.#begin(lane, delivery, epoch));
  }

  get lanes(): readonly LaneState<Tx>[] {
    return this.#lanes;
  }

  get runs(): readonly Run<Tx>[] {
    return this.#lanes.flatMap(({ runs }) => [...runs]);
  }

  /** Nothing runs, nothing is being written, and nothing is queued but for handlers that are paused, or whose breaker is open. */
  get isIdle(): boolean {
    return (
      this.#fetching === 0 &&
      this.settler.isIdle &&
      this.#lanes.every((lane) => lane.runs.size === 0 && (lane.isShut || lane.queued === 0))
    );
  }

  laneOf(unit: number): LaneState<Tx> | undefined {
    return this.#laneOfUnit.get(unit);
  }

  addUnit(token: Token, { isOrphaned }: Pick<FreeUnit, 'isOrphaned'>): void {
    const lane = this.laneOf(token.unit);
    if (!lane) return;
    const { handler } = lane;
    const { onDead, lines, blameless = false } = handler;
    const concurrency = Math.max(lane.concurrency, handler.concurrency);
    const atOnce = handler.kind === 'handle' ? concurrency : concurrency * groupSize(handler);
    const unit = new OwnedUnit(token, this, {
      parks: onDead === 'park',
      carefulStarts: isOrphaned && !blameless ? atOnce : 0,
      lines,
      taken: () => lane.busySlots + lane.queued,
    });
    for (const run of lane.runs) if (run.delivery.unit === token.unit) unit.adoptRunning(run.delivery);
    this.units.set(token.unit, unit);
  }

  /** The lease is lost, or given back: what runs is told to stop, and its result will be refused. */
  dropUnit(unitNumber: number): void {
    const unit = this.units.get(unitNumber);
    this.#unmarks.add(unit);
    // Results of it still come in, and would start what it has queued beside what whoever has it now starts: this process, perhaps.
    unit?.forget();
    this.units.delete(unitNumber);
    const lane = this.laneOf(unitNumber);
    lane?.removeUnit(unitNumber);
    for (const run of lane?.runs ?? []) {
      if (run.delivery.unit === unitNumber) run.abort(new HoldfastError('DELIVERY_TAKEN', { id: run.id }));
    }
  }

  /** Starts over with a unit, after a while: something about its rows is not as this process remembers. */
  reload(unit: OwnedUnit, afterMs = 0): void {
    if (this.units.get(unit.token.unit) !== unit) return;
    this.laneOf(unit.token.unit)?.removeUnit(unit.token.unit);
    unit.forget();
    if (afterMs === 0) return this.loadable();
    unit.loadAfterMs = this.effects.monoMs() + afterMs;
    this.effects.setTimer(() => this.loadable(), afterMs);
  }

  runnable(delivery: Delivery): void {
    this.laneOf(delivery.unit)?.push(delivery);
    this.pumpSoon();
  }

  wanted(unit: OwnedUnit, line: KeyLine, seqs: readonly number[], isAhead: boolean): void {
    void this.#fetchTail(unit, line, seqs, isAhead);
  }

  moved(unit: OwnedUnit, deliveries: readonly Delivery[], behind?: number): void {
    const lane = this.laneOf(unit.token.unit);
    if (lane) this.#conclusions.move(unit, deliveries, lane, behind);
  }

  /** Starts what may run, once all that is being told now has been told. */
  pumpSoon(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    queueMicrotask(() => {
      this.#isPumping = false;
      this.#pump();
    });
  }

  #pump(): void {
    for (const lane of this.#lanes) {
      while (!this.isHeld && !this.#careful.isExclusive && lane.hasSlot) {
        const delivery = lane.next();
        if (!delivery) break;
        this.#begin(lane, delivery);
      }
      const { breaker } = lane;
      if (breaker?.isClosed === false && !lane.isPaused && !this.isHeld && lane.queued > 0) breaker.offer();
    }
  }

  #begin(lane: LaneState<Tx>, delivery: Delivery, probe?: number): boolean {
    const run = this.#makeRun(lane, delivery, probe);
    if (!run) return false;
    lane.busySlots++;
    if (run.unit.marks.startsOf(delivery) >= KILLER_STARTS) this.end(run, { kind: 'killer' });
    else if (this.#needsCare(delivery)) this.#careful.add(run);
    else if (lane.handler.kind === 'handle' || runsAlone(delivery.faults)) this.#execute(run);
    else this.#beginGroup(lane, lane.handler, run);
    return true;
  }

  #needsCare(delivery: Delivery): boolean {
    const unit = this.units.get(delivery.unit);
    return unit !== undefined && (unit.marks.startsOf(delivery) > 0 || unit.marks.isNeeded(delivery));
  }

  #makeRun(lane: LaneState<Tx>, delivery: Delivery, probe?: number): Run<Tx> | undefined {
    const unit = this.units.get(delivery.unit);
    if (!unit || unit.phase !== 'open') return undefined;
    unit.started(delivery);
    const run = new Run<Tx>(this, {
      delivery,
      unit,
      handler: lane.handler.name,
      maxAttempts: rulesOf(lane.handler, delivery.type).policy.maxAttempts,
      startedMs: this.effects.monoMs(),
      probe,
    });
    lane.began(run);
    return run;
  }

  #beginGroup(lane: LaneState<Tx>, handler: GroupingHandler<Tx>, first: Run<Tx>): void {
    const runs: Run<Tx>[] = [];
    const most = groupSize(handler);
    const add = (run: Run<Tx> | undefined): void => {
      if (!run) return;
      runs.push(run);
      if (run.key === undefined) return;
      for (const delivery of run.unit.takeMore(run.key, most - runs.length)) {
        const more = this.#makeRun(lane, delivery);
        if (more) runs.push(more);
      }
    };
    add(first);
    while (runs.length < most) {
      const next = lane.next();
      if (!next) break;
      if (this.#needsCare(next) || runsAlone(next.faults)) this.#begin(lane, next);
      else add(this.#makeRun(lane, next));
    }
    this.#executing++;
    for (const run of runs) run.isGrouped = true;
    void this.#runTogether(handler, runs).finally(() => {
      this.#executing--;
      lane.busySlots--;
      this.#careful.next();
      this.pumpSoon();
    });
  }

  #execute(run: Run<Tx>): void {
    const lane = this.laneOf(run.delivery.unit);
    if (!lane || !this.#careful.admits(run)) return;
    this.#executing++;
    run.isExecuting = true;
    if (lane.handler.kind === 'handle') runHandler(this, lane.handler, run);
    else void this.#runTogether(lane.handler, [run]);
  }

  #runTogether(handler: GroupingHandler<Tx>, runs: readonly Run<Tx>[]): Promise<void> {
    return handler.kind === 'publish' ? runPublishing(this, handler, runs) : runGroup(this, handler, runs);
  }

  nextSequence(run: Run<Tx>): string {
    return sequenceText(run.unit.token.epoch, ++this.#published);
  }

  /** Its handler is called now, and its time begins: that it waited to be marked, or for its payload, is not its own doing. */
  called(run: Run<Tx>): void {
    run.startedMs = this.effects.monoMs();
    const lane = this.laneOf(run.delivery.unit);
    if (lane) this.#timeouts.watch(run, rulesOf(lane.handler, run.type).timeoutMs);
  }

  /** Nothing of this process is written any more, and no timer is left. */
  async stop(): Promise<void> {
    this.settler.stop();
    this.#timeouts.stop();
    this.breakers.stop();
    for (const lane of this.#lanes) lane.unwatch();
    for (const unit of this.units.values()) this.#unmarks.add(unit);
    await this.#unmarks.stop();
  }

  /** A run is over, whichever way. Later results of it do not count, and a commit decides over all else. */
  end(run: Run<Tx>, ended: RunOutcome): void {
    if (run.isOver) return;
    if (run.isCommitting) return void this.#endAfterCommit(run, ended);
    const outcome = run.committed ? afterCommit(run.committed) : ended;
    run.isOver = true;
    const lane = this.laneOf(run.delivery.unit);
    lane?.ended(run);
    this.#timeouts.forget(run);
    if (run.isExecuting) this.#executing--;
    if (lane && !run.isGrouped) lane.busySlots--;
    const isSettling = lane !== undefined && this.#conclusions.conclude(run, lane, outcome);
    if (!isSettling) this.#careful.over(run);
    this.pumpSoon();
    if (run.unit.runnable < LOW) this.#options.onRoom();
  }

  /** Its handler did not wait for its commit: given up now, the effect could be lost and the message counted as handled. */
  async #endAfterCommit(run: Run<Tx>, ended: RunOutcome): Promise<void> {
    const failed = await run.whenCommitEnds();
    this.end(run, failed && ended.kind === 'done' ? failureOf(run, failed.error) : ended);
  }

  /** The database says that a unit is not this process's any more. */
  lose(unit: OwnedUnit): void {
    if (this.units.get(unit.token.unit) !== unit) return;
    this.dropUnit(unit.token.unit);
    this.tell({ kind: 'units-lost', units: [unit.token.unit], why: 'refused' });
    this.doubt();
  }

  /** The result of a run is written, or refused. */
  settled(run: Run<Tx>): void {
    this.#careful.over(run);
  }

  commit(run: Run<Tx>, effect: (tx: Tx) => Promise<unknown>): Promise<void> {
    return commitRun(this, run, effect);
  }

  /** What ran before it in its key must be written first: a crash in between would run that again after this. */
  async whenKeySettled(run: Run<Tx>): Promise<void> {
    const settled = run.key === undefined ? undefined : run.unit.whenSettled(run.key);
    if (settled) await run.abortable(settled);
  }

  async #fetchTail(unit: OwnedUnit, line: KeyLine, seqs: readonly number[], isAhead: boolean): Promise<void> {
    const forgotten = unit.forgets;
    this.#fetching++;
    const rows = seqs.map((seq) => ({ seq, state: 'ready' as const, version: unit.versionOf(seq) }));
    try {
      const deliveries = await this.session.fetch(rows, unit.token.unit, isAhead);
      // One that did not come was edited, or is gone: without it, those behind it would run before it.
      if (unit.forgets === forgotten && deliveries.length < seqs.length) this.reload(unit);
      else if (unit.forgets === forgotten) unit.addFetched(line, deliveries);
    } catch (error) {
      this.#storeFailed('fetch', error);
      this.reload(unit, PAUSE_MS);
    } finally {
      this.#fetching--;
    }
  }

  async #mark(targets: Parameters<RelaySession<Tx>['mark']>[1]): Promise<ReadonlySet<number>> {
    try {
      return await this.session.mark(this.workerId(), targets);
    } catch (error) {
      this.#storeFailed('mark', error);
      throw error;
    }
  }

  #storeFailed(during: string, error: unknown): void {
    this.tell({ kind: 'store-failed', during, error, failures: 1 });
  }
}
