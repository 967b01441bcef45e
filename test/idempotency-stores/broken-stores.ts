import type { Claim, IdempotencyStore, KeptReply } from '../../src/idempotency/idempotency-store.ts';
import { claimRecord, endRecord, eraseRecord, renewRecord } from '../../src/idempotency/record-rules.ts';
import type { IdempotencyHarness } from '../../src/testing/index.ts';
import { rulesStore, type RulesStoreOptions } from './rules-store.ts';

/** Rules with one mistake each. */
export const BROKEN_RULES: Readonly<Record<string, RulesStoreOptions>> = {
  'lets everybody in': { claim: (_, claim, now) => claimRecord(undefined, claim, now) },
  'lets nobody in': { claim: (found) => ({ answer: { kind: 'running', leaseLeftMs: 1 }, record: found }) },
  'takes over a lease that holds': {
    claim: (found, claim, now) => claimRecord(found && { ...found, leaseUntil: now }, claim, now),
  },
  'takes over without being asked to': {
    claim: (found, claim, now) => claimRecord(found, { ...claim, takeUnknown: true }, now),
  },
  'never takes over': { claim: (found, claim, now) => claimRecord(found, { ...claim, takeUnknown: false }, now) },
  'counts no runs': {
    claim: (found, claim, now) => {
      const { answer, record } = claimRecord(found, claim, now);
      return answer.kind === 'claimed'
        ? { answer: { ...answer, run: 1 }, record: record && { ...record, run: 1 } }
        : { answer, record };
    },
  },
  'refuses the owner that asks again': {
    claim: (found, claim, now) => claimRecord(found && { ...found, owner: `not ${found.owner}` }, claim, now),
  },
  'forgets the fingerprint': {
    claim: (found, claim, now) => claimRecord(found && { ...found, fingerprint: claim.fingerprint }, claim, now),
  },
  'looks at the fingerprint of finished ones only': {
    claim: (found, claim, now) =>
      found && (found.status === 'processing' || found.status === 'unknown')
        ? claimRecord({ ...found, fingerprint: claim.fingerprint }, claim, now)
        : claimRecord(found, claim, now),
  },
  'takes a lease of nothing for one that holds': {
    claim: (found, claim, now) => claimRecord(found && { ...found, leaseUntil: found.leaseUntil + 1 }, claim, now),
  },
  'begins anew when it is taken over': {
    claim: (found, claim, now) => {
      const { answer, record } = claimRecord(found, claim, now);
      return { answer, record: record && answer.kind === 'claimed' ? { ...record, createdAt: now } : record };
    },
  },
  'shows replies to nobody': {
    claim: (found, claim, now) => claimRecord(found && { ...found, reply: null }, claim, now),
  },
  'runs doubtful things again for their owner': {
    claim: (found, claim, now) =>
      claimRecord(found?.status === 'unknown' ? { ...found, status: 'processing' } : found, claim, now),
  },
  'takes over what was erased as if it had not been': {
    claim: (found, claim, now) => claimRecord(found && { ...found, forget: false }, claim, now),
  },
  'knows an erased person again when it is asked again': {
    claim: (found, claim, now) => claimRecord(found && { ...found, person: claim.person }, claim, now),
  },
  'lets what has expired stand': { live: (found) => found },
  'keeps things a millisecond too long': {
    live: (found, now) => (found && found.expiresAt >= now ? found : undefined),
  },
  'keeps nothing': { live: () => undefined },
  'renews for everybody': {
    renew: (found, claim, now) => renewRecord(found, { ...claim, owner: found?.owner ?? claim.owner }, now),
  },
  'renews what has ended': {
    renew: (found, claim, now) => renewRecord(found && { ...found, status: 'processing' }, claim, now),
  },
  'makes what is renewed': {
    renew: (found, claim, now) => renewRecord(found ?? claimRecord(undefined, claim, now).record, claim, now),
  },
  'does not renew a lease that is over': {
    renew: (found, claim, now) =>
      found && found.leaseUntil <= now ? { answer: false, record: found } : renewRecord(found, claim, now),
  },
  'never renews': { renew: (found) => ({ answer: false, record: found }) },
  'says that it renews': {
    renew: (found, claim, now) => ({ answer: renewRecord(found, claim, now).answer, record: found }),
  },
  'renews leases and lets records expire': {
    renew: (found, claim, now) => {
      const { answer, record } = renewRecord(found, claim, now);
      return { answer, record: record && found && { ...record, expiresAt: found.expiresAt } };
    },
  },
  'never makes a lease shorter': {
    renew: (found, claim, now) => {
      const { answer, record } = renewRecord(found, claim, now);
      return {
        answer,
        record: record && found && { ...record, leaseUntil: Math.max(record.leaseUntil, found.leaseUntil) },
      };
    },
  },
  'takes a renewal for a change': {
    renew: (found, claim, now) => {
      const { answer, record } = renewRecord(found, claim, now);
      return { answer, record: answer && record ? { ...record, updatedAt: now + 5 } : record };
    },
  },
  'lets everybody end': {
    end: (found, claim, end, now) => endRecord(found && { ...found, owner: claim.owner }, claim, end, now),
  },
  'lets the last end count': {
    end: (found, claim, end, now) => endRecord(found && { ...found, status: 'processing' }, claim, end, now),
  },
  'calls every end late': { end: (found) => ({ answer: 'late', record: found }) },
  'loses an end after the lease': {
    end: (found, claim, end, now) =>
      found && found.leaseUntil <= now ? { answer: 'late', record: found } : endRecord(found, claim, end, now),
  },
  'loses an end whose record is gone': {
    end: (found, claim, end, now) =>
      found === undefined ? { answer: 'late', record: undefined } : endRecord(found, claim, end, now),
  },
  'says that an end whose record is gone was kept': {
    end: (found, claim, end, now) =>
      found === undefined ? { answer: 'ended', record: undefined } : endRecord(found, claim, end, now),
  },
  'keeps a release': {
    end: (found, claim, end, now) => endRecord(found, claim, end.kind === 'release' ? { kind: 'doubt' } : end, now),
  },
  'takes a doubt for a release': {
    end: (found, claim, end, now) => endRecord(found, claim, end.kind === 'doubt' ? { kind: 'release' } : end, now),
  },
  'calls failures completed': {
    end: (found, claim, end, now) =>
      endRecord(found, claim, end.kind === 'finish' ? { ...end, status: 'completed' } : end, now),
  },
  'keeps from the claim on only': {
    end: (found, claim, end, now) => {
      const { answer, record } = endRecord(found, claim, end, now);
      return { answer, record: record && found ? { ...record, expiresAt: found.expiresAt } : record };
    },
  },
  'keeps the reply of an erased run': {
    end: (found, claim, end, now) => endRecord(found && { ...found, forget: false }, claim, end, now),
  },
  'erases nothing': { erase: (found) => found },
  'erases replies and keeps who it was': { erase: (found) => ({ ...eraseRecord(found), person: found.person }) },
  'erases who it was and keeps replies': { erase: (found) => ({ ...eraseRecord(found), reply: found.reply }) },
  'erases that it was done': { erase: (found) => ({ ...eraseRecord(found), expiresAt: 0 }) },
  'ends what it erases': { erase: (found) => ({ ...eraseRecord(found), status: 'completed' }) },
  'erases for good': { erase: (found) => ({ ...eraseRecord(found), expiresAt: Infinity }) },
};

