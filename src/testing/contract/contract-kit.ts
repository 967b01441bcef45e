import type { NewMessage, SendResult } from '../../outbox/outbox-store.ts';
import {
  type CommitOutcome,
  type CommitTarget,
  type Delivery,
  HOUSE_UNIT,
  type HandlerRegistration,
  type Lane,
  type ReadAnswer,
  type RelaySession,
  type SettleAnswer,
  type Settlement,
  type SettleTarget,
  type Snapshot,
  type Token,
} from '../../relay/relay-store.ts';
import { newId } from '../../system/new-id.ts';
import { draftMessage } from '../draft-message.ts';
import type { ContractHarness, ContractTransaction } from './contract-harness.ts';

/** Long enough that no worker of a case dies while it is being tested. */
const LONG_MS = 60_000;

export const FAILURE = { name: 'Error', message: 'no', kind: 'unknown' } as const;

/** What a worker announces, where a case says nothing else. */
export interface JoinOptions {
  readonly handlers?: readonly HandlerRegistration[];
  readonly service?: string;
  readonly generation?: number;
  readonly leaseMs?: number;
}

/** A handler's registration. */
export function handler(
  name: string,
  types: readonly string[] = ['thing.done'],
  isPinned = false,
): HandlerRegistration {
  return { name, types, isPinned, isRepeatable: false };
}

/** Throws when a promise is not kept. */
export function must(isKept: boolean, promise: string): void {
  if (!isKept) throw new Error(`this is not kept: ${promise}`);
}

/** Throws unless both are equal as JSON. */
export function mustEqual(found: unknown, expected: unknown, promise: string): void {
  const [a, b] = [JSON.stringify(found), JSON.stringify(expected)];
  must(a === b, `${promise} (expected ${b}, found ${a})`);
}

/** What a case works with: senders and workers, all closed at its end. */
export class ContractKit<Tx> {
  readonly harness: ContractHarness<Tx>;
  readonly #sessions: RelaySession<Tx>[] = [];
  readonly #open: ContractTransaction<Tx>[] = [];

  constructor(harness: ContractHarness<Tx>) {
    this.harness = harness;
  }

  message(key: string | undefined, about: Partial<NewMessage> = {}): NewMessage {
    return draftMessage({ id: newId(), type: 'thing.done', key, ...about });
  }

  async begin(): Promise<ContractTransaction<Tx>> {
    const begun = await this.harness.begin();
    this.#open.push(begun);
    const end = (how: 'commit' | 'rollback') => async (): Promise<void> => {
      this.#open.splice(this.#open.indexOf(begun), 1);
      await begun[how]();
    };
    return { tx: begun.tx, commit: end('commit'), rollback: end('rollback') };
  }

  /** Sends in a transaction of its own. */
  async sendAll(messages: readonly NewMessage[]): Promise<readonly SendResult[]> {
    const { tx, commit, rollback } = await this.begin();
    try {
      const results = await this.harness.store.append(tx, messages);
      await commit();
      return results;
    } catch (error) {
      await rollback();
      throw error;
    }
  }

  async send(key?: string, about?: Partial<NewMessage>): Promise<string> {
    const message = this.message(key, about);
    await this.sendAll([message]);
    return message.id;
  }

  /** A worker that has registered and owns nothing yet. */
  async join(options: JoinOptions = {}): Promise<Member<Tx>> {
    const session = await this.harness.store.openRelay();
    this.#sessions.push(session);
    const id = newId();
    const lanes = await session.register({
      id,
      name: 'contract',
      service: options.service ?? 'contract',
      generation: options.generation,
      handlers: options.handlers ?? [handler('first')],
      leaseMs: options.leaseMs ?? LONG_MS,
    });
    return new Member(session, id, lanes);
  }

  /** A worker that owns every free unit of its lanes. */
  async own(options: JoinOptions = {}): Promise<Member<Tx>> {
    const member = await this.join(options);
    await member.acquireAll();
    return member;
  }

  /** Lets time pass until the check is true; gives up after some seconds. */
  async until(check: () => Promise<boolean>, promise: string): Promise<void> {
    for (let turn = 0; turn < 250; turn++) {
      if (await check()) return;
      await this.harness.pass(20);
    }
    must(false, promise);
  }

