import type { OptionCheck } from '../kernel/check-options.ts';
import type { HttpRequest, RequestBody } from './request-options.ts';

/** What is sent as the body of a request, the same on all attempts. Refuses what cannot be sent as it is meant. */
export function bodyOf(check: OptionCheck, request: HttpRequest, method: string): RequestBody | undefined {
  const { json, body } = request;
  if (json !== undefined && body !== undefined) check.refuse('body', body, 'write either json or body');
  else if (body !== undefined && !isSendable(body)) check.refuse('body', body, SENDABLE);
  if ((json !== undefined || body !== undefined) && (method === 'GET' || method === 'HEAD')) {
    check.refuse('method', method, 'leave json and body out, or use another method; use query for parameters');
  }
  if (json === undefined) return body;
  try {
    // Once, before the first attempt: all attempts send the same bytes, also when the caller changes the object meanwhile.
    const text = JSON.stringify(json) as string | undefined;
    if (text !== undefined) return text;
  } catch {
    // Cyclic, or a BigInt in it: said below. The serializer's own message may quote the value.
  }
  check.refuse('json', json, 'write a value that JSON can hold');
  return undefined;
}

/** True for a body that is gone once it was sent. */
export function isOneShot(body: unknown): boolean {
  return body instanceof ReadableStream || isAsyncIterable(body);
}

const SENDABLE =
  'write json: … to send a value as JSON; body takes a string, bytes, a Blob, FormData, URLSearchParams or a ReadableStream';

// By tag, not by class: a fetch that the caller passes may bring its own FormData and Blob.
const SENDABLE_TAGS = [
  'ArrayBuffer',
  'Blob',
  'File',
  'FormData',
  'ReadableStream',
  'SharedArrayBuffer',
  'URLSearchParams',
];

/** fetch makes text of anything else and sends that: "[object Object]" for an object, "1,2" for a list. */
function isSendable(body: unknown): boolean {
  if (typeof body === 'string') return true;
  if (typeof body !== 'object' || body === null) return false;
  return (
    ArrayBuffer.isView(body) ||
    isAsyncIterable(body) ||
    SENDABLE_TAGS.includes(Object.prototype.toString.call(body).slice('[object '.length, -1))
  );
}

/** Node's fetch sends these too, a `Readable` for example. */
function isAsyncIterable(body: unknown): boolean {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body;
}
