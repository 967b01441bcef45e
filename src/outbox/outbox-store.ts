import type { Envelope } from './envelope.ts';

/** A message as a sender hands it to a store: complete, checked, not yet written. */
export interface NewMessage extends Envelope {
  readonly id: string;
  readonly type: string;
  /** What it is taken as, where that is not its type: by whom it is published, or for whom it was received. */
  readonly takenAs: string | undefined;
  readonly key: string | undefined;
  /** JSON text. */
  readonly payload: string;
  /** Given by the sender: a second message with it is not stored. Without one the id serves, and nothing is compared. */
  readonly idempotencyKey: string | undefined;
  readonly deliverAt: Date | undefined;
  /** Senders of the same key queue behind each other until they commit. */
  readonly strict: boolean;
  /** False: its transaction wakes no worker. */
  readonly wake?: boolean | undefined;
}

/** A message that came from elsewhere. Its id tells whether it came before. */
export interface ForeignMessage extends NewMessage {
  /** Where it was found: `kafka:topic@partition@offset`, `amqp:exchange@routingKey@id`. The first place is kept. */
  readonly sourceId: string;
}

/** What became of one message: stored with the transaction, or known already under its idempotency key. */
export type SendResult =
  | { readonly kind: 'stored'; readonly id: string }
  | { readonly kind: 'duplicate'; readonly id: string };

/** Where messages are written in the caller's own transaction. One for each database; `Tx` is what its clients call one. */
export interface OutboxStore<Tx> {
  /** Writes all messages, or none when it throws. The answers are in the order of the messages. */
  append(tx: Tx, messages: readonly NewMessage[]): Promise<readonly SendResult[]>;
}
