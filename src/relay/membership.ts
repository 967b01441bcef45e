import type { Effects } from '../kernel/effects.ts';
import { uuidV7 } from '../kernel/uuid-v7.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { HandlerDefinition } from './handler.ts';
import { Heat } from './heat.ts';
import type { OwnedUnit } from './owned-unit.ts';
import type { RelayEvent } from './relay-event.ts';
import type { KeepOptions } from './house-report.ts';
import { HOUSE_UNIT, type Lane, type RelaySession, type Survey, type Token } from './relay-store.ts';
import { leavingOf, shareOf } from './share.ts';

/** What membership works with. */
export interface MembershipOptions<Tx> {
  readonly session: RelaySession<Tx>;
  readonly dispatcher: Dispatcher<Tx>;
  readonly effects: Effects;
  readonly tell: (event: RelayEvent) => void;
  readonly onUnits: () => void;
  readonly onFailure: (during: string, error: unknown) => void;
  readonly handlers: ReadonlyMap<string, HandlerDefinition<Tx>>;
  /** What messages for a handler are taken as. */
  readonly subscriptions: (handler: HandlerDefinition<Tx>) => readonly string[];
  readonly worker: { readonly name: string; readonly service: string; readonly generation: number | undefined };
  readonly isPinned: boolean;
  readonly leaseMs: number;
  readonly keep: KeepOptions;
}

// Parts of the lease: five beats fit into one, and a look-round is half a beat.
const BEATS = 5;
const LOOKS = 10;
// Without a beat for this part of the lease nothing new is started; at its end everything is dropped.
const DOUBTFUL_PART = 0.8;
// After news it looks round about this long, once for all that is told meanwhile: a hundred that start at once are a hundred news.
const SOON_MS = 50;
// And so often however long the lease is: a worker that was killed is seen missing within this, and is dead COME_BACK_MS later.
export const LOOK_MS = 750;
const HOUSE_MS = 5_000;
// What is started by hand meanwhile is not waited for longer.
const CARRY_ON_MS = 1_000;

/**
 * This process among the others: says that it lives, takes its share of units, gives back what is above it. It never trusts
 * its own clock against another's: only the time since its last beat counts.
 */
export class Membership<Tx> {
  readonly #options: MembershipOptions<Tx>;
  #id: string;
  #lanes: readonly Lane[] = [];
  readonly #heat = new Heat();
  #isStopped = false;
  #loop: Promise<void> | undefined;
  #wake: (() => void) | undefined;
  #isWoken = false;
  #lastBeatMs = -Infinity;
  #lastHouseMs = -Infinity;
  #house: Token | undefined;
  #isKeepingHouse = false;
  #isCarryingOn = false;
  #carryOnTimer: unknown;
  #hasLooked = false;
  /** Sooner than usual: a worker is missing. */
  #againInMs = Infinity;
  /** The lease ran out without a beat: what the database still says about this worker is not its own any more. */
  #isLapsed = false;
  #watchdog: unknown;
  #soonTimer: unknown;

  constructor(options: MembershipOptions<Tx>) {
    this.#options = options;
    this.#id = newWorkerId(options.effects);
  }

  get id(): string {
    return this.#id;
  }

  /** It has joined and taken its share as far as that was free. */
  get hasLooked(): boolean {
    return this.#hasLooked;
  }

  /** Joins. Rejects when that fails: what is wrong at the start should be seen there. */
  async start(): Promise<void> {
    await this.#join();
    await this.#look();
    this.#loop = this.#run();
    this.#watch();
  }

  /** Something is not as it was thought: beat and look round now. */
  lookNow(): void {
    this.#lastBeatMs = Math.min(this.#lastBeatMs, this.#options.effects.monoMs() - this.#options.leaseMs / BEATS);
    this.#wakeUp();
  }

