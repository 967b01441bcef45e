/** What the simulation knows about a message it sent. */
export interface SentMessage {
  readonly id: string;
  readonly type: string;
  readonly key: string | undefined;
  readonly isScheduled: boolean;
  /** Sent by a handler in its own transaction: when that was committed is not known to the step. */
  readonly isFollowUp: boolean;
  /** Its handlers were known when it was sent. */
  readonly hasOrder: boolean;
  readonly sentStep: number;
  committedStep: number | undefined;
}

/** Every message that was sent, and in which order sends and commits happened. */
export class LedgerOfSends {
  readonly messages: Map<string, SentMessage> = new Map();
  #step = 0;

  sent(about: Pick<SentMessage, 'id' | 'type' | 'key' | 'isScheduled' | 'isFollowUp' | 'hasOrder'>): SentMessage {
    const message = { ...about, sentStep: ++this.#step, committedStep: undefined };
    this.messages.set(message.id, message);
    return message;
  }

  committed(messages: readonly SentMessage[]): void {
    const step = ++this.#step;
    for (const message of messages) message.committedStep = step;
  }
}
