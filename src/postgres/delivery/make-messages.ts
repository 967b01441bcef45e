import { DELIVERY_SERVICE, DELIVERY_TYPE, type DeliveryRequest, lineOf } from '../../delivery/delivery-request.ts';
import type { PublishRefusal, PublishRequest, UrlGroupEndpoint } from '../../delivery/publishing.ts';
import { findUnstorable } from '../../kernel/unstorable.ts';
import type { NewMessage } from '../../outbox/outbox-store.ts';
import { activeSpan, traceparentOf } from '../../system/active-span.ts';
import { newId } from '../../system/new-id.ts';
import { sha256 } from '../../system/sha256.ts';

/** One message that a request becomes. */
export interface MadeMessage {
  readonly message: NewMessage;
  /** Of a group: the endpoint's. */
  readonly url: string | undefined;
}

/** What may be published. */
export interface PublishLimits {
  readonly maxBodyBytes: number;
  /** Bodies of one publish in all: that of a group once for each endpoint, as they are stored. */
  readonly maxPublishBytes: number;
  /** Why nothing may be sent there; nothing: it may. */
  readonly refuseUrl: ((url: string) => string | undefined) | undefined;
}

/** The engine's limit. */
const MAX_LINE_LENGTH = 255;
const MAX_ENDPOINTS = 10_000;
/** Headers and settings of one message. Servers take no more than a part of it in a request. */
const MAX_HEAD_BYTES = 65_536;

/** The body of several messages, which is sent to the database once. */
export interface SharedBody {
  /** Which of the bodies that go with the call. */
  readonly at: number;
  readonly bytes: number;
}

/**
 * The messages of a request, or why there are none. `endpoints` are those of its group; nothing: there is no such group. With `shared`
 * they say which body is theirs, and do not hold it: a hundred endpoints do not take a hundred bodies of memory.
 */
export function makeMessages(
  given: PublishRequest,
  endpoints: readonly UrlGroupEndpoint[] | undefined,
  limits: PublishLimits,
  shared?: SharedBody,
): readonly MadeMessage[] | PublishRefusal {
  const { to, delivery } = given;
  if (delivery.queue !== undefined && delivery.flowKey !== undefined) {
    return refusal(
      'queue-and-flow',
      'a message stands in a queue or under a flow-control key, not both; give it one of them, and set the parallelism of the queue where that is what is wanted',
    );
  }
  if (bodyBytes(delivery) > limits.maxBodyBytes) {
    const most = `${limits.maxBodyBytes} bytes`;
    return refusal(
      'too-large',
      `a body may have at most ${most}; put it where it can be fetched, and send its address`,
    );
  }
  if (headBytes(delivery) > MAX_HEAD_BYTES) {
    return refusal(
      'too-large',
      `the headers and settings of a message may have at most ${MAX_HEAD_BYTES} bytes in all`,
    );
  }
  const request = { ...given, delivery: shared === undefined ? storable(delivery) : sharing(delivery, shared) };
  const deduplication = deduplicationOf(given);
  if (to.kind === 'url') {
    const made = makeMessage(request, deduplication, { url: to.url }, undefined, limits);
    return 'kind' in made ? made : [{ message: made, url: undefined }];
  }
  if (endpoints === undefined) {
    return refusal('group-unknown', `there is no URL group "${to.name}"; add endpoints to it first`);
  }
  if (endpoints.length === 0 || endpoints.length > MAX_ENDPOINTS) {
    return refusal('group-empty', `the URL group "${to.name}" has no endpoints; add one first`);
  }
  const made: MadeMessage[] = [];
  for (const endpoint of endpoints) {
    const message = makeMessage(request, deduplication, endpoint, to.name, limits);
    if ('kind' in message) return message;
    made.push({ message, url: endpoint.url });
  }
  return made;
}

/**
 * Why the callbacks of a request may not be called; nothing: they may, or there are none. For when they are set: whoever sets them would
 * else learn from the log alone that they never come. What a schedule publishes later goes out all the same.
 */
export function callbackProblem(
  { callback, failureCallback }: PublishRequest['delivery'],
  { refuseUrl }: Pick<PublishLimits, 'refuseUrl'>,
): PublishRefusal | undefined {
  for (const [what, target] of [
    ['callback', callback],
    ['failure callback', failureCallback],
  ] as const) {
    const problem = target && (urlProblem(target.url) ?? refuseUrl?.(target.url));
    if (problem !== undefined)
      return refusal(
        'destination-refused',
        `invalid ${what} url: ${problem.replace(/^invalid destination url: /, '')}`,
      );
  }
  return undefined;
}

/** What makes two messages the same. `content`: the digest of a body, made once for all endpoints. */
type Deduplication = { readonly id: string } | { readonly content: string };

function deduplicationOf({ deduplication, delivery }: PublishRequest): Deduplication | undefined {
  if (deduplication === undefined || 'id' in deduplication) return deduplication;
  const { body, bodyBase64 } = storable(delivery);
  return { content: sha256(JSON.stringify([body, bodyBase64])) };
}

