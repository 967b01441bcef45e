/** What the simulation knows about a message it sent. */
export interface SentMessage {
  readonly id: string;
  readonly type: string;
  readonly key: string | undefined;
  readonly generation: number | undefined;
  readonly isScheduled: boolean;
  /** Sent by a handler in its own transaction: when that was committed is not known to the step. */
  readonly isFollowUp: boolean;
  readonly sentStep: number;
  committedStep: number | undefined;
}

/** Every message that was sent, in which order sends and commits happened, and what operators asked for. */
export class LedgerOfSends {
  readonly messages: Map<string, SentMessage> = new Map();
  /** How often a handler was run again on purpose, by `handler/id`. */
  readonly reruns: Map<string, number> = new Map();
  /** Into which generations a delivery was replayed, by `handler/id`. */
  readonly moves: Map<string, readonly number[]> = new Map();
  /** Dead letters whose key was unblocked without them, by `handler/id`: they run after what came behind them. */
  readonly passed: Set<string> = new Set();
  #step = 0;

  sent(about: Omit<SentMessage, 'sentStep' | 'committedStep'>): SentMessage {
    const message = { ...about, sentStep: ++this.#step, committedStep: undefined };
    this.messages.set(message.id, message);
    return message;
  }

  committed(messages: readonly SentMessage[]): void {
    const step = ++this.#step;
    for (const message of messages) message.committedStep = step;
  }

  rerun(handler: string, id: string): void {
    const name = `${handler}/${id}`;
    this.reruns.set(name, (this.reruns.get(name) ?? 0) + 1);
  }

  moved(handler: string, id: string, generation: number): void {
    const name = `${handler}/${id}`;
    this.moves.set(name, [...(this.moves.get(name) ?? []), generation]);
  }
}
