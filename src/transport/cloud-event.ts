import { HoldfastError } from '../kernel/error.ts';
import type { ForeignMessage } from '../outbox/outbox-store.ts';
import type { OutboundItem } from '../relay/handler.ts';
import type { DeadLetter, Delivery } from '../relay/relay-store.ts';
import type { Decode, InboundMessage, OutboundMessage } from './broker.ts';
import { hashedId } from './hashed-id.ts';
import { inboundOf, placeOf, type KeptMessage } from './kept-message.ts';

const JSON_TYPE = 'application/json';
const STRUCTURED = 'application/cloudevents';
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const SEQUENCE = /^\d{32}$/;
const TRACE_HEADERS = new Set(['traceparent', 'tracestate']);
/** Of those we know; others become headers of the message. */
const ATTRIBUTES = new Set([
  'specversion',
  'id',
  'source',
  'type',
  'time',
  'datacontenttype',
  'partitionkey',
  'sequence',
  'idempotencykey',
  'correlationid',
  'causationid',
  'target',
  'generation',
  'aggregatetype',
  'aggregateid',
]);

/** A message as CloudEvents 1.0 in binary mode: the envelope as attributes, the payload as the body, as it is. */
export function toWire({ delivery, payload, sequence, trace }: Omit<OutboundItem, 'isGivenUp'>): OutboundMessage {
  const { id, type, key, source, idempotencyKey, correlationId, headers } = delivery;
  const { traceparent, tracestate = delivery.tracestate } = trace ?? delivery;
  const attributes: Record<string, string> = {
    specversion: '1.0',
    id,
    source,
    type,
    time: new Date(delivery.createdAtMs).toISOString(),
    datacontenttype: JSON_TYPE,
    sequence,
  };
  if (key !== undefined) attributes['partitionkey'] = key;
  if (idempotencyKey !== id) attributes['idempotencykey'] = idempotencyKey;
  if (correlationId !== undefined && correlationId !== id) attributes['correlationid'] = correlationId;
  if (delivery.causationId !== undefined) attributes['causationid'] = delivery.causationId;
  if (delivery.target !== undefined) attributes['target'] = delivery.target;
  if (delivery.generation !== undefined) attributes['generation'] = delivery.generation.toString();
  if (delivery.aggregateType !== undefined) attributes['aggregatetype'] = delivery.aggregateType;
  if (delivery.aggregateId !== undefined) attributes['aggregateid'] = delivery.aggregateId;
  const own: Record<string, string> = { ...headers };
  // The trace of a message is its own, and not what its headers may say.
  if (traceparent !== undefined) own['traceparent'] = traceparent;
  else if (headers) delete own['traceparent'];
  if (tracestate !== undefined) own['tracestate'] = tracestate;
  else if (headers) delete own['tracestate'];
  // It may have been taken in as a dead letter of another service. What goes out is nobody's copy.
  if (headers) for (const name of COPY_HEADERS) delete own[name];
  const resends = delivery.cycle + delivery.rerun;
  const wire = { type, key, isDead: false, attributes, headers: own, body: Buffer.from(payload, 'utf8') };
  return resends === 0 ? wire : { ...wire, resends };
}

/** The header of a copy that says whose dead letter it is. */
export const DEAD_SERVICE = 'dlq-service';
/** Which round of it: how often it was replayed before. */
export const DEAD_CYCLE = 'dlq-cycle';
/** Says that trying again would not help. */
export const DEAD_FINAL = 'dlq-final';
/** When it died. */
export const DEAD_AT = 'dlq-failed-at';
/** Where it was found, of one that could not be read. */
export const DEAD_SOURCE = 'dlq-source';
/** The id of the dead letter, of one that could not be read: it has none of its own. */
const DEAD_ID = 'dlq-id';
const COPY_HEADERS = [DEAD_SERVICE, DEAD_CYCLE, DEAD_FINAL, DEAD_SOURCE, DEAD_ID];

/**
 * The copy of a dead letter: the message as it was, with the reason in headers that other tools can read. Nothing for one that could
 * not be read and has no type, unless the broker finds its place by where it came from, and for one that came from there.
 */
