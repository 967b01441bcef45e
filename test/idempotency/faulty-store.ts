import type {
  AtomicIdempotencyStore,
  ClaimAnswer,
  IdempotencyStore,
  RunEnd,
} from '../../src/idempotency/idempotency-store.ts';
import type { VirtualTime } from '../../src/testing/virtual-time.ts';

type Call = keyof IdempotencyStore;

/**
 * What goes wrong with a call. `reject`: nothing was done. `lose`: done, and the answer is lost. `hang`: never answered, nothing done.
 * A number: done and answered after so many milliseconds. `hold`: nothing happens until `goOn`, then it is done and answered.
 */
export type Fault = 'reject' | 'lose' | 'hang' | 'hold' | number;

export interface FaultyStore extends IdempotencyStore {
  /** What happens to the coming calls of this kind; nothing: all is well. */
  readonly faults: Partial<Record<Call, Fault>>;
  /** What was asked, in order. */
  readonly asked: string[];
  /** Calls that were held back are done now, in order. */
  goOn(): void;
}

/** A store with faults in front of it. */
export function faultyStore(store: IdempotencyStore, time: VirtualTime): FaultyStore {
  const faults: Partial<Record<Call, Fault>> = {};
  const asked: string[] = [];
  const held: (() => void)[] = [];
  const call = async <T>(name: Call, ask: () => Promise<T>, note: string = name): Promise<T> => {
    asked.push(note);
    const fault = faults[name];
    switch (fault) {
      case undefined:
        return ask();
      case 'reject':
        throw new Error('ECONNREFUSED');
      case 'lose':
        await ask();
        throw new Error('ECONNRESET');
      case 'hang':
        return new Promise(() => undefined);
      case 'hold':
        await new Promise<void>((go) => held.push(go));
        return ask();
      default:
        await new Promise<void>((go) => time.setTimer(go, fault));
        return ask();
    }
  };
  return {
    faults,
    asked,
    goOn: () => held.splice(0).forEach((go) => go()),
    claim: (claim) => call<ClaimAnswer>('claim', () => store.claim(claim)),
    renew: (claim) => call('renew', () => store.renew(claim)),
    end: (claim, end) => call('end', () => store.end(claim, end), `end ${end.kind}`),
    find: (id) => call('find', () => store.find(id)),
    erase: (person) => call('erase', () => store.erase(person)),
    reap: (limit) => call('reap', () => store.reap(limit)),
  };
}

/** A store in memory that has transactions: what is pushed to `tx` is kept when the transaction is, and its record with it. */
export function ledgerStore(store: IdempotencyStore): AtomicIdempotencyStore<string[]> & { readonly ledger: string[] } {
  const ledger: string[] = [];
  const transaction = async <T>(work: (tx: string[]) => Promise<T>): Promise<T> => {
    const tx: string[] = [];
    const value = await work(tx);
    ledger.push(...tx);
    return value;
  };
  return {
    ...store,
    ledger,
    transaction,
    commit: async (claim, work) => {
      const tx: string[] = [];
      const { value, end } = await work(tx);
      const answer = await store.end(claim, end);
      if (answer === 'late') return { kind: 'late' };
      ledger.push(...tx);
      return { kind: 'ended', value };
    },
  };
}

/** An end that keeps a reply with this text. */
export function finish(head: string): RunEnd & { kind: 'finish' } {
  return { kind: 'finish', status: 'completed', reply: { head, body: undefined } };
}
