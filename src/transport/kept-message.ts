import { bareEnvelope } from '../outbox/envelope.ts';
import type { ForeignMessage } from '../outbox/outbox-store.ts';
import { hashedId } from './hashed-id.ts';
import { receivedAs } from './taken-as.ts';
import type { InboundMessage } from './broker.ts';

/** The types under which messages are kept as they were found: they could not be read, or were a broker's dead letters. */
export const KEPT_TYPES = ['holdfast.unreadable', 'holdfast.imported'] as const;

/** A message as it was found, with every byte of it. */
export interface KeptMessage {
  readonly transport: string;
  readonly sourceId: string;
  readonly incarnation?: string | undefined;
  /** Why it is kept. */
  readonly problem: string;
  readonly key?: string | undefined;
  readonly attributes: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  /** Base64. */
  readonly body: string;
}

/** What a message is kept as, and for whom. */
export interface KeptAbout {
  readonly type: (typeof KEPT_TYPES)[number];
  readonly transport: string;
  readonly service: string;
}

/** Keeps a message. It goes to the handler of its transport, which fails: a dead letter like any other. */
export function keptMessage(
  inbound: InboundMessage,
  { type, transport, service }: KeptAbout,
  problem: string,
): ForeignMessage {
  const { key, attributes, headers, body, incarnation } = inbound;
  const sourceId = storable(inbound.sourceId);
  const kept: KeptMessage = {
    transport,
    sourceId,
    ...(incarnation !== undefined && { incarnation }),
    problem: storable(problem),
    key: key === undefined ? undefined : storable(key),
    attributes: storableOf(attributes),
    headers: storableOf(headers),
    body: Buffer.from(body).toString('base64'),
  };
  return {
    ...bareEnvelope(transport),
    id: hashedId(`${type} ${placeOf(inbound)}`),
    type,
    takenAs: keptAs(service, transport),
    key: undefined,
    payload: JSON.stringify(kept),
    idempotencyKey: undefined,
    deliverAt: undefined,
    strict: false,
    sourceId,
  };
}

/** Where a message was found, as no other was: its source id may repeat where a topic was deleted and created again. */
export function placeOf({ sourceId, incarnation }: Pick<InboundMessage, 'sourceId' | 'incarnation'>): string {
  return incarnation === undefined ? sourceId : `${sourceId} ${incarnation}`;
}

/** What messages are taken as that are kept for a service. */
export function keptAs(service: string, transport: string): string {
  return receivedAs(service, `${transport}/holdfast.kept`);
}

/** The message as it was found. */
export function inboundOf({ sourceId, incarnation, key, attributes, headers, body }: KeptMessage): InboundMessage {
  return { sourceId, incarnation, key, attributes, headers, body: Buffer.from(body, 'base64') };
}

/** The database keeps neither NUL nor halves of surrogate pairs. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '\uFFFD');
}

function storableOf(values: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [storable(name), storable(value)]));
}
