import { describe, expect, test } from 'vitest';
import { Hand } from './hand.ts';
import type { JetStreamMessage } from './nats-library.ts';

/** The message with this number in the stream, as the delivery with that number. */
function delivered(streamSequence: number, deliverySequence: number): JetStreamMessage {
  const nothing = (): undefined => undefined;
  return {
    subject: 'order.order.placed',
    data: new Uint8Array(),
    timestampNanos: 1n,
    info: { stream: 'order', streamSequence, deliverySequence },
    ack: nothing,
    ackAck: async () => true,
    nak: nothing,
    working: nothing,
  };
}

const stands = (consumer_seq: number, open: number): Parameters<Hand['begin']>[0] => ({
  delivered: { consumer_seq },
  num_ack_pending: open,
});
const numbers = (messages: readonly JetStreamMessage[]): number[] => messages.map(({ info }) => info.streamSequence);

describe('what a reader of NATS has in its hand', () => {
  test('goes on at once where nobody had left anything, a batch after the other [S0.8]', () => {
    const hand = new Hand();
    hand.begin(stands(7, 0));
    for (const n of [1, 2, 3]) hand.take(delivered(10 + n, 7 + n));
    expect(hand.isCertain).toBe(true);
    expect([numbers(hand.next(2)), numbers(hand.all())]).toEqual([
      [11, 12],
      [11, 12, 13],
    ]);
    hand.settle();
    expect([numbers(hand.next(2)), hand.isWaiting]).toEqual([[13], false]);
  });

  test('waits for all that another had, and then goes on in the order of the stream, however it came [S0.8] [S1.9]', () => {
    const hand = new Hand();
    hand.begin(stands(4, 2));
    // New ones come before those that the other had are given up on.
    hand.take(delivered(15, 5));
    hand.take(delivered(14, 6));
    hand.compare(stands(6, 3), false);
    expect(hand.isCertain).toBe(false);
    hand.take(delivered(13, 7));
    // An answer from before it came tells nothing.
    hand.compare(stands(6, 3), false);
    expect(hand.isCertain).toBe(false);
    hand.compare(stands(7, 3), false);
    expect([hand.isCertain, numbers(hand.next(9))]).toEqual([true, [13, 14, 15]]);
  });

  test('is in doubt again as soon as a delivery went to somebody else [S0.8] [S1.9]', () => {
    const hand = new Hand();
    hand.begin(stands(0, 0));
    hand.take(delivered(1, 1));
    hand.take(delivered(3, 3));
    expect(hand.isCertain).toBe(false);
    hand.take(delivered(2, 4));
    hand.compare(stands(4, 3), false);
    expect([hand.isCertain, numbers(hand.next(9))]).toEqual([true, [1, 2, 3]]);
  });

  test('goes on without what another has acknowledged after all, but only when that can come no more [S0.8]', () => {
    const hand = new Hand();
    hand.begin(stands(2, 2));
    hand.take(delivered(2, 3));
    hand.take(delivered(3, 4));
    hand.compare(stands(4, 1), false);
    expect(hand.isCertain).toBe(false);
    hand.compare(stands(4, 1), true);
    expect(hand.isCertain).toBe(true);
  });

  test('has once what comes again while it waits or is stored [S0.8]', () => {
    const hand = new Hand();
    hand.begin(stands(0, 0));
    for (const n of [1, 2]) hand.take(delivered(n, n));
    hand.next(1);
    for (const n of [1, 2]) hand.take(delivered(n, n + 2));
    expect(numbers(hand.all())).toEqual([1, 2]);
    hand.compare(stands(4, 2), false);
    expect(hand.isCertain).toBe(true);
  });
});
