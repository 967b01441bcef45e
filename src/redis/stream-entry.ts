import type { InboundMessage, WireMessage } from '../transport/broker.ts';
import { hashedId } from '../transport/hashed-id.ts';
import { putField } from '../transport/put-field.ts';

const ATTRIBUTE = 'ce_';
const KEY = 'key';
const DATA = 'data';
const DATA_BASE64 = 'data_base64';

/**
 * A message as the fields of a stream entry, all of them text: attributes of CloudEvents with `ce_` before them, `key`, the headers,
 * and the body as `data`, or as `data_base64` where it is no text.
 */
export function toFields({ key, attributes, headers, body }: WireMessage): readonly string[] {
  const fields: string[] = [];
  for (const [name, value] of Object.entries(headers)) fields.push(isReserved(name) ? `h_${name}` : name, value);
  for (const name of Object.keys(attributes)) fields.push(ATTRIBUTE + name, attributes[name] ?? '');
  if (key !== undefined) fields.push(KEY, key);
  const text = textOf(body);
  if (text === undefined) fields.push(DATA_BASE64, Buffer.from(body).toString('base64'));
  else fields.push(DATA, text);
  return fields;
}

/**
 * What an entry means. Fields we did not write are headers. Ids of entries are chosen by who adds them, or by a clock, and may repeat where a
 * stream was deleted: of an entry that has no id of its own its content is a part of what it is known by.
 */
export function fromFields(sourceId: string, fields: readonly string[]): InboundMessage {
  const attributes: Record<string, string> = {};
  const headers: Record<string, string> = {};
  let key: string | undefined;
  let body: Uint8Array = new Uint8Array();
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [name = '', value = ''] = [fields[at], fields[at + 1]];
    if (name.startsWith(ATTRIBUTE)) putField(attributes, name.slice(ATTRIBUTE.length), value);
    else if (name === KEY) key = value;
    else if (name === DATA) body = Buffer.from(value);
    else if (name === DATA_BASE64) body = Buffer.from(value, 'base64');
    else putField(headers, name.startsWith('h_') ? name.slice(2) : name, value);
  }
  const incarnation = attributes['id'] === undefined ? hashedId(JSON.stringify(fields)) : undefined;
  return { sourceId, key, attributes, headers, body, incarnation };
}

function isReserved(name: string): boolean {
  return name.startsWith(ATTRIBUTE) || name.startsWith('h_') || [KEY, DATA, DATA_BASE64].includes(name);
}

const TEXT = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text of the bytes; nothing where they are none. */
function textOf(body: Uint8Array): string | undefined {
  try {
    return TEXT.decode(body);
  } catch {
    return undefined;
  }
}
