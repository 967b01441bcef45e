import type { PublishTarget } from '../delivery/publishing.ts';
import { badRequest, GUIDE } from './refusal.ts';

/** Where a message goes, and the settings that stood in the query. */
export interface RawDestination {
  readonly text: string;
  readonly settings: ReadonlyMap<string, string>;
}

const MOST_CHARACTERS = 8_000;
/** Names of URL groups, queues and schedules. */
export const GOOD_NAME: RegExp = /^[A-Za-z0-9._-]{1,200}$/;

/**
 * Everything after `/v2/publish/`, with its query. With the token in a header the whole query is the destination's: an address that
 * somebody else chose must not set anything here. With the token in the query, `qstash_token` and `upstash-…` are taken out.
 */
export function rawDestination(rest: string, query: string | undefined, isTokenInQuery: boolean): RawDestination {
  if (query === undefined) return { text: rest, settings: new Map() };
  if (!isTokenInQuery) return { text: `${rest}?${query}`, settings: new Map() };
  const settings = new Map<string, string>();
  const kept: string[] = [];
  for (const pair of query.split('&')) {
    const [name, value] = decodedPair(pair);
    if (name.startsWith('upstash-')) settings.set(name, value);
    else if (name !== 'qstash_token') kept.push(pair);
  }
  return { text: kept.length === 0 ? rest : `${rest}?${kept.join('&')}`, settings };
}

function decodedPair(pair: string): readonly [name: string, value: string] {
  const [first] = new URLSearchParams(pair);
  return first === undefined ? ['', ''] : [first[0].toLowerCase(), first[1]];
}

/** An address or the name of a URL group. Addresses stay as they were written: receivers compare them as text. */
export function readDestination(text: string): PublishTarget {
  if (/^https?:\/\//i.test(text)) return { kind: 'url', url: readAddress(text) };
  if (/^https?:\/[^/]/i.test(text)) {
    throw badRequest(
      'invalid destination url: only one slash after the scheme; a proxy in front of this server seems to merge slashes',
    );
  }
  if (/^api(?:\/|$)/.test(text)) throw badRequest(`destinations api/… are not supported here; see ${GUIDE}`);
  if (GOOD_NAME.test(text) && !/^\.+$/.test(text)) return { kind: 'group', name: text };
  throw badRequest('invalid destination url: endpoint has invalid scheme, add http:// or https://');
}

/** An absolute http or https address, as it was written but for its fragment. */
export function readAddress(text: string, what = 'invalid destination url'): string {
  if (text.length > MOST_CHARACTERS) throw badRequest(`${what}: it has more than ${MOST_CHARACTERS} characters`);
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw badRequest(`${what}: it is no absolute http:// or https:// address`);
  }
  if (url.username !== '' || url.password !== '') {
    throw badRequest(`${what}: it holds a user or a password; forward an Authorization header instead`);
  }
  // Parsers drop what nobody can see; what is signed must be what is called.
  if (/[\s\p{Cc}]/u.test(text)) throw badRequest(`${what}: it holds a space or a control character; write it as %20`);
  // Nobody is sent a fragment, so nobody could compare one.
  return text.replace(/#.*$/s, '');
}
