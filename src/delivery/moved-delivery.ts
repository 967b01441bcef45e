import type { DeliveryRequest } from './delivery-request.ts';

/** What says where a delivery and what it holds goes, and what of it is hidden. */
const PLACES: readonly (readonly string[])[] = [
  ['url'],
  ['callback', 'url'],
  ['failureCallback', 'url'],
  ['signedBy'],
  ['endpointId'],
  ['hidden'],
];

/**
 * The field by which an edit would send elsewhere what is hidden in a delivery, or show it: callbacks carry the headers and the body of what
 * they are about. Nothing: it stays where it is.
 */
export function movedBy(before: Partial<DeliveryRequest>, after: unknown): string | undefined {
  const place = PLACES.find((path) => text(at(before, path)) !== text(at(after, path)));
  return place?.join('.');
}

/** What to do instead, after "payload.url is changed while …". */
export const MOVED_ADVICE =
  'leave it as it is, or write new values in the place of all that is hidden, or take those out: what is hidden goes nowhere else';

function at(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (of, name) => (typeof of === 'object' && of !== null ? (of as Readonly<Record<string, unknown>>)[name] : undefined),
    value,
  );
}

function text(value: unknown): string {
  return JSON.stringify(value) ?? '';
}
