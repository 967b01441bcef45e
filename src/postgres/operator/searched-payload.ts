import { DELIVERY_TYPE } from '../../delivery/delivery-request.ts';
import type { PayloadMatch } from '../../operator/operator.ts';

/** Fields of a delivery that its sender can hide, or that hold such. In lower case. */
const HIDEABLE: ReadonlySet<string> = new Set(['headers', 'body', 'bodybase64', 'callback', 'failurecallback']);

/**
 * What a search for a piece of text reads of the payload of a row: nothing of one that carries headers. Those that hold secrets are shown to
 * nobody, and what is found piece by piece is as good as shown.
 */
export function searchedPayload(row: string): string {
  return `case when ${row}.payload::text !~* '"[^"]*headers?":' then ${row}.payload::text end`;
}

/** True when a search for values at these places may meet what the sender of a delivery hid from everybody. */
export function mayMeetHidden(matches: readonly PayloadMatch[] | undefined): boolean {
  return matches?.some(({ path: [first = ''] }) => HIDEABLE.has(first.toLowerCase())) === true;
}

/** Whether the row is a delivery of which its sender hid something. */
export function hiddenBySender(row: string): string {
  return `(${row}.type = '${DELIVERY_TYPE}' and ${row}.payload ? 'hidden')`;
}
