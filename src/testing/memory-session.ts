import { asOneEffect, type CommitEffects } from '../relay/commit-effects.ts';
import type { ForeignMessage, SendResult } from '../outbox/outbox-store.ts';
import type { HouseReport, KeepOptions } from '../relay/house-report.ts';
import { CommitLost } from '../relay/local-fault.ts';
import {
  type BreakerAnswer,
  type BreakerChange,
  type CommitOutcome,
  type CommitTarget,
  type DeadLetter,
  type Delivery,
  type FetchTarget,
  type Lane,
  type MarkTarget,
  type News,
  type ReadAnswer,
  type ReadRequest,
  type RelaySession,
  type RunningReport,
  type SettleAnswer,
  type Settlement,
  type SettleTarget,
  type Survey,
  type Token,
  type UnitLoad,
  type UnmirroredRequest,
  type WorkerRegistration,
} from '../relay/relay-store.ts';
import { changeBreaker } from './memory-breakers.ts';
import { CommitCut, type Fault, type FaultPoint, lostConnection, never } from './memory-fault.ts';
import { findUnmirrored, noteMirrored, receiveInto } from './memory-inbox.ts';
import { Liveness } from './memory-liveness.ts';
import { loadUnits, readTables } from './memory-read.ts';
import { isClosed, makeKnown, openLane, tidyTables, untilSendersKnow } from './memory-registry.ts';
import { deliveryOf, type MemoryRow } from './memory-row.ts';
import { applySettlement, mayBeSetAside } from './memory-settle.ts';
import { surveyTables } from './memory-survey.ts';
import type { MemoryLock, MemoryTables } from './memory-tables.ts';
import { type MemoryTransaction, OpenTransaction } from './memory-transaction.ts';

type Effects = CommitEffects<MemoryTransaction>;

/** What the rows of a write look like at the moment it is checked. */
interface Fenced {
  readonly lostUnits: ReadonlySet<number>;
  readonly rows: ReadonlyMap<SettleTarget, MemoryRow>;
}

/** A worker's conversation with the memory store. */
export class MemorySession implements RelaySession<MemoryTransaction> {
  /** From 1, in the order of opening. */
  readonly number: number;
  readonly #tables: MemoryTables;
  readonly #wakeAll: () => void;
  readonly #tellUnits: () => void;
  readonly #open = new Set<OpenTransaction>();
  readonly #liveness: Liveness;
  #onNews: ((news: News) => void) | undefined;
  #isCut = false;
  #isClosed = false;

  constructor(tables: MemoryTables, number: number, tellAll: (news: News) => void) {
    this.#tables = tables;
    this.number = number;
    this.#liveness = new Liveness(tables.settings.effects);
    this.#wakeAll = () => tellAll('messages');
    this.#tellUnits = () => tellAll('units');
  }

  /** The process behind it is gone: nothing is answered from now on, and what was not on its way to a commit is rolled back. */
  cut(): void {
    this.#isCut = true;
    this.#liveness.end();
    for (const tx of this.#open) tx.finish(false);
    this.#open.clear();
  }

  /** The server ends the connection that holds its liveness lock. It is back, with another lock, after `backInMs`. */
  loseLock(backInMs: number): void {
    this.#liveness.lose(backInMs);
  }

  hear(news: News): void {
    const fault = this.#tables.settings.fault({ session: this.number, call: 'wake', step: 'before' });
    const notify = (): void => {
      if (!this.#isCut && !this.#isClosed) this.#onNews?.(news);
    };
    if (fault?.end !== undefined) return;
    void this.#after(fault?.delayMs ?? 0).then(notify);
  }

  register(worker: WorkerRegistration): Promise<readonly Lane[]> {
    return this.#call('register', async () => {
      const lanes = makeKnown(this.#tables, worker);
      const closed = lanes.filter((lane) => isClosed(this.#tables, lane));
      if (closed.length > 0) await untilSendersKnow(this.#tables);
      if (this.#isCut) return never();
      for (const lane of closed) openLane(this.#tables, lane);
      const expiresAtMs = this.#tables.nowMs() + worker.leaseMs;
      const { id, service } = worker;
      const served = lanes.map(({ lane }) => lane);
      const liveness = { livenessLock: this.#liveness.lock, lockMissingSinceMs: undefined };
      this.#tables.workers.set(id, { id, service, lanes: served, expiresAtMs, ...liveness });
      this.#tellUnits();
      return lanes;
    });
  }

  beat(workerId: string, leaseMs: number, _running: readonly RunningReport[]): Promise<boolean> {
    return this.#call('beat', () => {
      const worker = this.#tables.workers.get(workerId);
      if (worker) {
        worker.expiresAtMs = this.#tables.nowMs() + leaseMs;
        worker.livenessLock = this.#liveness.lock;
        worker.lockMissingSinceMs = undefined;
      }
      return worker !== undefined;
    });
  }

  survey(workerId: string): Promise<Survey> {
    return this.#call('survey', () => surveyTables(this.#tables, workerId, this.#liveness.lock));
  }

  incarnation(): Promise<string> {
    return this.#call('incarnation', () => 'memory');
  }

  changeBreaker(workerId: string, change: BreakerChange): Promise<BreakerAnswer | undefined> {
    return this.#call('changeBreaker', () => changeBreaker(this.#tables, workerId, change));
  }

  acquire(workerId: string, units: readonly Token[]): Promise<readonly Token[]> {
    return this.#call('acquire', () => {
      const taken: Token[] = [];
      for (const { unit, epoch } of units) {
        const lease = this.#tables.leases.get(unit);
        // A write under the old token is on its way to its commit: not now.
        if (lease?.epoch !== epoch || this.#tables.isUnitLocked(unit)) continue;
        lease.owner = workerId;
        lease.epoch += 1;
        taken.push({ unit, epoch: lease.epoch });
      }
      if (taken.length > 0) this.#tables.ids.pass();
      return taken;
    });
  }

  release(workerId: string, tokens: readonly Token[]): Promise<void> {
    return this.#call('release', async () => {
      const units = tokens.map(({ unit }) => unit);
      await this.#tables.unlocked(units, []);
      for (const { unit, epoch } of tokens) {
        const lease = this.#tables.leases.get(unit);
        if (lease?.owner !== workerId || lease.epoch !== epoch) continue;
        lease.owner = undefined;
        lease.epoch += 1;
      }
      this.#tellUnits();
    });
  }

  leave(workerId: string): Promise<void> {
    return this.#call('leave', async () => {
      const mine = [...this.#tables.leases].filter(([, { owner }]) => owner === workerId);
      await this.#tables.unlocked(
        mine.map(([unit]) => unit),
        [],
      );
      for (const [, lease] of mine) {
        if (lease.owner !== workerId) continue;
        lease.owner = undefined;
        lease.epoch += 1;
      }
      this.#tables.workers.delete(workerId);
      this.#tables.waiters.delete(workerId);
      this.#tellUnits();
    });
  }

