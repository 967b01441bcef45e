/** What the header says. */
export type KeyHeader =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'invalid'; readonly problem: string };

/** The longest key, in characters. */
const MAX_KEY_LENGTH = 255;

// RFC 8941: a string in quotes, in which only the quote and the backslash are escaped.
const QUOTED = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;
// What clients write without quotes. A comma or semicolon would begin a list or a parameter.
const BARE = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]+$/;

/**
 * Reads `Idempotency-Key` as the IETF draft has it (a quoted string) and as most clients write it (bare). Both ways to write a key
 * are the same key. `lines` are the header's lines as they came; two of them are refused, because proxies differ in which counts.
 */
export function readKeyHeader(lines: readonly string[]): KeyHeader {
  if (lines.length > 1) return invalid('it was sent more than once');
  const text = lines[0]?.trim() ?? '';
  if (text === '') return lines.length === 0 ? { kind: 'missing' } : invalid('it is empty');
  const key = BARE.test(text) ? text : QUOTED.exec(text)?.[1]?.replaceAll(/\\(["\\])/g, '$1');
  if (key === undefined) return invalid('it is neither a quoted string nor a plain word of visible ASCII');
  if (key === '') return invalid('it is empty');
  if (key.length > MAX_KEY_LENGTH) return invalid(`it is longer than ${MAX_KEY_LENGTH} characters`);
  return { kind: 'key', key };
}

function invalid(problem: string): KeyHeader {
  return { kind: 'invalid', problem };
}
