import { createHash } from 'node:crypto';
import type { InboundMessage, OutboundMessage } from '../transport/broker.ts';
import { putField } from '../transport/put-field.ts';
import type { AmqpMessage } from './amqp-client.ts';

const ATTRIBUTE = 'cloudEvents_';
const OTHER_ATTRIBUTE = 'cloudEvents:';
const KEY = 'partitionkey';
const CONTENT_TYPE = 'datacontenttype';
/** Tells one publication from another of the same message. */
export const PLACE_HEADER = 'holdfast-place';
// The broker counts in them how often it has handed a message over: they are not the message's.
const COUNTERS = new Set(['x-delivery-count', 'x-acquired-count']);
// The broker's short strings.
const LONGEST = 255;

/** The properties of a message as CloudEvents over AMQP in binary mode. What foreign consumers look for is there by its usual name as well. */
export function propertiesOf({ key, attributes, headers }: OutboundMessage, place: string): object {
  const { id, type, source, time } = attributes;
  const seconds = Math.floor(Date.parse(time ?? '') / 1000);
  const written: Record<string, string> = { ...headers };
  for (const name of Object.keys(attributes))
    if (name !== CONTENT_TYPE) written[headerOf(name)] = attributes[name] ?? '';
  if (key !== undefined) written[headerOf(KEY)] = key;
  written[PLACE_HEADER] = place;
  return {
    persistent: true,
    headers: written,
    contentType: attributes[CONTENT_TYPE],
    messageId: short(id),
    type: short(type),
    appId: short(source),
    timestamp: Number.isNaN(seconds) ? undefined : seconds,
  };
}

/** The header of an attribute. There are some fifteen of them, each in every message: their names are kept. */
function headerOf(attribute: string): string {
  const known = headerNames.get(attribute);
  if (known !== undefined) return known;
  const name = ATTRIBUTE + attribute;
  if (headerNames.size < MOST_NAMES) headerNames.set(attribute, name);
  return name;
}

const MOST_NAMES = 100;
const headerNames = new Map<string, string>();

/**
 * What a message of a queue means. One that is no CloudEvent has the attributes that its properties name; its type may be its routing
 * key. One that has no id at all is known by a digest of all it says: two that are equal in everything count as one.
 */
export function inboundOf({ content, fields, properties }: AmqpMessage): InboundMessage {
  const attributes: Record<string, string> = {};
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(properties.headers ?? {})) {
    if (COUNTERS.has(name)) continue;
    const attribute = [ATTRIBUTE, OTHER_ATTRIBUTE].find((prefix) => name.startsWith(prefix));
    if (attribute === undefined) putField(headers, name, textOf(value));
    else putField(attributes, name.slice(attribute.length).toLowerCase(), textOf(value));
  }
  const { [PLACE_HEADER]: place, ...own } = headers;
  const { messageId, contentType } = properties;
  if (contentType !== undefined) attributes[CONTENT_TYPE] = contentType;
  const id = messageId ?? attributes['id'] ?? digestOf(content, fields, properties, headers);
  return {
    sourceId: `amqp:${fields.exchange}@${fields.routingKey}@${id}${place === undefined ? '' : `/${place}`}`,
    key: attributes[KEY],
    attributes:
      attributes['specversion'] === undefined ? { ...attributesOf(fields, properties), ...attributes } : attributes,
    headers: own,
    body: content,
  };
}

/** What the properties of a foreign message say about it. */
function attributesOf(
  { routingKey }: AmqpMessage['fields'],
  properties: AmqpMessage['properties'],
): Record<string, string> {
  const { messageId, type = routingKey, appId, timestamp } = properties;
  const date = new Date(Number(timestamp) * 1000);
  const time = Number.isNaN(date.getTime()) ? undefined : date.toISOString();
  return present({ id: messageId, type, source: appId, time });
}

function digestOf(
  content: Uint8Array,
  { exchange, routingKey }: AmqpMessage['fields'],
  { type, appId, timestamp }: AmqpMessage['properties'],
  headers: Readonly<Record<string, string>>,
): string {
  const said = jsonOf([exchange, routingKey, type, appId, timestamp, headers]);
  return createHash('sha256').update(said).update(content).digest('hex').slice(0, 32);
}

/** Headers of other makers may be numbers, bytes or tables. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  return typeof value === 'object' && value !== null ? jsonOf(value) : String(value);
}

/** Numbers that only fit 64 bits are texts. */
function jsonOf(value: object): string {
  return JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? String(inner) : inner));
}

/** It stands in a header too: where it does not fit into a property, it is left out there. */
function short(text: string | undefined): string | undefined {
  return text !== undefined && Buffer.byteLength(text) <= LONGEST ? text : undefined;
}

function present(values: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
