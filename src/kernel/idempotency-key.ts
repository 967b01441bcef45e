import { HoldfastError } from './error.ts';

declare const brand: unique symbol;

/**
 * A checked key of the form `<domain>:<userId>:<entityId>:<operation>:<version>`. Only `idempotencyKey` and
 * `parseIdempotencyKey` make one. At most 255 visible ASCII characters, so it may stand in an HTTP header as it is.
 */
export type IdempotencyKey = string & { readonly [brand]: 'IdempotencyKey' };

/** The five parts of a key. Only `operation` may hold `:` (`module:resume`); the version is free text (`v1`, `session_abc`). */
export interface IdempotencyKeyParts {
  readonly domain: string;
  readonly userId: string;
  readonly entityId: string;
  readonly operation: string;
  readonly version: string;
}

const MAX_LENGTH = 255;
const PARTS = ['domain', 'userId', 'entityId', 'operation', 'version'] as const;

/**
 * The key of one command: equal parts always give the same key, and `parseIdempotencyKey` gives the parts back.
 * Throws `BAD_IDEMPOTENCY_KEY`, naming the part, when one is empty, holds a space or anything but visible ASCII, or
 * holds a `:` where only the operation may, and when the whole is longer than 255 characters.
 */
export function idempotencyKey(parts: IdempotencyKeyParts): IdempotencyKey {
  for (const name of PARTS) checkPart(name, parts[name]);
  const key = PARTS.map((name) => parts[name]).join(':');
  checkLength(key);
  return key as IdempotencyKey;
}

/**
 * The parts of a key: the first three and the last are fixed, what stands between them is the operation. Throws
 * `BAD_IDEMPOTENCY_KEY` for any text that `idempotencyKey` could not have made.
 */
export function parseIdempotencyKey(text: string): IdempotencyKeyParts {
  if (typeof text !== 'string') throw bad('the idempotency key is not a string');
  checkLength(text);
  const segments = text.split(':');
  if (segments.length < PARTS.length) {
    throw bad(`the idempotency key has ${segments.length} of at least ${PARTS.length} parts`);
  }
  const [domain = '', userId = '', entityId = ''] = segments;
  const parts = {
    domain,
    userId,
    entityId,
    operation: segments.slice(3, -1).join(':'),
    version: segments.at(-1) ?? '',
  };
  for (const name of PARTS) checkPart(name, parts[name]);
  return parts;
}

function checkPart(name: (typeof PARTS)[number], value: unknown): void {
  if (typeof value !== 'string') throw bad(`the part ${name} is not a string`);
  if (value === '') throw bad(`the part ${name} is empty`);
  const at = value.search(/[^\x21-\x7e]/);
  if (at >= 0) {
    throw bad(`the part ${name} has a space or a character that is not visible ASCII at position ${at}`);
  }
  if (name !== 'operation') {
    if (value.includes(':')) throw bad(`the part ${name} holds ":", which only the operation may`);
  } else if (value.split(':').includes('')) {
    throw bad('the part operation has an empty piece beside a ":"');
  }
}

function checkLength(key: string): void {
  if (key.length > MAX_LENGTH) {
    throw bad(`the idempotency key has ${key.length} characters and ${MAX_LENGTH} is the most`);
  }
}

function bad(problem: string): HoldfastError<'BAD_IDEMPOTENCY_KEY'> {
  return new HoldfastError('BAD_IDEMPOTENCY_KEY', { problem });
}
