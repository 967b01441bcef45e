import type { NewMessage } from '../../src/outbox/outbox-store.ts';
import { draftMessage } from '../../src/testing/draft-message.ts';
import type { MemoryTransaction } from '../../src/testing/index.ts';
import type { Arrivals } from './arrivals.ts';
import { firstPayload, NOTED, PAID, PLACED } from './handlers.ts';
import type { SentMessage } from './ledger-of-sends.ts';
import { seededId } from './seeded-id.ts';
import { GENERATIONS, sometime, type Stage } from './stage.ts';

interface Plan {
  readonly beginMs: number;
  readonly sendMs: number;
  readonly endMs: number;
  readonly isKept: boolean;
  readonly messages: readonly NewMessage[];
}

/** Who sends in a schedule: in transactions that are short or long, overlap, cross, and are rolled back. */
export class Senders {
  readonly #stage: Stage;
  #drafts = 0;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  plan(): void {
    const { random, temper } = this.#stage;
    for (let n = random.int(0, 3); n > 0; n--) this.#planCrossing();
    for (let n = temper.bursts; n > 0; n--) this.#planBurst();
    for (let left = temper.messages; left > 0;) {
      const count = Math.min(left, random.pick([1, 1, 1, 2, 3]));
      left -= count;
      const isSlow = random.chance(0.3);
      const beginMs = sometime(this.#stage);
      const sendMs = beginMs + (random.chance(0.5) ? 0 : random.int(0, isSlow ? 200 : 5));
      const endMs = sendMs + (random.chance(0.3) ? 0 : random.int(0, isSlow ? 800 : 10));
      const isKept = !random.chance(0.1);
      this.#planSend({ beginMs, sendMs, endMs, isKept, messages: Array.from({ length: count }, () => this.#draft()) });
    }
  }

  /** Sends around the moment in which a worker may make its handlers known: one that is slow, one that is quick, one that follows. */
  planAround(atMs: number): void {
    const { random } = this.#stage;
    const about = { key: random.pick(['a', 'b', 'c']), deliverAt: undefined, ...this.#generation() };
    const send = (beginMs: number, endMs: number): void => {
      const [from, to] = [Math.max(0, atMs + beginMs), Math.max(0, atMs + endMs)];
      this.#planSend({ beginMs: from, sendMs: from, endMs: to, isKept: true, messages: [this.#draft(about)] });
    };
    send(-random.int(1, 20), random.int(20, 300));
    send(-random.int(1, 5), random.int(0, 10));
    const later = random.int(10, 30);
    send(later, later);
  }

  /** What a broker brings, as others have sent it. */
  planArrivals(arrivals: Arrivals): void {
    arrivals.plan(
      (about) => this.#draft(about),
      (message) => this.#sent(message, false),
    );
  }

  /** A further message in the transaction of a handler. */
  async sendOn(tx: MemoryTransaction, from: Pick<NewMessage, 'key' | 'generation'>): Promise<void> {
    const { key, generation } = from;
    const message = this.#draft({ type: NOTED, key, generation, deliverAt: undefined });
    const sent = this.#sent(message, true);
    tx.onCommit(() => this.#stage.sends.committed([sent]));
    await this.#stage.store.append(tx, [message]);
  }

  /** The older transaction takes its place in line after the newer one, and is committed before it. */
  #planCrossing(): void {
    const { random } = this.#stage;
    const at = sometime(this.#stage);
    const key = random.pick(['a', 'b', 'c']);
    const draft = (): NewMessage[] => [this.#draft({ key, deliverAt: undefined })];
    const lateMs = random.int(4, 100);
    const older = { beginMs: at, sendMs: at + 2, endMs: at + 3 };
    const newer = { beginMs: at + 1, sendMs: at + 1, endMs: at + lateMs };
    this.#planSend({ ...older, isKept: true, messages: draft() }, true);
    this.#planSend({ ...newer, isKept: true, messages: draft() });
  }

  /** Many of one key: in one transaction, or each in its own, one right after the other. */
  #planBurst(): void {
    const { random } = this.#stage;
    const about = { key: random.pick(['a', 'b', 'c']), deliverAt: undefined, ...this.#generation() };
    const everyMs = random.pick([0, 2, 10]);
    const count = random.int(10, 30);
    let atMs = sometime(this.#stage);
    for (let left = count; left > 0; atMs += everyMs) {
      const size = everyMs === 0 ? left : 1;
      left -= size;
      const messages = Array.from({ length: size }, () => this.#draft(about));
      this.#planSend({ beginMs: atMs, sendMs: atMs, endMs: atMs, isKept: true, messages });
    }
  }

  #planSend(plan: Plan, idNow = this.#stage.random.chance(0.5)): void {
    const { store, sends, at, trace } = this.#stage;
    at(plan.beginMs, () => {
      const tx = store.begin({ idNow });
      const sent: SentMessage[] = [];
      at(plan.sendMs - plan.beginMs, () => {
        for (const message of plan.messages) sent.push(this.#sent(message, false));
        void store.append(tx, plan.messages);
        at(plan.endMs - plan.sendMs, () => {
          trace(`tx ${tx.id} ${plan.isKept ? 'commits' : 'rolls back'} ${sent.map(({ id }) => id).join(' ')}`);
          if (!plan.isKept) return tx.rollback();
          tx.commit();
          sends.committed(sent);
        });
      });
    });
  }

  #draft(about: Partial<NewMessage> = {}): NewMessage {
    const { random, time } = this.#stage;
    const isScheduled = random.chance(0.08);
    const deliverAt = isScheduled ? new Date(time.now().wallMs + random.int(0, 6_000)) : undefined;
    const key = random.chance(0.1) ? undefined : random.pick(['a', 'b', 'c']);
    const type = random.pick([PLACED, PLACED, PAID]);
    const id = seededId(random, (this.#drafts += 1));
    return draftMessage({ id, type, key, deliverAt, payload: firstPayload(id), ...this.#generation(), ...about });
  }

  #generation(): Pick<NewMessage, 'generation'> {
    const { random, temper } = this.#stage;
    return { generation: temper.isPinned ? random.pick(GENERATIONS) : undefined };
  }

  #sent(message: NewMessage, isFollowUp: boolean): SentMessage {
    const { id, type, key, generation, deliverAt } = message;
    const isScheduled = deliverAt !== undefined;
    this.#stage.trace(`sends ${type} ${id} key ${key} generation ${generation}${isScheduled ? ' scheduled' : ''}`);
    return this.#stage.sends.sent({ id, type, key, generation, isFollowUp, isScheduled });
  }
}
