import {
  DELIVERY_TYPE,
  type DeliveryRequest,
  type HeaderLists,
  type HiddenParts,
  REDACTED_BY_SENDER,
} from '../../delivery/delivery-request.ts';
import { MOVED_ADVICE, movedBy } from '../../delivery/moved-delivery.ts';
import { OptionCheck } from '../../kernel/check-options.ts';
import { restoreHidden, timesIn } from '../../operator/restore-hidden.ts';

type Parts = Pick<DeliveryRequest, 'headers' | 'body' | 'bodyBase64' | 'callback' | 'failureCallback' | 'hidden'>;

/**
 * A request, or what a schedule publishes, as everybody is shown it: what its sender hid is replaced by a text that says nothing of it, not
 * even whether two are the same. What is delivered is not changed.
 */
export function shownRequest<T extends Parts>(request: T): T {
  const { hidden } = request;
  if (hidden === undefined) return request;
  const { body, bodyBase64, callback, failureCallback, ...rest } = request;
  const headersOf = <P extends { readonly headers: HeaderLists }>(part: P): P => ({
    ...part,
    headers: shownHeaders(part.headers, hidden.headers),
  });
  const isBodyHidden = hidden.body === true && (body ?? bodyBase64) !== undefined;
  return {
    ...headersOf(rest),
    ...(isBodyHidden ? { body: REDACTED_BY_SENDER } : { body, bodyBase64 }),
    callback: callback && headersOf(callback),
    failureCallback: failureCallback && headersOf(failureCallback),
  } as T;
}

/** The payload of a message of that type as people are shown it. */
export function shownPayload(type: string, payload: unknown): unknown {
  return type === DELIVERY_TYPE ? shownRequest(payload as DeliveryRequest) : payload;
}

/**
 * What somebody made of a request that was shown, with what its sender hid put back where it was left as it was. Refused with
 * `INVALID_OPTIONS` where it cannot be told which value is meant, or where what stays hidden would go elsewhere, or be shown from now on.
 */
export function restoredRequest(given: unknown, kept: DeliveryRequest): unknown {
  if (typeof given !== 'object' || given === null || kept.hidden === undefined) return given;
  const { value, kept: count } = restoreHidden(given, shownRequest(kept), withBody(kept));
  const check = new OptionCheck('edit()');
  if (timesIn(value, REDACTED_BY_SENDER) > timesIn(kept, REDACTED_BY_SENDER)) {
    const write = `leave what is hidden where it was, or write a value in the place of ${REDACTED_BY_SENDER}`;
    check.refuseName('payload', REDACTED_BY_SENDER, write);
  }
  const moved = count === 0 ? undefined : movedBy(kept, value);
  if (moved !== undefined) check.add({ option: `payload.${moved}`, found: 'not what it was', write: MOVED_ADVICE });
  check.done();
  return withOwnBody(value as Readonly<Record<string, unknown>>, kept);
}

/** With something to put back in the place of a body that is kept in base64. */
function withBody(request: DeliveryRequest): DeliveryRequest {
  return { ...request, body: request.body ?? request.bodyBase64 };
}

function withOwnBody(value: Readonly<Record<string, unknown>>, kept: DeliveryRequest): unknown {
  if (kept.bodyBase64 === undefined || kept.hidden?.body !== true || value['body'] !== kept.bodyBase64) return value;
  const { body: _, ...rest } = value;
  return { ...rest, bodyBase64: kept.bodyBase64 };
}

function shownHeaders(headers: HeaderLists, hidden: HiddenParts['headers']): HeaderLists {
  const isHidden = (name: string): boolean => hidden === true || hidden?.includes(name.toLowerCase()) === true;
  return Object.fromEntries(
    Object.entries(headers).map(([name, values]) => [
      name,
      isHidden(name) ? values.map(() => REDACTED_BY_SENDER) : values,
    ]),
  );
}

/** What is written in base64. */
export function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}
