import type { InboundMessage, WireMessage } from '../transport/broker.ts';
import { putField } from '../transport/put-field.ts';

const ATTRIBUTE = 'ce_';
const CONTENT_TYPE = 'content-type';
const CONTENT_ATTRIBUTE = 'datacontenttype';
const ESCAPE = 'h_';

/** A message as Kafka carries it, before its topic and partition are known. */
export interface OutboundRecord {
  readonly key: Uint8Array | undefined;
  readonly value: Uint8Array;
  readonly headers: Map<Uint8Array, Uint8Array>;
}

/** A record as it is found. A value of null is a tombstone. */
export interface InboundRecord {
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
  readonly headers: readonly (readonly [Uint8Array | null, Uint8Array | null])[];
}

/** CloudEvents' binding for Kafka, in binary mode: attributes as headers `ce_…`, the content type as `content-type`, the body as it is. */
export function toRecord({ key, attributes, headers, body }: WireMessage): OutboundRecord {
  const written = new Map<Uint8Array, Uint8Array>();
  for (const [name, value] of Object.entries(headers))
    written.set(Buffer.from(isReserved(name) ? ESCAPE + name : name), Buffer.from(value));
  for (const [name, value] of Object.entries(attributes)) written.set(attributeName(name), Buffer.from(value));
  return {
    key: key === undefined ? undefined : Buffer.from(key),
    value: Buffer.from(body.buffer, body.byteOffset, body.byteLength),
    headers: written,
  };
}

/** The name of an attribute's header, in bytes. There are some fifteen attributes, each in every message: their names are kept. */
function attributeName(name: string): Uint8Array {
  const known = attributeNames.get(name);
  if (known) return known;
  const bytes = Buffer.from(name === CONTENT_ATTRIBUTE ? CONTENT_TYPE : ATTRIBUTE + name);
  if (attributeNames.size < MOST_NAMES) attributeNames.set(name, bytes);
  return bytes;
}

const MOST_NAMES = 100;
const attributeNames = new Map<string, Uint8Array>();

/** What a record means. A tombstone has no bytes. Of headers with one name the last counts, as in Kafka's own clients. */
export function fromRecord(sourceId: string, { key, value, headers }: InboundRecord): InboundMessage {
  const attributes: Record<string, string> = {};
  const others: Record<string, string> = {};
  for (const [nameBytes, valueBytes] of headers) {
    const [name, text] = [textOf(nameBytes) ?? '', textOf(valueBytes) ?? ''];
    if (name.toLowerCase() === CONTENT_TYPE) attributes[CONTENT_ATTRIBUTE] = text;
    else if (name.startsWith(ATTRIBUTE)) putField(attributes, name.slice(ATTRIBUTE.length), text);
    else putField(others, unescaped(name), text);
  }
  return { sourceId, key: textOf(key), attributes, headers: others, body: value ?? new Uint8Array() };
}

/** About what it takes in a batch of records. */
export function sizeOf({ key, value, headers }: OutboundRecord): number {
  let size = 24 + (key?.length ?? 0) + value.length;
  for (const [name, text] of headers) size += name.length + text.length + 6;
  return size;
}

function isReserved(name: string): boolean {
  return name.startsWith(ATTRIBUTE) || name.startsWith(ESCAPE) || name.toLowerCase() === CONTENT_TYPE;
}

/** Only what we escaped: a foreign header may begin like that by itself. */
function unescaped(name: string): string {
  const rest = name.slice(ESCAPE.length);
  return name.startsWith(ESCAPE) && isReserved(rest) ? rest : name;
}

const TEXT = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Keys and headers of foreign make may be no text: those are given as Base64, so that none is taken for another. */
function textOf(bytes: Uint8Array | null): string | undefined {
  if (bytes === null) return undefined;
  try {
    return TEXT.decode(bytes);
  } catch {
    return Buffer.from(bytes).toString('base64');
  }
}
