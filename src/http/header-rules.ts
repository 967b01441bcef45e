import type { OptionCheck } from '../kernel/check-options.ts';

/** Header names and their values as callers write them. */
export type HeaderRecord = Readonly<Record<string, string>>;

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// No CR, LF, NUL or other control character: any of them could start a header line of its own.
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const ONE_WORD = /^[\x21-\x7e]{1,255}$/;

/** What the connection itself decides; a caller who sets one of these breaks the message, not the service. */
const OF_THE_CONNECTION = [
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

/** True for a name that may stand in front of a header's colon. */
export function isHeaderName(value: unknown): value is string {
  return typeof value === 'string' && NAME.test(value);
}

/** True for text that stays one header value on the wire: nothing in it can begin another line. */
export function isHeaderValue(value: unknown): value is string {
  return typeof value === 'string' && VALUE.test(value) && value === value.trim();
}

/** True for 1 to 255 visible ASCII characters: what an id in a header may be made of. */
export function isHeaderWord(value: unknown): value is string {
  return typeof value === 'string' && ONE_WORD.test(value);
}

/** Refuses names and values that cannot stand in a header, and names that `taken` says have an option of their own. */
export function checkHeaders(check: OptionCheck, headers: unknown, taken: Readonly<Record<string, string>>): void {
  if (headers === undefined) return;
  if (typeof headers !== 'object' || headers === null || headers instanceof Headers || Array.isArray(headers)) {
    check.refuse('headers', headers, "write a plain object, for example { accept: 'application/json' }");
    return;
  }
  for (const [name, value] of Object.entries(headers)) {
    // The name is not repeated when it is no name: whoever mixes the two up has written a secret there.
    if (!isHeaderName(name)) {
      check.refuse('headers', headers, 'use header names of letters, digits and hyphens');
      continue;
    }
    const option = `headers[${JSON.stringify(name.slice(0, 60))}]`;
    const lower = name.toLowerCase();
    if (OF_THE_CONNECTION.includes(lower)) check.refuse(option, value, 'leave it out, the connection sets it');
    else if (Object.hasOwn(taken, lower)) check.refuse(option, value, taken[lower] ?? '');
    else if (!isHeaderValue(value))
      check.refuse(option, value, 'write one line of text without control characters or outer spaces');
  }
}
