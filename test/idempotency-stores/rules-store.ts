import type { IdempotencyStore } from '../../src/idempotency/idempotency-store.ts';
import {
  claimRecord,
  endRecord,
  eraseRecord,
  liveRecord,
  renewRecord,
  shownRecord,
  type Step,
  type StoredRecord,
} from '../../src/idempotency/record-rules.ts';
import type { IdempotencyHarness } from '../../src/testing/index.ts';

/** What a broken store does differently. */
export interface RulesStoreOptions {
  readonly claim?: typeof claimRecord;
  readonly renew?: typeof renewRecord;
  readonly end?: typeof endRecord;
  readonly erase?: typeof eraseRecord;
  readonly live?: typeof liveRecord;
  /** Others may come in between reading and writing. */
  readonly hasGap?: boolean;
}

/** The rules over a map, with a clock that stands still until it is moved: the smallest store, and one to break on purpose. */
export function rulesStore(options: RulesStoreOptions = {}): IdempotencyHarness {
  const rules = {
    claim: claimRecord,
    renew: renewRecord,
    end: endRecord,
    erase: eraseRecord,
    live: liveRecord,
    ...options,
  };
  const records = new Map<string, StoredRecord>();
  let now = Date.UTC(2026, 0, 1);
  const apply = async <Answer>(
    id: string,
    rule: (found: StoredRecord | undefined) => Step<Answer>,
  ): Promise<Answer> => {
    const found = rules.live(records.get(id), now);
    if (options.hasGap === true) await Promise.resolve();
    const { answer, record } = rule(found);
    if (record === undefined) records.delete(id);
    else records.set(id, record);
    return answer;
  };
  const store: IdempotencyStore = {
    claim: (claim) => apply(claim.id, (found) => rules.claim(found, claim, now)),
    renew: (claim) => apply(claim.id, (found) => rules.renew(found, claim, now)),
    end: (claim, end) => apply(claim.id, (found) => rules.end(found, claim, end, now)),
    find: async (id) => {
      const found = rules.live(records.get(id), now);
      return found && shownRecord(found, now);
    },
    erase: async (person) => {
      const found = [...records.values()].filter((one) => one.person === person && rules.live(one, now) !== undefined);
      for (const record of found) records.set(record.id, rules.erase(record));
      return found.length;
    },
    reap: async (limit) => {
      const expired = [...records.values()].filter(({ expiresAt }) => expiresAt <= now).slice(0, limit);
      for (const { id } of expired) records.delete(id);
      return expired.length;
    },
  };
  return { store, elapse: async (ms) => void (now += ms) };
}
