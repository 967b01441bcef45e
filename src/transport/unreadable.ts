import { createHash } from 'node:crypto';
import type { ForeignMessage } from '../outbox/outbox-store.ts';
import { receivedAs } from './taken-as.ts';
import type { InboundMessage } from './broker.ts';

/** The type under which messages are kept that could not be read. */
export const UNREADABLE = 'holdfast.unreadable';

/** A message that could not be read, with every byte of it. */
export interface Unreadable {
  readonly transport: string;
  readonly sourceId: string;
  readonly problem: string;
  readonly key?: string | undefined;
  readonly attributes: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  /** Base64. */
  readonly body: string;
}

/** Keeps a message that could not be read. It goes to the handler that received it, which fails: a dead letter like any other. */
export function unreadableMessage(
  inbound: InboundMessage,
  transport: string,
  service: string,
  error: unknown,
): ForeignMessage {
  const { key, attributes, headers, body } = inbound;
  const sourceId = storable(inbound.sourceId);
  const problem = error instanceof Error ? error.message : String(error);
  const kept: Unreadable = {
    transport,
    sourceId,
    problem: storable(problem),
    key: key === undefined ? undefined : storable(key),
    attributes: storableOf(attributes),
    headers: storableOf(headers),
    body: Buffer.from(body).toString('base64'),
  };
  return {
    id: idOf(inbound.sourceId),
    type: UNREADABLE,
    takenAs: receivedAs(service, `${transport}/${UNREADABLE}`),
    key: undefined,
    payload: JSON.stringify(kept),
    idempotencyKey: undefined,
    source: transport,
    target: undefined,
    aggregateType: undefined,
    aggregateId: undefined,
    generation: undefined,
    correlationId: undefined,
    causationId: undefined,
    traceparent: undefined,
    tracestate: undefined,
    headers: undefined,
    deliverAt: undefined,
    strict: false,
    sourceId,
  };
}

/** The message as it was found. */
export function inboundOf({ sourceId, key, attributes, headers, body }: Unreadable): InboundMessage {
  return { sourceId, key, attributes, headers, body: Buffer.from(body, 'base64') };
}

function idOf(sourceId: string): string {
  const digest = createHash('sha256').update(`unreadable ${sourceId}`).digest('hex');
  return `${digest.slice(0, 8)}-${digest.slice(8, 12)}-8${digest.slice(13, 16)}-8${digest.slice(17, 20)}-${digest.slice(20, 32)}`;
}

/** The database keeps neither NUL nor halves of surrogate pairs. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '\uFFFD');
}

function storableOf(values: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [storable(name), storable(value)]));
}
