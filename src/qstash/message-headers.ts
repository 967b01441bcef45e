import type { HeaderLists } from '../delivery/delivery-request.ts';
import { canonicalName } from '../delivery/header-lists.ts';
import { badRequest } from './refusal.ts';

/** Headers by their names in lower case. */
export type HeaderMap = ReadonlyMap<string, string>;

// Of one connection, or made anew by the server: they say nothing about the message.
const NEVER_FORWARDED = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  // What the server itself says to a destination.
  'upstash-caller-ip',
  'upstash-message-id',
  'upstash-region',
  'upstash-retried',
  'upstash-schedule-id',
  'upstash-signature',
  'upstash-topic-name',
]);
// Of the way to this server, besides: with `Upstash-Header-Forward` they would go along.
const OF_THIS_REQUEST = new Set(['authorization', 'user-agent', 'accept-encoding']);

/** What is sent along of `<prefix>forward-<name>`. */
export function forwardedHeaders(headers: HeaderMap, prefix: string): HeaderLists {
  return headerLists(forwarded(headers, prefix));
}

/** What the destination gets of the headers of a message: its content type, what is forwarded, and all others where that is asked for. */
export function destinationHeaders(headers: HeaderMap, isAllForwarded: boolean): HeaderLists {
  const own = [...headers].filter(
    ([name]) =>
      name === 'content-type' || (isAllForwarded && !name.startsWith('upstash-') && !OF_THIS_REQUEST.has(name)),
  );
  return headerLists([...own, ...forwarded(headers, 'upstash-')]);
}

function forwarded(headers: HeaderMap, prefix: string): readonly (readonly [string, string])[] {
  const start = `${prefix}forward-`;
  return [...headers].flatMap(([name, value]) =>
    name.startsWith(start) ? [[name.slice(start.length), value] as const] : [],
  );
}

/** The last of a name counts. */
function headerLists(headers: readonly (readonly [string, string])[]): HeaderLists {
  const kept = headers.filter(([name]) => !NEVER_FORWARDED.has(name));
  return Object.fromEntries(kept.map(([name, value]) => [goodName(name), [goodValue(name, value)]]));
}

function goodName(name: string): string {
  if (!/^[!#$%&'*+.^_`|~0-9a-z-]{1,200}$/.test(name))
    throw badRequest(`${JSON.stringify(name)} is no name of a header`);
  return canonicalName(name);
}

function goodValue(name: string, value: string): string {
  // What Node sends; a line break would be a header of its own.
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
    throw badRequest(`the value of ${canonicalName(name)} holds characters that a header cannot have`);
  }
  return value;
}

/** The headers of a request, by name. */
export function headerMap(headers: Iterable<readonly [string, string]>): HeaderMap {
  return new Map([...headers].map(([name, value]) => [name.toLowerCase(), value]));
}

// Replaying takes settings of its own. What clients say of every message is none of them.
const REPLAY_SETTINGS = new Set(['upstash-retries', 'upstash-retry-delay', 'upstash-timeout']);

/**
 * The header that shows that a request was meant as a message: a destination with dot segments in it leads a client elsewhere, to a
 * route that rules this server. Nothing: there is none.
 */
export function strayHeader(headers: HeaderMap, takes: 'nothing' | 'replay-settings'): string | undefined {
  for (const name of headers.keys()) {
    if (!name.startsWith('upstash-')) continue;
    if (takes === 'nothing' || !REPLAY_SETTINGS.has(name)) return name;
  }
  return undefined;
}
