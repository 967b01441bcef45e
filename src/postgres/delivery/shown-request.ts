import {
  DELIVERY_TYPE,
  type DeliveryRequest,
  type HeaderLists,
  type HiddenParts,
} from '../../delivery/delivery-request.ts';
import { sha256 } from '../../system/sha256.ts';

/**
 * The request as people are shown it: instead of what is hidden `REDACTED:` and its SHA-256 in hex, by which two can be told to be the
 * same. What is delivered is not changed.
 */
export function shownRequest(request: DeliveryRequest): DeliveryRequest {
  const { hidden } = request;
  if (hidden === undefined) return request;
  const { body, bodyBase64, callback, failureCallback, ...rest } = request;
  const headersOf = <T extends { readonly headers: HeaderLists }>(part: T): T => ({
    ...part,
    headers: shownHeaders(part.headers, hidden.headers),
  });
  return {
    ...headersOf(rest),
    ...(hidden.body === true ? hiddenBody(body, bodyBase64) : { body, bodyBase64 }),
    callback: callback && headersOf(callback),
    failureCallback: failureCallback && headersOf(failureCallback),
  };
}

/** The payload of a message of that type as people are shown it. */
export function shownPayload(type: string, payload: unknown): unknown {
  return type === DELIVERY_TYPE ? shownRequest(payload as DeliveryRequest) : payload;
}

/**
 * What somebody made of a request that was shown, with what was hidden from him put back where he left it as it was: an edited message
 * does not deliver hashes.
 */
export function restoredRequest(given: unknown, kept: DeliveryRequest): unknown {
  if (typeof given !== 'object' || given === null || kept.hidden === undefined) return given;
  const shown = shownRequest(kept);
  const put = (value: unknown, seen: unknown, was: unknown): unknown => {
    if (value === seen) return was;
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value))
      return value.map((item, at) => put(item, fieldOf(seen, String(at)), fieldOf(was, String(at))));
    const entries = Object.entries(value).map(([name, item]) => [
      name,
      put(item, fieldOf(seen, name), fieldOf(was, name)),
    ]);
    return Object.fromEntries(entries) as unknown;
  };
  const { body, bodyBase64, ...rest } = given as DeliveryRequest;
  const isBodyLeft = kept.hidden.body === true && body === shown.body;
  const own = isBodyLeft ? { body: kept.body, bodyBase64: kept.bodyBase64 } : { body, bodyBase64 };
  return { ...(put(rest, shown, kept) as object), ...own };
}

function fieldOf(from: unknown, name: string): unknown {
  return (from as Record<string, unknown> | undefined)?.[name];
}

function hiddenBody(body: string | undefined, bodyBase64: string | undefined): { readonly body?: string } {
  if (bodyBase64 !== undefined) return { body: redacted(bytesOf(bodyBase64)) };
  return body === undefined ? {} : { body: redacted(body) };
}

function shownHeaders(headers: HeaderLists, hidden: HiddenParts['headers']): HeaderLists {
  const isHidden = (name: string): boolean => hidden === true || hidden?.includes(name.toLowerCase()) === true;
  return Object.fromEntries(
    Object.entries(headers).map(([name, values]) => [name, isHidden(name) ? values.map(redacted) : values]),
  );
}

function redacted(data: string | Uint8Array): string {
  const hash = bytesOf(sha256(data).replaceAll('-', '+').replaceAll('_', '/'));
  return `REDACTED:${Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/** What is written in base64. */
export function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}
