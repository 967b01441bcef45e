import type { ConsumerState, JetStreamMessage } from './nats-library.ts';

/**
 * Messages that have arrived and are not acknowledged. The server hands over in order only what nobody has had before; what a reader
 * before this one left comes again when its time is over, between newer ones. So nothing goes on before it is certain that all that is
 * not acknowledged is here; then it goes on in its order.
 *
 * Certain: at the beginning, when nothing is open; later, as long as the server counts its deliveries without a gap, because then all of
 * them came here; and otherwise when the server says that as many are open as are here, and that it has handed over nothing since.
 */
export class Hand {
  readonly #arrived = new Map<number, JetStreamMessage>();
  #storing: readonly JetStreamMessage[] = [];
  #bytes = 0;
  #delivery = 0;
  #isCertain = false;

  get isCertain(): boolean {
    return this.#isCertain;
  }

  get isWaiting(): boolean {
    return this.#arrived.size > 0;
  }

  get count(): number {
    return this.#arrived.size + this.#storing.length;
  }

  /** What they hold, without their headers. */
  get bytes(): number {
    return this.#bytes;
  }

  /** A reader begins, where the server says that the consumer stands. */
  begin({ delivered, num_ack_pending: open }: Pick<ConsumerState, 'delivered' | 'num_ack_pending'>): void {
    this.clear();
    this.#delivery = delivered.consumer_seq;
    this.#isCertain = open === 0;
  }

  take(message: JetStreamMessage): void {
    const { deliverySequence, streamSequence } = message.info;
    if (deliverySequence !== this.#delivery + 1) this.#isCertain = false;
    this.#delivery = deliverySequence;
    // One that comes again while it is stored, because a sign of life was late, is acknowledged when that is done.
    if (this.#storing.some(({ info }) => info.streamSequence === streamSequence)) return;
    this.#bytes += message.data.length - (this.#arrived.get(streamSequence)?.data.length ?? 0);
    this.#arrived.set(streamSequence, message);
  }

  /**
   * Compares with what the server says. `isLate`: whatever others had in their hands has come again by now; what is missing was
   * acknowledged by them after all.
   */
  compare(
    { delivered, num_ack_pending: open }: Pick<ConsumerState, 'delivered' | 'num_ack_pending'>,
    isLate: boolean,
  ): void {
    if (delivered.consumer_seq !== this.#delivery) return;
    const here = this.count;
    if (open === here || (isLate && open < here)) this.#isCertain = true;
  }

  /** The first of those that wait, in their order: they are being stored from now on. */
  next(count: number): readonly JetStreamMessage[] {
    const numbers = [...this.#arrived.keys()].sort((a, b) => a - b).slice(0, count);
    this.#storing = numbers.map((seq) => this.#arrived.get(seq) as JetStreamMessage);
    for (const seq of numbers) this.#arrived.delete(seq);
    return this.#storing;
  }

  /** What was being stored is acknowledged. */
  settle(): void {
    for (const { data } of this.#storing) this.#bytes -= data.length;
    this.#storing = [];
  }

  /** All of them, in their order. */
  all(): readonly JetStreamMessage[] {
    return [...this.#storing, ...this.#arrived.values()].sort((a, b) => a.info.streamSequence - b.info.streamSequence);
  }

  clear(): void {
    this.#arrived.clear();
    this.#storing = [];
    this.#bytes = 0;
  }
}
