import type { InboundMessage, OutboundMessage } from '../transport/broker.ts';
import { DEAD_CYCLE, DEAD_SERVICE, DEAD_SOURCE } from '../transport/cloud-event.ts';
import { putField } from '../transport/put-field.ts';
import type { JetStreamMessage } from './nats-library.ts';

const ATTRIBUTE = 'ce-';
const KEY = 'partitionkey';
const CONTENT_TYPE = 'content-type';
const CONTENT_ATTRIBUTE = 'datacontenttype';
const MESSAGE_ID = 'nats-msg-id';
/** What the server and its clients write for themselves. */
const OF_NATS = 'nats-';
const ESCAPE = 'h_';
/** Characters of a header that arrive as they are: everything else in an attribute is written by its bytes, as in CloudEvents over HTTP. */
const BARE = /[^\x21\x23-\x24\x26-\x7e]/gu;
const NAME = /^[\x21-\x39\x3b-\x7e]+$/;
// The client takes spaces from both ends of a value, and refuses line ends.
const PLAIN = /^(?:[^\s\0](?:[^\r\n\0]*[^\s\0])?)?$/u;

/** The headers of a message: CloudEvents over NATS in binary mode, `ce-…`. One that NATS could not carry is there under another name. */
export function headersOf({ key, attributes, headers }: OutboundMessage): (readonly [name: string, value: string])[] {
  const written: (readonly [string, string])[] = [];
  for (const [name, value] of Object.entries(headers))
    written.push(
      isReserved(name) || !NAME.test(name) || !PLAIN.test(value)
        ? [ESCAPE + encodeURIComponent(name.toWellFormed()), encodeURIComponent(value.toWellFormed())]
        : [name, value],
    );
  for (const [name, value] of Object.entries(attributes)) written.push([ATTRIBUTE + name, escaped(value)]);
  if (key !== undefined && attributes[KEY] === undefined) written.push([ATTRIBUTE + KEY, escaped(key)]);
  return written;
}

/**
 * What the broker knows a message by, within its window: its id. A message that an operator sends once more is another one, and so are
 * the copies that each service makes of a dead letter in each of its rounds. Nothing for what has no id.
 */
export function messageIdOf({ isDead, attributes, headers, resends = 0 }: OutboundMessage): string | undefined {
  const { id } = attributes;
  if (isDead) {
    const found = headers[DEAD_SOURCE] ?? id;
    const parts = ['dlq', headers[DEAD_SERVICE] ?? '', found ?? '', headers[DEAD_CYCLE] ?? ''];
    return found === undefined ? undefined : escaped(parts.join('/'));
  }
  return id === undefined ? undefined : escaped(resends === 0 ? id : `${id}/${resends}`);
}

/**
 * What a message of a stream means. One that is no CloudEvent has the id that its headers name, and its type is its subject, without the
 * stream that ours begin with. When it was stored is part of where it was found: a stream that was made anew counts from one again.
 */
export function inboundOf({ subject, data, headers, info, timestampNanos }: JetStreamMessage): InboundMessage {
  const attributes: Record<string, string> = {};
  const others: Record<string, string> = {};
  let id: string | undefined;
  for (const [written, values] of headers ?? []) {
    const [name, value] = [written.toLowerCase(), values.at(-1) ?? ''];
    if (name.startsWith(ATTRIBUTE)) putField(attributes, name.slice(ATTRIBUTE.length), decoded(value));
    else if (name === CONTENT_TYPE) attributes[CONTENT_ATTRIBUTE] ??= value;
    else if (name === MESSAGE_ID) id = value;
    else if (written.startsWith(ESCAPE)) putField(others, decoded(written.slice(ESCAPE.length)), decoded(value));
    else if (!name.startsWith(OF_NATS)) putField(others, written, value);
  }
  if (attributes['specversion'] === undefined) {
    const own = `${info.stream}.`;
    attributes['type'] ??= subject.startsWith(own) ? subject.slice(own.length) : subject;
    if (id !== undefined) attributes['id'] ??= id;
  }
  return {
    sourceId: `nats:${info.stream}@${info.streamSequence}@${timestampNanos}`,
    key: attributes[KEY],
    attributes,
    headers: others,
    body: data,
  };
}

function isReserved(name: string): boolean {
  const lower = name.toLowerCase();
  return lower.startsWith(ATTRIBUTE) || lower.startsWith(OF_NATS) || lower === CONTENT_TYPE || name.startsWith(ESCAPE);
}

function escaped(value: string): string {
  return value
    .toWellFormed()
    .replace(BARE, (character) =>
      Array.from(Buffer.from(character), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
    );
}

/** One of foreign make may have a percent sign that means itself. */
function decoded(value: string): string {
  if (!value.includes('%')) return value;
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