export function toDeadWire(
  { delivery, error, failedAtMs }: DeadLetter,
  service: string,
  takesUntyped: boolean = false,
): OutboundMessage | undefined {
  if (delivery.type === 'holdfast.imported') return undefined;
  const wire = delivery.type === 'holdfast.unreadable' ? asItCame(delivery) : asItIs(delivery);
  if (wire.type === '' && !takesUntyped) return undefined;
  const reason = {
    'dlq-reason': error.code ?? error.name,
    'dlq-message': error.message,
    'dlq-attempts': String(delivery.attempts),
    [DEAD_AT]: new Date(failedAtMs).toISOString(),
    [DEAD_CYCLE]: String(delivery.cycle),
    [DEAD_SERVICE]: service,
    ...(error.isFinal && { [DEAD_FINAL]: 'true' }),
  };
  return { ...wire, isDead: true, headers: { ...wire.headers, ...reason } };
}

function asItIs(delivery: Delivery): OutboundMessage {
  return toWire({ delivery, payload: delivery.payload ?? 'null', sequence: String(delivery.cycle) });
}

function asItCame({ id, payload }: Delivery): OutboundMessage {
  const { sourceId, key, attributes, headers, body } = inboundOf(JSON.parse(payload ?? '') as KeptMessage);
  const { type = '' } = attributes;
  const found = { ...headers, [DEAD_SOURCE]: sourceId, [DEAD_ID]: id };
  return { type, key, attributes, body, isDead: true, headers: found };
}

/** True for a copy of a dead letter, of whichever service. */
export function isDeadCopy({ headers }: InboundMessage): boolean {
  return headers[DEAD_SERVICE] !== undefined && headers[DEAD_CYCLE] !== undefined;
}

/** Which dead letter a copy is of, and of which of its rounds. Nothing where it does not say so any more. */
export function deadLetterOf({ headers, attributes }: InboundMessage): { id: string; cycle: number } | undefined {
  const { [DEAD_CYCLE]: cycle = '', [DEAD_SOURCE]: sourceId } = headers;
  const id = (sourceId === undefined ? attributes['id'] : headers[DEAD_ID]) ?? '';
  return /^\d{1,9}$/.test(cycle) && UUID.test(id) ? { id: id.toLowerCase(), cycle: Number(cycle) } : undefined;
}

/** Who reads, and how. */
export interface Reading {
  /** What a message of a type is taken as; nothing: it is none of ours. */
  readonly takenAs: (type: string) => string | undefined;
  readonly decode: Decode | undefined;
}

/**
 * What a message found at a broker is to us, or nothing when it is none of ours. Throws `MESSAGE_UNREADABLE`.
 */
export function fromWire(message: InboundMessage, { takenAs, decode }: Reading): ForeignMessage | undefined {
  try {
    return decode && !isOwn(message)
      ? fromForeign(message, decode, takenAs)
      : fromCloudEvent(unfolded(message), takenAs);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new HoldfastError('MESSAGE_UNREADABLE', { sourceId: message.sourceId, problem }, { cause: error });
  }
}

/** What `toWire` writes: all of this at once, and a sequence as only we count. Copies of dead letters count otherwise. */
function isOwn({ attributes, headers }: InboundMessage): boolean {
  const { specversion, id = '', source, type, time, datacontenttype, sequence = '' } = attributes;
  if (specversion !== '1.0' || datacontenttype !== JSON_TYPE || !UUID.test(id)) return false;
  if (source === undefined || type === undefined || time === undefined) return false;
  return SEQUENCE.test(sequence) || (headers[DEAD_SERVICE] !== undefined && headers[DEAD_SOURCE] === undefined);
}

function fromForeign(message: InboundMessage, decode: Decode, takenAs: Reading['takenAs']): ForeignMessage | undefined {
  const decoded = decode(message);
  const taken = decoded && takenAs(decoded.type);
  if (!decoded || taken === undefined) return undefined;
  const source = decoded.source ?? message.attributes['source'] ?? 'unknown';
  const payload = JSON.stringify(decoded.payload) as string | undefined;
  if (payload === undefined) throw new TypeError('decode() gave a payload that JSON has no word for');
  return foreign(message, {
    id: idOf(source, decoded.id ?? message.attributes['id'], message),
    type: decoded.type,
    takenAs: taken,
    key: decoded.key ?? message.key,
    payload,
    source,
    headers: decoded.headers ?? message.headers,
  });
}

