import type { NewMessage } from '../../src/outbox/outbox-store.ts';
import type { RelaySession } from '../../src/relay/relay-store.ts';
import type { SentMessage } from './ledger-of-sends.ts';
import type { SeededRandom } from './seeded-random.ts';
import { sometime, type Stage } from './stage.ts';

/** What a broker brings in a schedule: some messages, each once or several times, late and out of order. */
export class Arrivals {
  readonly #stage: Stage;
  readonly #random: SeededRandom;
  readonly #session: Pick<RelaySession<never>, 'receive'>;
  #unanswered = 0;

  /** `random` is its own, so that what others do in a schedule is the same without it. */
  constructor(stage: Stage, random: SeededRandom, session: Pick<RelaySession<never>, 'receive'>) {
    this.#stage = stage;
    this.#random = random;
    this.#session = session;
  }

  /** All that has arrived so far is acknowledged. */
  get areAnswered(): boolean {
    return this.#unanswered === 0;
  }

  plan(draft: (about: Partial<NewMessage>) => NewMessage, sent: (message: NewMessage) => SentMessage): void {
    for (let n = this.#random.int(0, 3); n > 0; n--) {
      const message = draft({ deliverAt: undefined });
      let known: SentMessage | undefined;
      for (let times = this.#random.int(1, 3); times > 0; times--) {
        this.#stage.at(sometime({ ...this.#stage, random: this.#random }), () => {
          known ??= sent(message);
          void this.#receive(message, known);
        });
      }
    }
  }

  /** Until there is an answer, as a consumer does: only then may it be acknowledged. */
  async #receive(message: NewMessage, known: SentMessage): Promise<void> {
    const { sends, time, trace } = this.#stage;
    this.#unanswered += 1;
    for (;;) {
      try {
        const [result] = await this.#session.receive([{ ...message, sourceId: 'broker' }], 86_400_000);
        trace(`arrives ${message.id}: ${result?.kind}`);
        this.#unanswered -= 1;
        if (known.committedStep === undefined) sends.committed([known]);
        return;
      } catch {
        await new Promise<void>((resolve) => void time.setTimer(resolve, 20));
      }
    }
  }
}