function makeMessage(
  { delivery, notBefore }: PublishRequest,
  deduplication: Deduplication | undefined,
  endpoint: UrlGroupEndpoint,
  group: string | undefined,
  { refuseUrl }: PublishLimits,
): NewMessage | PublishRefusal {
  const problem = urlProblem(endpoint.url) ?? refuseUrl?.(endpoint.url);
  if (problem !== undefined) return refusal('destination-refused', problem);
  const names = group === undefined ? {} : { group, endpointName: endpoint.name };
  const payload: DeliveryRequest = { ...delivery, signedBy: 'server', url: endpoint.url, ...names };
  const unstorable = findUnstorable(payload, 'message');
  if (unstorable !== undefined) return refusal('invalid', `${unstorable}; leave it out, or send it encoded`);
  if (notBefore !== undefined && !(Math.abs(notBefore.getTime()) < LAST_TIME_MS))
    return refusal('invalid', 'the time before which nothing is delivered is none; give one before the year 10000');
  if (lineOf(payload).length > MAX_LINE_LENGTH)
    return refusal(
      'invalid',
      'the name of the queue, the flow-control key or the host is too long; shorten it to 240 characters',
    );
  const idempotencyKey = deduplication && dedupKey(deduplication, payload);
  return messageOf(payload, idempotencyKey, notBefore);
}

/** Later ones are written in a way that databases do not read. */
const LAST_TIME_MS = Date.UTC(9999, 11, 31);

/** A message of the engine that delivers this. `cause` is the message whose callback it is. */
export function messageOf(
  payload: DeliveryRequest,
  idempotencyKey: string | undefined,
  deliverAt: Date | undefined,
  cause?: string,
): NewMessage {
  const id = newId();
  const span = activeSpan();
  return {
    id,
    type: DELIVERY_TYPE,
    takenAs: undefined,
    key: lineOf(payload),
    payload: JSON.stringify(payload),
    idempotencyKey,
    source: DELIVERY_SERVICE,
    target: undefined,
    aggregateType: undefined,
    aggregateId: undefined,
    generation: undefined,
    correlationId: cause ?? id,
    causationId: cause,
    traceparent: span && traceparentOf(span),
    tracestate: undefined,
    headers: undefined,
    deliverAt: deliverAt && deliverAt.getTime() > 0 ? deliverAt : undefined,
    strict: false,
  };
}

/** An id stands for what its sender says it does, at each endpoint of a group, and for one tenant. Content: where it goes, what it is, what comes with it. */
function dedupKey(given: Deduplication, payload: DeliveryRequest): string {
  const { url, method, headers, group, queue, tenant } = payload;
  if ('id' in given)
    return `dedup:${sha256(JSON.stringify(['id', tenant, given.id, group === undefined ? null : url]))}`;
  const sorted = Object.entries(headers).sort(([a], [b]) => (a < b ? -1 : 1));
  return `dedup:${sha256(JSON.stringify(['content', tenant, url, method, queue, given.content, sorted]))}`;
}

/** Why this is no address, in words; nothing: it is one. */
function urlProblem(url: string): string | undefined {
  if (!URL.canParse(url)) return 'invalid destination url: it is no absolute address; write https://host/path';
  const { protocol, username, password } = new URL(url);
  if (protocol !== 'http:' && protocol !== 'https:')
    return 'invalid destination url: endpoint has invalid scheme, add http:// or https://';
  if (username !== '' || password !== '')
    return 'invalid destination url: it holds a user or password; send an Authorization header instead';
  return undefined;
}

/** The same with a body that a database takes: a text with NUL is none to it, though it is UTF-8. */
export function storable<T extends { readonly body?: string | undefined }>(delivery: T): T {
  const { body, ...rest } = delivery;
  if (body === undefined || (!body.includes('\u0000') && body.isWellFormed())) return delivery;
  return { ...rest, bodyBase64: base64Of(new TextEncoder().encode(body)) } as unknown as T;
}

/** Bytes as base64. */
export function base64Of(bytes: Uint8Array): string {
  const parts: string[] = [];
  // As arguments of one call, more would not fit on the stack.
  for (let at = 0; at < bytes.length; at += 8_192) parts.push(String.fromCharCode(...bytes.subarray(at, at + 8_192)));
  return btoa(parts.join(''));
}

/** The same without the body, and with where it is. */
function sharing<T extends Pick<DeliveryRequest, 'body' | 'bodyBase64'>>(delivery: T, { at, bytes }: SharedBody): T {
  const { body: _body, bodyBase64: _base64, ...rest } = delivery;
  return (bytes === 0 ? rest : { ...rest, bodyAt: at }) as unknown as T;
}

/** How much a message has besides its body, as it is stored. */
export function headBytes({ body: _body, bodyBase64: _base64, ...rest }: PublishRequest['delivery']): number {
  return JSON.stringify(rest).length;
}

/** How many bytes a body has. */
export function bodyBytes({
  body,
  bodyBase64,
}: {
  readonly body?: string | undefined;
  readonly bodyBase64?: string | undefined;
}): number {
  if (bodyBase64 !== undefined) return Math.floor((bodyBase64.length * 3) / 4);
  // Counted only where it could be too long: three bytes for a letter at most.
  return body === undefined ? 0 : new TextEncoder().encode(body).length;
}

function refusal(why: PublishRefusal['why'], message: string): PublishRefusal {
  return { kind: 'refused', why, message };
}
