/** What the header says. */
export type KeyHeader =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'invalid'; readonly problem: string };

/** What a key must look like: a random UUID, or what fits a pattern. */
export type KeyFormat = 'uuid-v4' | RegExp;

/** The longest key, in characters. */
const MAX_KEY_LENGTH = 255;

// RFC 8941: a string in quotes, in which only the quote and the backslash are escaped.
const QUOTED = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;
// What clients write without quotes. A comma or semicolon would begin a list or a parameter.
const BARE = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]+$/;

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

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

/** Returns what the key should have been, where it is not in that format. `of` is what requires it: a route, or a server. */
export function missedFormat(key: string, format: KeyFormat | undefined, of: string): string | undefined {
  if (format === undefined) return undefined;
  if (format === 'uuid-v4') return UUID_V4.test(key) ? undefined : 'a random UUID (version 4)';
  // A `g` or `y` flag keeps a position between calls, so every second test of a valid key would fail.
  const pattern = new RegExp(format.source, format.flags.replaceAll(/[gy]/g, ''));
  return pattern.test(key) ? undefined : `in the form this ${of} asks for`;
}

function invalid(problem: string): KeyHeader {
  return { kind: 'invalid', problem };
}
