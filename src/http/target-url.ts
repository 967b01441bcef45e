import { OptionCheck } from '../kernel/check-options.ts';

/** Values for the query string; a list repeats its name, `undefined` leaves it out. */
export type Query = Readonly<Record<string, QueryValue | readonly QueryValue[] | undefined>>;
type QueryValue = string | number | boolean;

/**
 * A path with each value encoded as one piece of it: path`/users/${id}/files/${name}`. Throws `INVALID_OPTIONS` for a value
 * that is empty or missing: `DELETE /users/` is another request than the one that was meant.
 */
export function path(pieces: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  const check = new OptionCheck('path``');
  for (const [i, value] of values.entries()) {
    if ((typeof value === 'string' && value !== '') || Number.isFinite(value)) continue;
    check.refuse(`value ${i + 1}`, value, 'write a number or a string that is not empty');
  }
  check.done();
  return pieces.reduce((text, piece, i) => text + encodeURIComponent(String(values[i - 1])) + piece);
}

/** The base without a slash at its end, or what is wrong with it. */
export function parseBaseUrl(value: unknown): { readonly base: string } | { readonly problem: string } {
  const url = typeof value === 'string' || value instanceof URL ? URL.parse(String(value)) : null;
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    return { problem: "write an absolute http or https URL, for example 'https://billing.internal/api'" };
  }
  if (url.username !== '' || url.password !== '') {
    return { problem: 'leave user and password out of the URL; pass bearer or headers, which are never logged' };
  }
  if (url.search !== '' || url.hash !== '')
    return { problem: 'leave out what follows ? or #; pass query with each request' };
  return { base: url.origin + url.pathname.replace(/\/+$/, '') };
}

/**
 * The address of the path `asked` for under `base`, or what is wrong with it. It never leaves the base, whatever the path holds:
 * `..` in any encoding, another host, a backslash and control characters are refused.
 */
export function targetUrl(
  base: string,
  asked: unknown,
  query?: Query,
): { readonly url: URL } | { readonly problem: string } {
  if (typeof asked !== 'string') return { problem: "write the path as a string, for example '/users'" };
  const problem = problemWith(asked);
  if (problem) return { problem };
  const url = new URL(asked === '' ? base : `${base}/${asked.replace(/^\//, '')}`);
  // The rules above are the promise; this is the proof, whatever the URL parser makes of a path they did not foresee.
  if (url.href !== base && !url.href.startsWith(`${base}/`)) return { problem: 'stay below baseUrl' };
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [value]) url.searchParams.append(name, String(one));
  }
  return { url };
}

/** What errors and logs may show of an address: no query, no fragment, no user. */
export function shownUrl(url: URL): string {
  return url.origin + url.pathname;
}

// A proxy on the way may decode once, the service once more.
const DECODED_AT_MOST = 3;

function problemWith(asked: string): string | undefined {
  if (asked.startsWith('//')) return "begin it with one slash; '//' names another host";
  // Behind a slash a colon is a part of the path, as in '/documents:commit'.
  if (/^(?:[a-z][a-z0-9+.-]*:|\/[a-z][a-z0-9+.-]*:\/\/)/i.test(asked))
    return 'leave out scheme and host, they come from baseUrl; begin a path that holds a colon with a slash';
  if (/[?#]/.test(asked))
    return 'leave out what follows ? or #; use query, or encodeURIComponent for a value that holds one';
  let text = asked;
  for (let round = 0; round <= DECODED_AT_MOST; round++) {
    // The URL parser drops tabs and line ends, so '/.\t./' would be '/../' to it.
    if (/\p{Cc}/u.test(text)) return 'leave out control characters';
    if (text.includes('\\')) return 'use / in place of a backslash';
    if (text.split('/').some((piece) => piece === '.' || piece === '..'))
      return "leave out '.' and '..' pieces; they could leave baseUrl";
    const next = decoded(text);
    if (next === undefined) return round === 0 ? "write '%25' for a percent sign" : undefined;
    if (next === text) return undefined;
    text = next;
  }
  return 'encode it once, not several times over';
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