  /** Others came or went, or a unit can be given back now: a look-round in a moment, so that no unit waits for the next. */
  lookSoon(): void {
    const { effects } = this.#options;
    if (this.#isStopped || this.#soonTimer !== undefined) return;
    const ms = Math.ceil(SOON_MS * (0.5 + effects.random()));
    this.#soonTimer = effects.setTimer(() => {
      this.#soonTimer = undefined;
      this.#wakeUp();
    }, ms);
  }

  /** Ends the loop; the beat goes on by hand until `leave`. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const timer of [this.#carryOnTimer, this.#soonTimer])
      if (timer !== undefined) this.#options.effects.clearTimer(timer);
    this.#wake?.();
    // Not for the housekeeping: it may take long, and ends with its connection.
    await this.#loop;
  }

  /** Says once more that it lives, while it drains. */
  async beat(): Promise<void> {
    const { session, effects, leaseMs } = this.#options;
    const sentMs = effects.monoMs();
    if (await session.beat(this.#id, leaseMs, this.#running())) this.#lastBeatMs = sentMs;
    else await this.#buried();
  }

  async leave(): Promise<void> {
    if (this.#watchdog !== undefined) this.#options.effects.clearTimer(this.#watchdog);
    await this.#options.session.leave(this.#id);
  }

  async #run(): Promise<void> {
    const { leaseMs, onFailure } = this.#options;
    while (!this.#isStopped) {
      await this.#sleep(Math.min(leaseMs / LOOKS, LOOK_MS, this.#againInMs));
      if (this.#isStopped) return;
      try {
        await this.#tick();
      } catch (error) {
        onFailure('beat', error);
      }
    }
  }

  async #tick(): Promise<void> {
    const { effects, leaseMs } = this.#options;
    if (this.#isLapsed) await this.#buried();
    else if (effects.monoMs() - this.#lastBeatMs >= leaseMs / BEATS) await this.beat();
    await this.#look();
    // Beside the loop: a round over a large table must not keep the beat waiting.
    const isTime = effects.monoMs() - this.#lastHouseMs >= HOUSE_MS;
    if (this.#house && isTime && !this.#isKeepingHouse) void this.#keepHouse();
    if (this.#house && !this.#isCarryingOn) void this.#carryOn();
  }

  async #join(): Promise<void> {
    const { session, effects, worker, handlers, subscriptions, isPinned, leaseMs, dispatcher } = this.#options;
    const sentMs = effects.monoMs();
    this.#lanes = await session.register({
      ...worker,
      id: this.#id,
      leaseMs,
      handlers: [...handlers.values()].map((handler) => ({
        name: handler.name,
        types: subscriptions(handler),
        // Who takes what was published knows nothing of our generations: of a queue for each it would see keys out of order.
        isPinned: isPinned && handler.kind !== 'publish',
        isRepeatable: handler.repeatable,
        breaker: handler.breaker,
      })),
    });
    this.#lastBeatMs = sentMs;
    this.#isLapsed = false;
    dispatcher.isHeld = false;
    dispatcher.setLanes(this.#lanes, handlers);
    // A new lane is waited for before the lease begins: by the time it was asked for, that may be over already.
    if (effects.monoMs() - sentMs >= leaseMs / BEATS) await this.beat();
  }

  async #buried(): Promise<void> {
    this.#dropAll();
    if (this.#isStopped) return;
    this.#id = newWorkerId(this.#options.effects);
    await this.#join();
  }

  #dropAll(): void {
    const { dispatcher, tell } = this.#options;
    const units = [...dispatcher.units.keys()];
    for (const unit of units) dispatcher.dropUnit(unit);
    if (this.#house) units.push(HOUSE_UNIT);
    this.#house = undefined;
    if (units.length > 0) tell({ kind: 'units-lost', units, why: 'buried' });
  }

  async #look(): Promise<void> {
    const { session, dispatcher } = this.#options;
    const survey = await session.survey(this.#id);
    this.#againInMs = survey.againInMs ?? Infinity;
    this.#reconcile(survey);
    this.#applyPauses(survey);
    this.#applyLimits(survey);
    // Whoever was buried is told nothing of its service.
    if (survey.workers.some(({ id }) => id === this.#id)) dispatcher.breakers.see(survey.breakers);
    this.#heat.feel(dispatcher.units.values());
    for (const lane of this.#lanes) this.#markSurplus(lane, survey);
    await this.#acquire(survey);
    const leaving = [...dispatcher.units.values()].filter((unit) => unit.phase === 'leaving' && unit.isQuiet);
    if (leaving.length > 0) await this.#giveBack(leaving.map(({ token }) => token));
    this.#hasLooked = true;
  }

  /** Memory follows the database: answers get lost. */
  #reconcile({ owned }: Survey): void {
    const { dispatcher, tell, onUnits } = this.#options;
    const epochs = new Map(owned.map(({ unit, epoch }) => [unit, epoch]));
    const lost = [...dispatcher.units.values()]
      .filter(({ token }) => epochs.get(token.unit) !== token.epoch)
      .map(({ token }) => token.unit);
    for (const unit of lost) dispatcher.dropUnit(unit);
    if (this.#house && !epochs.has(HOUSE_UNIT)) lost.push(HOUSE_UNIT);
    if (lost.length > 0) tell({ kind: 'units-lost', units: lost, why: 'refused' });
    const unknown = owned.filter(({ unit }) => unit !== HOUSE_UNIT && !dispatcher.units.has(unit));
    for (const token of unknown) dispatcher.addUnit(token, { isOrphaned: true });
    this.#house = owned.find(({ unit }) => unit === HOUSE_UNIT);
    if (unknown.length === 0) return;
    tell({ kind: 'units-acquired', units: unknown.map(({ unit }) => unit), orphaned: unknown.length });
    onUnits();
  }

  #applyPauses({ pausedLanes }: Survey): void {
    const { dispatcher } = this.#options;
    for (const state of dispatcher.lanes) {
      const isPaused = pausedLanes.includes(state.lane.lane);
      if (state.isPaused === isPaused) continue;
      state.isPaused = isPaused;
      if (isPaused) continue;
      // Nothing was read meanwhile, late rows neither: start over.
      for (const unit of this.#unitsOf(state.lane)) dispatcher.reload(unit);
      dispatcher.pumpSoon();
    }
  }

  #applyLimits({ limits }: Survey): void {
    const { dispatcher } = this.#options;
    for (const state of dispatcher.lanes) {
      const limit = limits.find(({ lane }) => lane === state.lane.lane)?.limit;
      if (state.limit === limit) continue;
      state.limit = limit;
      dispatcher.pumpSoon();
    }
  }

  /** Units above the share are left, each when what runs there has ended. */
  #markSurplus(lane: Lane, survey: Survey): void {
    const { dispatcher } = this.#options;
    const staying = this.#unitsOf(lane).filter(({ phase }) => phase !== 'leaving');
    const surplus = staying.length - shareOf(lane, survey.workers, this.#id);
    if (surplus <= 0) return;
    for (const unit of leavingOf(staying, surplus, (one) => this.#heat.of(one))) {
      unit.phase = 'leaving';
      dispatcher.laneOf(unit.token.unit)?.removeUnit(unit.token.unit);
    }
  }

  async #acquire(survey: Survey): Promise<void> {
    const { session, dispatcher, tell, onUnits } = this.#options;
    const wanted = survey.free.filter(({ unit }) => unit === HOUSE_UNIT);
    for (const lane of this.#lanes) {
      const missing = shareOf(lane, survey.workers, this.#id) - this.#unitsOf(lane).length;
      const free = survey.free.filter(({ unit }) => isIn(lane, unit) && !dispatcher.units.has(unit));
      // From a place of its own, so that workers that look at once do not all reach for the same units.
      const turned = [
        ...free.filter(({ unit }) => this.#isNear(unit)),
        ...free.filter(({ unit }) => !this.#isNear(unit)),
      ];
      wanted.push(...turned.slice(0, Math.max(0, missing)));
    }
    if (wanted.length === 0) return;
    const orphaned = new Map(wanted.map(({ unit, isOrphaned }) => [unit, isOrphaned]));
    const tokens = await session.acquire(this.#id, wanted);
    for (const token of tokens) {
      if (token.unit === HOUSE_UNIT) this.#house = token;
      else dispatcher.addUnit(token, { isOrphaned: orphaned.get(token.unit) ?? false });
    }
    // Others reached for the same: some may be left.
    if (tokens.length < wanted.length) this.lookSoon();
    const units = tokens.map(({ unit }) => unit);
    tell({ kind: 'units-acquired', units, orphaned: units.filter((unit) => orphaned.get(unit)).length });
    onUnits();
  }

  #isNear(unit: number): boolean {
    return unit % 2 === Number.parseInt(this.#id.slice(-1), 16) % 2;
  }

  async #giveBack(tokens: readonly Token[]): Promise<void> {
    const { session, dispatcher, tell } = this.#options;
    for (const { unit } of tokens) dispatcher.dropUnit(unit);
    await session.release(this.#id, tokens);
    tell({ kind: 'units-released', units: tokens.map(({ unit }) => unit) });
  }

  async #keepHouse(): Promise<void> {
    this.#isKeepingHouse = true;
    const { session, effects, keep, tell, onFailure } = this.#options;
    this.#lastHouseMs = effects.monoMs();
    try {
      const report = await session.tidy(keep);
      if (!this.#isStopped) tell({ kind: 'house', report });
    } catch (error) {
      if (!this.#isStopped) onFailure('tidy', error);
    } finally {
      this.#isKeepingHouse = false;
    }
  }

  /** For as long as something is going on and this process keeps the house; the next look-round begins it again. */
  async #carryOn(): Promise<void> {
    const { session, effects, onFailure } = this.#options;
    this.#isCarryingOn = true;
    try {
      while (this.#house && !this.#isStopped) {
        const againMs = await session.carryOn?.();
        if (againMs === undefined) break;
        await new Promise<void>((resolve) => {
          this.#carryOnTimer = effects.setTimer(resolve, Math.min(againMs, CARRY_ON_MS));
        });
      }
    } catch (error) {
      if (!this.#isStopped) onFailure('carry on', error);
    } finally {
      this.#isCarryingOn = false;
    }
  }

  #unitsOf(lane: Lane): readonly OwnedUnit[] {
    return [...this.#options.dispatcher.units.values()].filter(({ token }) => isIn(lane, token.unit));
  }

  /** What runs longer than a beat is shown to operators. */
  #running(): Parameters<RelaySession<Tx>['beat']>[2] {
    const { dispatcher, effects, leaseMs } = this.#options;
    const now = effects.monoMs();
    return dispatcher.runs
      .map(({ id, delivery, attempt, startedMs }) => ({
        id,
        unit: delivery.unit,
        attempt,
        startedMsAgo: Math.round(now - startedMs),
      }))
      .filter(({ startedMsAgo }) => startedMsAgo >= leaseMs / BEATS);
  }

  /** On a timer of its own: the loop may hang in a call to a database that does not answer. */
  #watch(): void {
    const { effects, dispatcher, leaseMs } = this.#options;
    const silentMs = effects.monoMs() - this.#lastBeatMs;
    if (silentMs >= leaseMs && !this.#isLapsed) {
      this.#isLapsed = true;
      this.#dropAll();
    }
    dispatcher.isHeld = this.#isStopped || silentMs >= leaseMs * DOUBTFUL_PART;
    if (!dispatcher.isHeld) dispatcher.pumpSoon();
    this.#watchdog = effects.setTimer(() => this.#watch(), Math.ceil(leaseMs / LOOKS));
  }

  #wakeUp(): void {
    this.#isWoken = true;
    this.#wake?.();
  }

  #sleep(ms: number): Promise<void> {
    const { effects } = this.#options;
    return new Promise((resolve) => {
      if (this.#isWoken || this.#isStopped) {
        this.#isWoken = false;
        return resolve();
      }
      const timer = effects.setTimer(() => this.#wake?.(), Math.ceil(ms));
      this.#wake = () => {
        this.#isWoken = false;
        effects.clearTimer(timer);
        this.#wake = undefined;
        resolve();
      };
    });
  }
}

function isIn({ firstUnit, unitCount }: Lane, unit: number): boolean {
  return unit >= firstUnit && unit < firstUnit + unitCount;
}

function newWorkerId(effects: Effects): string {
  const bytes = Uint8Array.from({ length: 10 }, () => Math.floor(effects.random() * 256));
  return uuidV7(effects.now().wallMs, bytes);
}