function fromCloudEvent(message: InboundMessage, takenAs: Reading['takenAs']): ForeignMessage | undefined {
  const { attributes } = message;
  const { type, source = 'unknown', datacontenttype = JSON_TYPE } = attributes;
  if (type === undefined) throw new TypeError('it has no type: it is no CloudEvent, tell how to read it with decode');
  const taken = takenAs(type);
  if (taken === undefined) return undefined;
  if (datacontenttype !== JSON_TYPE && !/^application\/(?:[\w.-]+\+)?json\b/i.test(datacontenttype))
    throw new TypeError(`its content type is ${datacontenttype}, and not JSON`);
  const payload = textOf(message.body) || 'null';
  JSON.parse(payload);
  return foreign(message, {
    id: idOf(source, attributes['id'], message),
    type,
    takenAs: taken,
    key: message.key ?? attributes['partitionkey'],
    payload,
    source,
    headers: headersOf(message),
  });
}

/** What reading a message decides about it. */
type Meant = Pick<ForeignMessage, 'id' | 'type' | 'takenAs' | 'key' | 'payload' | 'source' | 'headers'>;

/** With what a message carries whoever wrote it. */
function foreign({ attributes, headers, sourceId }: InboundMessage, meant: Meant): ForeignMessage {
  const generation = Number(attributes['generation']);
  return {
    id: meant.id,
    type: meant.type,
    takenAs: meant.takenAs,
    key: meant.key,
    payload: meant.payload,
    source: meant.source,
    headers: meant.headers,
    sourceId,
    idempotencyKey: attributes['idempotencykey'],
    target: attributes['target'],
    aggregateType: attributes['aggregatetype'],
    aggregateId: attributes['aggregateid'],
    generation: Number.isSafeInteger(generation) && generation >= 0 ? generation : undefined,
    correlationId: attributes['correlationid'],
    causationId: attributes['causationid'],
    traceparent: headers['traceparent'] ?? attributes['traceparent'],
    tracestate: headers['tracestate'] ?? attributes['tracestate'],
    deliverAt: undefined,
    strict: false,
  };
}

/** The headers of a CloudEvent: its extensions that we do not know, and its own. Most have none. */
function headersOf({ attributes, headers }: InboundMessage): Record<string, string> | undefined {
  const found: (readonly [name: string, value: string])[] = [];
  for (const name of Object.keys(attributes)) if (!ATTRIBUTES.has(name)) found.push([name, attributes[name] ?? '']);
  for (const name of Object.keys(headers)) if (!TRACE_HEADERS.has(name)) found.push([name, headers[name] ?? '']);
  return found.length > 0 ? Object.fromEntries(found) : undefined;
}

/** A CloudEvent in structured mode is unfolded: attributes out of its body, the data in their place. */
function unfolded(message: InboundMessage): InboundMessage {
  const { attributes, body } = message;
  if (!attributes['datacontenttype']?.startsWith(STRUCTURED)) return message;
  const whole: unknown = JSON.parse(textOf(body));
  if (typeof whole !== 'object' || whole === null || Array.isArray(whole)) throw new TypeError('it is no CloudEvent');
  const { data, data_base64: encoded, ...rest } = whole as Record<string, unknown>;
  const inside = Object.entries(rest).map(([name, value]) => [name, String(value)] as const);
  return {
    ...message,
    attributes: { datacontenttype: JSON_TYPE, ...Object.fromEntries(inside) },
    body: typeof encoded === 'string' ? Buffer.from(encoded, 'base64') : Buffer.from(JSON.stringify(data ?? null)),
  };
}

/**
 * The id of a message: its own where that is a UUID; otherwise one made of its source and what it calls itself, or of where it was
 * found when it has no name. The same at each arrival.
 */
function idOf(source: string, id: string | undefined, message: InboundMessage): string {
  if (id !== undefined && UUID.test(id)) return id.toLowerCase();
  return hashedId(id === undefined ? `found ${placeOf(message)}` : `named ${source} ${id}`);
}

const TEXT = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false });

/** Bytes that are no text are not made into some: half of them would be lost. */
function textOf(body: Uint8Array): string {
  return TEXT.decode(body);
}
