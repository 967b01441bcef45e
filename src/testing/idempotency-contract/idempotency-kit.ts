import type {
  Claim,
  IdempotencyRecord,
  IdempotencyStore,
  KeptReply,
  RunEnd,
} from '../../idempotency/idempotency-store.ts';
import { newId } from '../../system/new-id.ts';
import { systemEffects } from '../../system/effects.ts';
import { must, mustEqual } from '../contract/contract-kit.ts';
import type { IdempotencyCase, IdempotencyHarness } from './idempotency-harness.ts';

/** Longer than any case takes. */
export const LONG_MS = 600_000;

/** Ends within a case: on a real clock it is waited for. */
export const SHORT_MS = 10;

// A machine that is busy with much else; a store that never gets there fails after it.
const PATIENCE_MS = 20_000;

export const REPLY: KeptReply = { head: '{"status":201}', body: new TextEncoder().encode('{"order":7}') };

export const DONE: RunEnd & { readonly kind: 'finish' } = { kind: 'finish', status: 'completed', reply: REPLY };

/** Every way a run can end. */
export const ENDS: readonly RunEnd[] = [DONE, { ...DONE, status: 'failed' }, { kind: 'doubt' }, { kind: 'release' }];

/** What a case works with. */
export class IdempotencyKit {
  readonly store: IdempotencyStore;
  readonly #harness: IdempotencyHarness;

  constructor(harness: IdempotencyHarness) {
    this.#harness = harness;
    this.store = harness.store;
  }

  /** A claim to a thing nobody has heard of, by a new owner. It holds as long as a case takes. */
  claim(about: Partial<Claim> = {}): Claim {
    return {
      id: mark(),
      domain: 'POST /orders',
      person: mark(),
      fingerprint: mark(),
      owner: mark(),
      leaseMs: LONG_MS,
      keepMs: LONG_MS,
      takeUnknown: false,
      ...about,
    };
  }

  /** The same request by another owner. */
  rival(claim: Claim, about: Partial<Claim> = {}): Claim {
    return { ...claim, owner: mark(), leaseMs: LONG_MS, keepMs: LONG_MS, ...about };
  }

  /** Claims, and expects to be let in. */
  async enter(claim: Claim, run = 1): Promise<Claim> {
    mustBe(await this.store.claim(claim), { kind: 'claimed', run }, 'the claim is granted');
    return claim;
  }

  /** A run whose owner has not been heard of for longer than its lease. */
  async lost(about: Partial<Claim> = {}): Promise<Claim> {
    const claim = await this.enter(this.claim({ ...about, leaseMs: SHORT_MS }));
    await this.leaseEnds(claim);
    return claim;
  }

  /** Expects that the run is another's. */
  async mustRun(claim: Claim, what: string): Promise<void> {
    const answer = await this.store.claim(this.rival(claim));
    must(
      answer.kind === 'running' && answer.leaseLeftMs >= 1 && answer.leaseLeftMs <= LONG_MS,
      `${what} (found ${JSON.stringify(answer)})`,
    );
  }

  async mustFind(claim: Claim): Promise<IdempotencyRecord> {
    const found = await this.store.find(claim.id);
    if (found === undefined) throw new Error('this is not kept: the record is found');
    return found;
  }

  /** Does something that must change nothing. */
  async mustLeave(claim: Claim, what: string, work: () => Promise<void>): Promise<void> {
    const before = await this.store.find(claim.id);
    await work();
    mustBe(await this.store.find(claim.id), before, what);
  }

  /** Until the lease of a short claim is over. */
  async leaseEnds(claim: Claim): Promise<void> {
    await this.#pass(claim.leaseMs, async () => (await this.store.find(claim.id))?.status === 'unknown');
  }

  /** Until the record of a claim that is kept shortly is gone. */
  async expires(claim: Claim): Promise<void> {
    await this.#pass(claim.keepMs, async () => (await this.store.find(claim.id)) === undefined);
  }

  async #pass(ms: number, isOver: () => Promise<boolean>): Promise<void> {
    await passed(this.#harness, ms, isOver, `its time of ${ms} ms is over`);
  }
}

/** Lets time pass until what it must bring about is seen. */
export async function passed(
  harness: IdempotencyHarness,
  ms: number,
  isOver: () => Promise<boolean>,
  what: string,
): Promise<void> {
  if (harness.elapse !== undefined) {
    await harness.elapse(ms);
    must(await isOver(), what);
    return;
  }
  const deadline = systemEffects.monoMs() + PATIENCE_MS;
  while (!(await isOver())) {
    must(systemEffects.monoMs() < deadline, what);
    await new Promise<void>((resolve) => void systemEffects.setTimer(resolve, 1));
  }
}

/** A case of the contract. */
export function promise(name: string, body: (kit: IdempotencyKit) => Promise<void>): IdempotencyCase {
  return { name, run: (harness) => body(new IdempotencyKit(harness)) };
}

/** Throws unless both say the same: the order of fields does not matter, and bytes are compared as such. */
export function mustBe(found: unknown, expected: unknown, what: string): void {
  mustEqual(ordered(found), ordered(expected), what);
}

function ordered(value: unknown): unknown {
  if (value instanceof Uint8Array) return new TextDecoder('latin1').decode(value);
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(fields.map(([name, field]) => [name, ordered(field)]));
}

/** Forty-three characters, as a digest is written. */
export function mark(): string {
  return (newId() + newId()).replaceAll('-', '').slice(-43);
}
