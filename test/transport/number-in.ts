import type { InboundMessage } from '../../src/transport/broker.ts';

/** The number in a message of these tests. */
export function numberIn({ body }: InboundMessage): number {
  return (JSON.parse(Buffer.from(body).toString()) as { n: number }).n;
}