  load(units: readonly number[]): Promise<readonly UnitLoad[]> {
    return this.#call('load', () => loadUnits(this.#tables, units));
  }

  read(request: ReadRequest): Promise<ReadAnswer> {
    return this.#call('read', () => readTables(this.#tables, request));
  }

  fetch(rows: readonly FetchTarget[], unit: number, isAhead?: boolean): Promise<readonly Delivery[]> {
    const most = isAhead ? this.#tables.settings.inlineChars : Infinity;
    return this.#call('fetch', () =>
      rows.flatMap((wanted) => {
        const row = this.#tables.lines.find(unit, wanted.seq);
        return row?.state === wanted.state && row.version === wanted.version ? [deliveryOf(row, most)] : [];
      }),
    );
  }

  settle(workerId: string, settlements: readonly Settlement[]): Promise<SettleAnswer> {
    return this.#call('settle', () =>
      this.#write('settle', workerId, settlements, ({ rows, lostUnits }) => {
        const settled = new Set<number>();
        for (const settlement of settlements) {
          const row = rows.get(settlement);
          // Two results for one row in one call: only the first finds it.
          if (!row || settled.has(row.seq) || !mayBeSetAside(this.#tables, settlement)) continue;
          applySettlement(this.#tables, row, settlement);
          settled.add(row.seq);
        }
        return { settled, lostUnits };
      }),
    );
  }

  unmark(unit: number, seqs: readonly number[]): Promise<void> {
    return this.#call('unmark', async () => {
      for (const seq of seqs) {
        const row = this.#tables.lines.find(unit, seq);
        if (row) row.starts = Math.max(0, row.starts - 1);
      }
    });
  }

  mark(workerId: string, targets: readonly MarkTarget[]): Promise<ReadonlySet<number>> {
    return this.#call('mark', () =>
      this.#write('mark', workerId, targets, ({ rows }) => {
        for (const target of targets) {
          const row = rows.get(target);
          if (row) row.starts = target.starts;
        }
        return new Set([...rows.values()].map(({ seq }) => seq));
      }),
    );
  }

  commit(id: string, targets: readonly CommitTarget[], effects: Effects): Promise<CommitOutcome> {
    return this.#call('commit', async () => {
      for (;;) {
        const outcome = await this.#commitOnce(id, targets, asOneEffect(effects));
        if (outcome !== 'again') return outcome;
      }
    });
  }

  receive(messages: readonly ForeignMessage[], rememberMs: number): Promise<readonly SendResult[]> {
    return this.#call('receive', () => receiveInto(this.#tables, this.#wakeAll, messages, rememberMs));
  }

  unmirrored(units: readonly number[], which: UnmirroredRequest): Promise<readonly DeadLetter[]> {
    return this.#call('unmirrored', () => findUnmirrored(this.#tables, units, which));
  }

  mirrored(deliveries: readonly Pick<Delivery, 'unit' | 'seq' | 'cycle'>[]): Promise<void> {
    return this.#call('mirrored', () => noteMirrored(this.#tables, deliveries));
  }

  doze(workerId: string): Promise<void> {
    return this.#call('doze', () => void this.#tables.waiters.add(workerId));
  }

  rouse(workerId: string): Promise<void> {
    return this.#call('rouse', () => void this.#tables.waiters.delete(workerId));
  }

  listen(onNews: (news: News) => void): Promise<boolean> {
    return this.#call('listen', () => {
      this.#onNews = onNews;
      this.#liveness.take();
      return true;
    });
  }

  tidy(keep: KeepOptions): Promise<HouseReport> {
    return this.#call('tidy', () => tidyTables(this.#tables, keep));
  }

  close(): Promise<void> {
    this.#liveness.end();
    return this.#call('close', () => {
      this.#isClosed = true;
    });
  }

  async #commitOnce(
    workerId: string,
    targets: readonly CommitTarget[],
    effect: (tx: MemoryTransaction) => Promise<void>,
  ): Promise<CommitOutcome | 'again'> {
    const tx = new OpenTransaction(this.#tables, this.#wakeAll, { isOwned: true });
    this.#open.add(tx);
    try {
      await effect(tx);
      if (this.#isCut) return await never();
      // The row it finishes is its first write at the latest.
      tx.ensureId();
      return await this.#write('commit', workerId, targets, ({ rows }) => {
        if (rows.size < targets.length) return 'refused';
        tx.finish(true);
        for (const [target, row] of rows) {
          row.attempts = (target as CommitTarget).attempts;
          this.#tables.finish(row, 'delivered', (target as CommitTarget).durationMs);
        }
        return 'committed';
      });
    } catch (error) {
      if (!(error instanceof CommitCut)) throw error;
      if (!error.isAgain) throw new CommitLost(lostConnection());
      return 'again';
    } finally {
      this.#open.delete(tx);
      if (tx.isOpen) tx.finish(false);
    }
  }

  /** Checks the fence and the rows, holds both until the commit, and applies. */
  async #write<T>(
    call: 'settle' | 'mark' | 'commit',
    workerId: string,
    targets: readonly SettleTarget[],
    apply: (fenced: Fenced) => T,
  ): Promise<T> {
    const find = ({ token, seq }: SettleTarget): MemoryRow | undefined => this.#tables.lines.find(token.unit, seq);
    if (this.#tables.locks.size > 0) {
      await this.#tables.unlocked(
        [],
        targets.flatMap((target) => find(target) ?? []),
      );
    }
    const lostUnits = new Set<number>();
    const rows = new Map<SettleTarget, MemoryRow>();
    for (const target of targets) {
      const lease = this.#tables.leases.get(target.token.unit);
      if (lease?.owner !== workerId || lease.epoch !== target.token.epoch) {
        lostUnits.add(target.token.unit);
        continue;
      }
      const row = find(target);
      // What is parked is parked in whichever version it has now.
      const isVersion = row?.version === target.version || ('behind' in target && target.behind !== undefined);
      const isSame = row?.state === target.state && isVersion && row.cycle === target.cycle;
      if (row && isSame) rows.set(target, row);
    }
    const fault = this.#tables.settings.fault({ session: this.number, call, step: 'locked' });
    if (fault) await this.#holdLocks(call, fault, { lostUnits, rows });
    const answer = apply({ lostUnits, rows });
    if (rows.size > 0 && call !== 'commit') this.#tables.ids.pass();
    return answer;
  }

  /** The commit takes its time, or does not come about. */
  async #holdLocks(call: 'settle' | 'mark' | 'commit', fault: Fault, { rows }: Fenced): Promise<void> {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const lock: MemoryLock = {
      units: new Set([...rows.keys()].map(({ token }) => token.unit)),
      rows: new Set(rows.values()),
      ended,
    };
    this.#tables.locks.add(lock);
    try {
      await this.#after(fault.delayMs ?? 0);
    } finally {
      this.#tables.locks.delete(lock);
      end();
    }
    if (fault.end === 'hang') await never();
    if (fault.end === undefined) return;
    throw call === 'commit' ? new CommitCut(fault.end === 'again') : lostConnection();
  }

  async #call<T>(call: FaultPoint['call'], work: () => T | Promise<T>): Promise<T> {
    if (this.#isClosed) throw lostConnection();
    await this.#step(call, 'before');
    const answer = await work();
    if (await this.#isReplyLost(call)) {
      throw call === 'commit' ? new CommitLost(lostConnection()) : lostConnection();
    }
    return answer;
  }

  async #isReplyLost(call: FaultPoint['call']): Promise<boolean> {
    const fault = this.#tables.settings.fault({ session: this.number, call, step: 'after' });
    if (fault?.delayMs !== undefined) await this.#after(fault.delayMs);
    if (this.#isCut || fault?.end === 'hang') await never();
    return fault?.end === 'reject';
  }

  async #step(call: FaultPoint['call'], step: FaultPoint['step']): Promise<void> {
    if (this.#isCut) await never();
    const fault = this.#tables.settings.fault({ session: this.number, call, step });
    if (!fault) return;
    if (fault.delayMs !== undefined) await this.#after(fault.delayMs);
    if (this.#isCut || fault.end === 'hang') await never();
    if (fault.end === 'reject') throw lostConnection();
  }

  async #after(ms: number): Promise<void> {
    if (ms > 0) await new Promise<void>((resolve) => void this.#tables.settings.effects.setTimer(resolve, ms));
  }
}
