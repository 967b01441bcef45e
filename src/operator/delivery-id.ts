import type { BadId } from './operator-outcomes.ts';

/** A message, or one delivery of it. */
export interface DeliveryId {
  readonly messageId: string;
  /** The number of the handler; absent: the whole message. */
  readonly handler: number | undefined;
}

const FORM = /^([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(?::(\d{1,5}))?$/i;
const LARGEST_HANDLER = 32_767;

/** Reads a message id (`0198…-…`) or a dead letter's id (`0198…-…:3`). */
export function parseDeliveryId(text: string): DeliveryId | BadId {
  const match = FORM.exec(typeof text === 'string' ? text.trim() : '');
  const [, messageId, digits] = match ?? [];
  const handler = digits === undefined ? undefined : Number(digits);
  if (messageId === undefined || (handler ?? 0) > LARGEST_HANDLER) {
    return {
      kind: 'bad-id',
      problem: 'an id is 36 characters, 8-4-4-4-12 hexadecimal digits; a dead letter has ":" and a number behind it',
    };
  }
  return { messageId: messageId.toLowerCase(), handler };
}

/** True for what `parseDeliveryId` could not read. */
export function isBadId(id: DeliveryId | BadId): id is BadId {
  return 'kind' in id;
}
