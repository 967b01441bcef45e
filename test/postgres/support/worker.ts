import { randomUUID } from 'node:crypto';
import { onTestFinished } from 'vitest';
import type {
  CommitTarget,
  Delivery,
  HandlerRegistration,
  ReadAnswer,
  RelaySession,
  RelayStore,
  SettleTarget,
  Snapshot,
  Token,
} from '../../../src/relay/relay-store.ts';
import { draftMessage } from '../../../src/testing/draft-message.ts';
import type { NewMessage } from '../../../src/index.ts';

/** One message of type `thing.done`. */
export function message(about: Partial<NewMessage> = {}): NewMessage {
  return draftMessage({ id: randomUUID(), type: 'thing.done', ...about });
}

/** A handler of `thing.done`. */
export function handler(name = 'first', about: Partial<HandlerRegistration> = {}): HandlerRegistration {
  return { name, types: ['thing.done'], isPinned: false, isRepeatable: false, ...about };
}

interface JoinOptions {
  readonly handlers?: readonly HandlerRegistration[];
  readonly generation?: number;
  readonly leaseMs?: number;
}

/** A worker as a relay would keep it, without a relay. */
export class TestWorker<Tx> {
  readonly session: RelaySession<Tx>;
  readonly id: string = randomUUID();
  readonly tokens: Map<number, Token> = new Map();
  readonly #cursors = new Map<number, number>();
  #since: Snapshot | undefined;

  constructor(session: RelaySession<Tx>) {
    this.session = session;
  }

  get units(): readonly number[] {
    return [...this.tokens.keys()].filter((unit) => unit >= 0);
  }

  async acquireAll(): Promise<void> {
    const { free } = await this.session.survey(this.id);
    for (const token of await this.session.acquire(this.id, free)) this.tokens.set(token.unit, token);
  }

  async read(limit = 1_000): Promise<ReadAnswer> {
    const units = this.units.map((unit) => ({ unit, after: this.#cursors.get(unit) ?? 0, limit, skipsBlocked: false }));
    const answer = await this.session.read({ units, since: this.#since, dueLimit: 1_000 });
    this.#since = answer.snapshot;
    for (const { unit, seq } of answer.ready) this.#cursors.set(unit, Math.max(seq, this.#cursors.get(unit) ?? 0));
    return answer;
  }

  target({ unit, seq, state, version, cycle }: Delivery): SettleTarget {
    return { token: this.tokens.get(unit) ?? { unit, epoch: 0 }, seq, state, version, cycle };
  }

  done(delivery: Delivery): CommitTarget & { readonly kind: 'done' } {
    return { ...this.target(delivery), kind: 'done', attempts: 1, durationMs: 1 };
  }
}

type Opens<Tx> = Pick<RelayStore<Tx>, 'openRelay'>;

/** A worker that has joined; closed with the test. */
export async function join<Tx>(store: Opens<Tx>, options: JoinOptions = {}): Promise<TestWorker<Tx>> {
  const session = await store.openRelay();
  onTestFinished(() => session.close());
  const worker = new TestWorker(session);
  await session.register({
    id: worker.id,
    name: 'test',
    service: 'test',
    generation: options.generation,
    handlers: options.handlers ?? [handler()],
    leaseMs: options.leaseMs ?? 60_000,
  });
  return worker;
}

/** A worker that has joined and owns all free units. */
export async function own<Tx>(store: Opens<Tx>, options: JoinOptions = {}): Promise<TestWorker<Tx>> {
  const worker = await join(store, options);
  await worker.acquireAll();
  return worker;
}