/** Stores that go by the rules and are broken in another way. */
export const BROKEN_STORES: Readonly<Record<string, () => IdempotencyHarness>> = {
  'reads, and writes later': () => rulesStore({ hasGap: true }),
  'knows one record only': () => changed(sameForAll),
  'finds what is not there': () =>
    changed((store) => ({
      ...store,
      find: async (id) => (await store.find(id)) ?? { ...SOMETHING, id },
    })),
  'erases everybody': () =>
    changed((store) => {
      const seen = new Set<string>();
      return {
        ...store,
        claim: (claim) => store.claim(noted(claim, seen)),
        end: (claim, end) => store.end(noted(claim, seen), end),
        erase: async (person) => {
          const counts = await Promise.all([...seen, person].map((name) => store.erase(name)));
          return counts.at(-1) ?? 0;
        },
      };
    }),
  'erases the first hundred': () =>
    changed((store) => ({ ...store, erase: async (person) => Math.min(100, await store.erase(person)) })),
  'counts what has expired among what it erases': () =>
    changed((store) => {
      const seen = new Map<string | null, number>();
      return {
        ...store,
        claim: (claim) => {
          seen.set(claim.person, 1);
          return store.claim(claim);
        },
        erase: async (person) => Math.max(await store.erase(person), seen.get(person) ?? 0),
      };
    }),
  'clears away more than was asked for': () => changed((store) => ({ ...store, reap: () => store.reap(100) })),
  'clears away the same again and again': () => changed((store) => ({ ...store, reap: async () => 1 })),
  'takes bytes for a text': () =>
    keeping(({ head, body }) => ({ head, body: body && new TextEncoder().encode(new TextDecoder().decode(body)) })),
  'keeps no empty body': () => keeping(({ head, body }) => ({ head, body: body?.length === 0 ? undefined : body })),
  'makes an empty body of none': () => keeping(({ head, body }) => ({ head, body: body ?? new Uint8Array() })),
  'keeps sixty-four kilobytes': () => keeping(({ head, body }) => ({ head, body: body?.slice(0, 65_536) })),
  'keeps the bytes around a window': () =>
    keeping(({ head, body }) => ({ head, body: body && new Uint8Array(body.buffer) })),
  'ends a text at a null': () =>
    keeping(({ head, body }) => ({
      head,
      body: body && body.subarray(0, body.indexOf(0) < 0 ? undefined : body.indexOf(0)),
    })),
  'keeps headers in ASCII': () => keeping(({ head, body }) => ({ head: head.replaceAll(/[^ -~]/g, '?'), body })),
  'keeps domains in ASCII': () =>
    changed((store) => ({
      ...store,
      claim: (claim) => store.claim({ ...claim, domain: claim.domain.replaceAll(/[^ -~]/g, '?') }),
    })),
};

const SOMETHING = {
  domain: '',
  person: null,
  status: 'unknown',
  run: 1,
  fingerprint: '',
  reply: null,
  createdAt: 0,
  updatedAt: 0,
  expiresAt: 0,
} as const;

function changed(change: (store: IdempotencyStore) => IdempotencyStore): IdempotencyHarness {
  const { store, ...rest } = rulesStore();
  return { store: change(store), ...rest };
}

function keeping(change: (reply: KeptReply) => KeptReply): IdempotencyHarness {
  return changed((store) => ({
    ...store,
    end: (claim, end) => store.end(claim, end.kind === 'finish' ? { ...end, reply: change(end.reply) } : end),
  }));
}

function sameForAll(store: IdempotencyStore): IdempotencyStore {
  return {
    ...store,
    claim: (claim) => store.claim(one(claim)),
    renew: (claim) => store.renew(one(claim)),
    end: (claim, end) => store.end(one(claim), end),
  };
}

function one(claim: Claim): Claim {
  return { ...claim, id: 'one' };
}

function noted(claim: Claim, seen: Set<string>): Claim {
  if (claim.person !== null) seen.add(claim.person);
  return claim;
}