  /** A worker takes everything over from one that has died. */
  async takeOver(dead: Member<Tx>, options: JoinOptions = {}): Promise<Member<Tx>> {
    const heir = await this.join(options);
    // Its last sign of life is a short one; joining with a short lease could end before it has taken anything.
    await dead.session.beat(dead.id, 1, []);
    await this.until(async () => {
      const { workers } = await heir.session.survey(heir.id);
      return !workers.some(({ id }) => id === dead.id);
    }, 'a worker that does not beat is buried when its lease is over');
    await heir.acquireAll();
    return heir;
  }

  async close(): Promise<void> {
    for (const { rollback } of this.#open.splice(0)) await rollback();
    for (const session of this.#sessions.splice(0)) await session.close();
  }
}

/** A worker as an engine would keep it: its tokens, cursors and last snapshot. */
export class Member<Tx> {
  readonly session: RelaySession<Tx>;
  readonly id: string;
  readonly lanes: readonly Lane[];
  readonly tokens: Map<number, Token> = new Map();
  readonly #cursors = new Map<number, number>();
  #since: Snapshot | undefined;

  constructor(session: RelaySession<Tx>, id: string, lanes: readonly Lane[]) {
    this.session = session;
    this.id = id;
    this.lanes = lanes;
  }

  /** The units it owns that have messages. */
  get units(): readonly number[] {
    return [...this.tokens.keys()].filter((unit) => unit !== HOUSE_UNIT);
  }

  /** Takes every unit that is free. Again while some are left: one that is locked at the moment is passed over. */
  async acquireAll(): Promise<void> {
    for (let round = 0; round < 100; round += 1) {
      const { free } = await this.session.survey(this.id);
      if (free.length === 0) return;
      for (const token of await this.session.acquire(this.id, free)) this.tokens.set(token.unit, token);
    }
  }

  async read(options: { limit?: number; dueLimit?: number } = {}): Promise<ReadAnswer> {
    const { limit = 1_000, dueLimit = 1_000 } = options;
    const units = this.units.map((unit) => ({ unit, after: this.#cursors.get(unit) ?? 0, limit, skipsBlocked: false }));
    const answer = await this.session.read({ units, since: this.#since, dueLimit });
    this.#since = answer.snapshot;
    for (const { unit, seq } of answer.ready) this.#cursors.set(unit, Math.max(seq, this.#cursors.get(unit) ?? 0));
    return answer;
  }

  /** Reads one ready delivery, and expects exactly one. */
  async readOne(): Promise<Delivery> {
    const { ready } = await this.read();
    must(ready.length === 1, `one ready delivery is read (found ${ready.length})`);
    return ready[0] as Delivery;
  }

  target({ unit, seq, state, version, cycle }: Delivery): SettleTarget {
    return { token: this.tokens.get(unit) ?? { unit, epoch: 0 }, seq, state, version, cycle };
  }

  done(delivery: Delivery): Settlement & CommitTarget {
    return { ...this.target(delivery), kind: 'done', attempts: delivery.attempts + 1, durationMs: 1 };
  }

  retry(delivery: Delivery, delayMs: number, holds = true): Settlement {
    const attempts = delivery.attempts + 1;
    const startedAt = { wallMs: 1, monoMs: 1 };
    const retry = { v: 1, attempts, waitedMs: delayMs, lastDelayMs: delayMs, startedAt } as const;
    return { ...this.target(delivery), kind: 'retry', delayMs, holds, attempts, error: FAILURE, retry };
  }

  dead(delivery: Delivery, holds: boolean): Settlement {
    return { ...this.target(delivery), kind: 'dead', attempts: delivery.attempts + 1, error: FAILURE, holds };
  }

  /** Not tried, and parked behind another. */
  parked(delivery: Delivery, behind: number): Settlement {
    const error = { ...FAILURE, code: 'PARKED' };
    return { ...this.target(delivery), kind: 'dead', attempts: 0, error, holds: true, behind };
  }

  settle(...settlements: Settlement[]): Promise<SettleAnswer> {
    return this.session.settle(this.id, settlements);
  }

  commit(deliveries: readonly Delivery[], effect: (tx: Tx) => Promise<void>): Promise<CommitOutcome> {
    return this.session.commit(
      this.id,
      deliveries.map((delivery) => this.done(delivery)),
      effect,
    );
  }
}
