import type { Claim, IdempotencyRecord, RunEnd } from '../../idempotency/idempotency-store.ts';
import {
  claimRecord,
  endRecord,
  eraseRecord,
  liveRecord,
  renewRecord,
  shownRecord,
  type Step,
  type StoredRecord,
} from '../../idempotency/record-rules.ts';

/** Something that is asked of a store. */
export type ModelStep =
  | { readonly kind: 'claim' | 'renew' | 'find'; readonly claim: Claim }
  | { readonly kind: 'end'; readonly claim: Claim; readonly end: RunEnd }
  | { readonly kind: 'erase'; readonly person: string }
  | { readonly kind: 'reap'; readonly limit: number };

// A power of two, so that times can be added and taken apart without rounding.
const TICK = 2 ** -20;

/**
 * A store that is nothing but the rules. Its clock is moved on by hand; each step happens a tick later than the one before. A tick is
 * so small that it makes no difference to the rules, and tells afterwards at which step a time was written down.
 */
export class RulesModel {
  readonly #records = new Map<string, StoredRecord>();
  readonly #times: number[] = [0];

  get now(): number {
    return this.#times.at(-1) ?? 0;
  }

  /** The next step happens so much later. */
  elapse(ms: number): void {
    this.#times.push(Math.floor(this.now) + ms + this.#times.length * TICK);
  }

  /** Which step wrote this time down. */
  tickOf(time: number): number {
    return Math.round((time - Math.floor(time)) / TICK);
  }

  timeOf(tick: number): number {
    return this.#times[tick] ?? 0;
  }

  /** What the rules answer. */
  take(step: ModelStep): unknown {
    this.elapse(0);
    switch (step.kind) {
      case 'claim':
        return this.#apply(step.claim.id, (found) => claimRecord(found, step.claim, this.now));
      case 'renew':
        return this.#apply(step.claim.id, (found) => renewRecord(found, step.claim, this.now));
      case 'end':
        return this.#apply(step.claim.id, (found) => endRecord(found, step.claim, step.end, this.now));
      case 'find':
        return this.#shown(step.claim.id);
      case 'erase':
        return this.#erase(step.person);
      case 'reap':
        return undefined;
    }
  }

  live(id: string): StoredRecord | undefined {
    return liveRecord(this.#records.get(id), this.now);
  }

  /** As operators see it; nothing when there is no record. */
  status(id: string): string | undefined {
    return this.#shown(id)?.status;
  }

  /** The times at which something of this record will end without anybody doing anything. */
  ends(id: string): readonly number[] {
    const found = this.live(id);
    if (found === undefined) return [];
    return [found.expiresAt, ...(found.status === 'processing' ? [found.leaseUntil] : [])].filter(
      (at) => at > this.now,
    );
  }

  #shown(id: string): IdempotencyRecord | undefined {
    const found = this.live(id);
    return found && shownRecord(found, this.now);
  }

  #apply<Answer>(id: string, rule: (found: StoredRecord | undefined) => Step<Answer>): Answer {
    const { answer, record } = rule(this.#records.get(id));
    if (record === undefined) this.#records.delete(id);
    else this.#records.set(id, record);
    return answer;
  }

  #erase(person: string): number {
    const found = [...this.#records.keys()].flatMap((id) => this.live(id) ?? []).filter((one) => one.person === person);
    for (const record of found) this.#records.set(record.id, eraseRecord(record));
    return found.length;
  }
}
