import type { ClientSession, Collection, Db } from 'mongodb';
import type { Effects } from '../kernel/effects.ts';
import { HoldfastError } from '../kernel/error.ts';
import { createSleep } from '../kernel/sleep.ts';
import { ownCollection } from './collections.ts';
import { answered } from './answered.ts';

interface LeaseDocument {
  readonly _id: string;
  readonly owner: string;
  /** One more with each owner. */
  readonly epoch: number;
  readonly until: Date;
  /** Counts what was written under it, so that such a write and a new owner meet. */
  readonly writes?: number;
}

const RELEASE_MS = 2_000;

/** What a lease is made of. */
export interface LeaseParts {
  readonly db: Db;
  readonly id: string;
  readonly owner: string;
  readonly leaseMs: number;
  readonly effects: Effects;
}

/** One at a time does the work that `id` names, by the clock of the server. */
export class Lease {
  readonly #parts: LeaseParts;
  readonly #leases: Collection<LeaseDocument>;

  constructor(parts: LeaseParts) {
    this.#parts = parts;
    this.#leases = ownCollection<LeaseDocument>(parts.db, 'holdfast_leases');
  }

  /** Takes it if nobody has it. */
  async acquire(): Promise<HeldLease | undefined> {
    const { id, owner, leaseMs, effects } = this.#parts;
    const sentMs = effects.monoMs();
    // Its own too: the answer that told so may have been lost.
    const isFree = { $or: [{ $not: [{ $gt: ['$until', '$$NOW'] }] }, { $eq: ['$owner', owner] }] };
    const either = (taken: unknown, kept: string): unknown => ({ $cond: [isFree, taken, kept] });
    const change = {
      owner: either(owner, '$owner'),
      epoch: either({ $add: [{ $ifNull: ['$epoch', 0] }, 1] }, '$epoch'),
      until: either({ $add: ['$$NOW', leaseMs] }, '$until'),
    };
    const asked = this.#leases.findOneAndUpdate({ _id: id }, [{ $set: change }], {
      upsert: true,
      returnDocument: 'after',
    });
    const found = await answered(effects, asked);
    return found?.owner === owner ? new HeldLease(this.#parts, this.#leases, found.epoch, sentMs) : undefined;
  }
}

/** A lease that is held, and renewed until it is released or lost. */
export class HeldLease {
  readonly epoch: number;
  readonly #parts: LeaseParts;
  readonly #leases: Collection<LeaseDocument>;
  readonly #over = new AbortController();
  readonly #kept: Promise<void>;
  #validUntilMs: number;

  constructor(parts: LeaseParts, leases: Collection<LeaseDocument>, epoch: number, sentMs: number) {
    this.#parts = parts;
    this.#leases = leases;
    this.epoch = epoch;
    this.#validUntilMs = sentMs + parts.leaseMs;
    this.#kept = this.#keep();
  }

  /** Aborted when it is released, when another has it, and when its time is over without an answer to a renewal. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Makes a transaction fail, now or when it commits, if another has it. */
  async fence(session: ClientSession): Promise<void> {
    const { matchedCount } = await this.#leases.updateOne(this.#mine(), { $inc: { writes: 1 } }, { session });
    if (matchedCount === 0) throw new HoldfastError('DELIVERY_TAKEN', { id: this.#parts.id });
  }

  /** Gives it back. May be called twice; never rejects. */
  async release(): Promise<void> {
    this.#over.abort();
    await this.#kept;
    const { effects } = this.#parts;
    // A courtesy: from a server that hangs it is free when its time is over.
    const released = this.#leases.updateOne(this.#mine(), [{ $set: { until: '$$NOW' } }]);
    await answered(effects, released, RELEASE_MS).catch(() => undefined);
  }

  #mine(): { _id: string; owner: string; epoch: number } {
    const { id, owner } = this.#parts;
    return { _id: id, owner, epoch: this.epoch };
  }

  async #keep(): Promise<void> {
    const { effects, leaseMs } = this.#parts;
    const sleep = createSleep(effects);
    while (!this.#over.signal.aborted) {
      await sleep(leaseMs / 3, this.#over.signal).catch(() => undefined);
      if (this.#over.signal.aborted) return;
      const sentMs = effects.monoMs();
      const leftMs = this.#validUntilMs - sentMs;
      const isMine = leftMs > 0 ? await this.#renew(leftMs) : false;
      if (isMine) this.#validUntilMs = sentMs + leaseMs;
      else if (isMine === false || effects.monoMs() >= this.#validUntilMs) this.#over.abort();
    }
  }

  /** Nothing: that is not known. */
  #renew(leftMs: number): Promise<boolean | undefined> {
    const { effects, leaseMs } = this.#parts;
    const renewed = this.#leases.updateOne(this.#mine(), [{ $set: { until: { $add: ['$$NOW', leaseMs] } } }]);
    return answered(effects, renewed, leftMs).then(
      ({ matchedCount }) => matchedCount === 1,
      () => undefined,
    );
  }
}
