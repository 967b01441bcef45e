import type { DeliveryEvent } from '../delivery/delivery-log.ts';

/** A line of the log with its body as text where it is UTF-8, in base64 where it is not. */
export interface ShownEvent extends Omit<DeliveryEvent, 'responseBody'> {
  readonly responseBody?: string | undefined;
  readonly responseBodyBase64?: string | undefined;
}

/** A line of the log as JSON can hold it. */
export function shownEvent({ responseBody, ...event }: DeliveryEvent): ShownEvent {
  if (responseBody === undefined) return event;
  const text = textOf(responseBody);
  return text === undefined
    ? { ...event, responseBodyBase64: Buffer.from(responseBody).toString('base64') }
    : { ...event, responseBody: text };
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}
