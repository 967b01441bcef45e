import { OptionCheck } from '../kernel/check-options.ts';
import { wrapped } from '../kernel/wrapped.ts';
import { activeSpan, traceparentOf } from '../system/active-span.ts';
import { newId } from '../system/new-id.ts';
import type { EventDefinition } from './event.ts';
import type { Sealing } from './sealing.ts';
import { OWN_HEADERS, PERSON_HEADER, sealPayload, VERSION_HEADER } from './stored-payload.ts';
import type { NewMessage, OutboxStore, SendResult } from './outbox-store.ts';
import { serializePayload } from './payload.ts';

/** What may be said about one message besides its payload. */
export interface SendOptions {
  /** A second message with the same key is not stored again; the answer then is `duplicate`. At most 255 characters. */
  readonly idempotencyKey?: string | undefined;
  /** Not before this time. Its place in line is then its due time. Default: at once. */
  readonly deliverAt?: Date | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Whom the message is for, where that is one service. */
  readonly target?: string | undefined;
  /** Shared by everything one action causes. Default: this message's id. */
  readonly correlationId?: string | undefined;
  /** The id of what caused this message. */
  readonly causationId?: string | undefined;
  readonly tracestate?: string | undefined;
  /** Whom it is about, where the event does not say: everything about somebody can be erased. At most 150 characters. */
  readonly person?: string | undefined;
  /**
   * False: the commit wakes no worker, for this message and all others of its transaction; it is found at the next poll (`pollMs`, 1 s). For
   * transactions that are prepared (two-phase commit): PostgreSQL does not prepare one that has notified anybody. Default: true.
   */
  readonly wake?: boolean | undefined;
}

/** One message of a `sendAll`, made by `outgoing`. */
export interface Outgoing {
  readonly type: string;
  /** The message as this sender sends it; refuses what cannot be stored. */
  readonly toMessage: (sender: Sender) => Promise<NewMessage>;
}

/** Who sends. */
export interface Sender {
  /** The name of this service: the `source` of what it sends. */
  readonly service: string;
  readonly generation: number | undefined;
  /** Who publishes messages of a type, where that is not left to the handlers of this database. */
  readonly takenAs?: ((type: string) => string | undefined) | undefined;
  readonly wrapSend?: SendWrapper | undefined;
  /** Seals the payloads of all events that do not say otherwise. */
  readonly sealing?: Sealing | undefined;
}

/** What is about to be sent, in one statement. */
export interface SendAbout {
  readonly service: string;
  /** In the order of the messages. */
  readonly types: readonly string[];
}

/**
 * Is called around each `send` and `sendAll`, so that what is sent belongs to a span of its own. Calls `send` once. It cannot change
 * what becomes of the messages.
 */
export type SendWrapper = (about: SendAbout, send: () => Promise<readonly SendResult[]>) => unknown;

/** Sending, as one service does it. */
export interface Sending<Tx> {
  /**
   * Writes a message in the caller's transaction: it leaves with the commit, or not at all. Throws `PAYLOAD_INVALID`,
   * `PAYLOAD_TOO_LARGE` or `OUTBOX_FULL` before anything is written, so the transaction stays usable.
   */
  send<Input, Output>(
    tx: Tx,
    event: EventDefinition<Input, Output>,
    payload: Input,
    options?: SendOptions,
  ): Promise<SendResult>;
  /** Many messages in one statement; the answers are in their order. Make them with `outgoing`. */
  sendAll(tx: Tx, messages: readonly Outgoing[]): Promise<readonly SendResult[]>;
}

const MAX_KEY_LENGTH = 255;
/** Fits into an index with what is put before it. */
const MAX_PERSON_LENGTH = 150;
/** Later ones are written in a way that databases do not read. */
const LAST_TIME_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Sends to a store for a service. Starts nothing: sending needs no running part. */
export function createSending<Tx>(sender: Sender, store: OutboxStore<Tx>): Sending<Tx> {
  const { service, wrapSend } = sender;
  const append: Sending<Tx>['sendAll'] = async (tx, messages) => {
    const made: NewMessage[] = [];
    // One after the other: a schema may be async, and the first refusal must be the first message's.
    for (const message of messages) made.push(await message.toMessage(sender));
    return store.append(tx, made);
  };
  const sendAll: Sending<Tx>['sendAll'] = async (tx, messages) => {
    checkOutgoing(messages);
    if (messages.length === 0) return [];
    if (!wrapSend) return append(tx, messages);
    const types = messages.map(({ type }) => type);
    return wrapped(
      (once) => wrapSend({ service, types }, once),
      () => append(tx, messages),
    );
  };
  return {
    sendAll,
    async send(tx, event, payload, sendOptions) {
      const [result] = await sendAll(tx, [outgoing(event, payload, sendOptions)]);
      if (!result) throw new TypeError('the store gave no answer for a message');
      return result;
    },
  };
}

/** A message for `sendAll`, with its payload checked against its event by the compiler. */
export function outgoing<Input, Output>(
  event: EventDefinition<Input, Output>,
  payload: Input,
  options: SendOptions = {},
): Outgoing {
  // Plain JavaScript may pass no event at all, which is refused when the message is made.
  const { type = 'unknown' } = (event as Partial<typeof event> | undefined) ?? {};
  return { type, toMessage: (sender) => toMessage(sender, event, payload, options) };
}

async function toMessage<Input, Output>(
  { service, generation, takenAs, sealing }: Sender,
  event: EventDefinition<Input, Output>,
  payload: Input,
  options: SendOptions,
): Promise<NewMessage> {
  checkEvent(event);
  const text = await serializePayload(event, payload);
  const key = event.key?.(payload);
  const aggregate = event.aggregate?.(payload);
  const person = options.person ?? event.person?.(payload);
  checkSend(event.type, event.key ? { key } : {}, aggregate, options);
  if (person !== undefined) checkPerson(event.type, person);
  const id = newId();
  const seals = event.sealing ?? sealing;
  const span = activeSpan();
  return {
    id,
    type: event.type,
    takenAs: takenAs?.(event.type),
    key,
    payload: seals ? await sealPayload(seals, text, { id, type: event.type, person }) : text,
    idempotencyKey: options.idempotencyKey,
    source: service,
    target: options.target,
    aggregateType: aggregate?.type,
    aggregateId: aggregate?.id,
    generation,
    correlationId: options.correlationId ?? id,
    causationId: options.causationId,
    traceparent: span && traceparentOf(span),
    tracestate: options.tracestate,
    headers: headersOf(options.headers, event.version, person),
    // Before 1970: in the past, on whatever clock.
    deliverAt: options.deliverAt && options.deliverAt.getTime() > 0 ? options.deliverAt : undefined,
    strict: event.order === 'strict',
    ...(options.wake === false && { wake: false }),
  };
}

/** With what we say in headers ourselves: nothing, of most messages. */
function headersOf(
  headers: SendOptions['headers'],
  version: number,
  person: string | undefined,
): SendOptions['headers'] {
  if (version === 1 && person === undefined) return headers;
  const own = {
    ...(version > 1 && { [VERSION_HEADER]: String(version) }),
    ...(person !== undefined && { [PERSON_HEADER]: person }),
  };
  return { ...headers, ...own };
}

/** Plain JavaScript may pass a name, or nothing where modules import each other in a circle. */
function checkEvent(event: unknown): void {
  if (typeof (event as { type?: unknown } | undefined)?.type === 'string') return;
  const check = new OptionCheck('send()');
  check.refuseName('event', event, "pass what event('order.placed') gives: send(tx, event, payload)");
  check.done();
}

function checkOutgoing(messages: unknown): void {
  const list: readonly unknown[] | undefined = Array.isArray(messages) ? messages : undefined;
  const odd = list?.findIndex((one) => typeof (one as Partial<Outgoing> | null)?.toMessage !== 'function');
  if (list && odd === -1) return;
  const check = new OptionCheck('sendAll()');
  const write = 'pass what outgoing(event, payload) gives: sendAll(tx, [outgoing(orderPlaced, order)])';
  if (list) check.refuse(`messages[${odd}]`, list[odd ?? 0], write);
  else check.refuse('messages', messages, write);
  check.done();
}

function checkSend(
  type: string,
  keyed: { readonly key?: unknown },
  aggregate: Record<string, unknown> | undefined,
  options: SendOptions,
): void {
  const { idempotencyKey, deliverAt, headers, target, correlationId, causationId, tracestate } = options;
  const check = new OptionCheck(`send() of "${type}"`);
  check.known(options, [
    'idempotencyKey',
    'deliverAt',
    'headers',
    'target',
    'correlationId',
    'causationId',
    'tracestate',
    'person',
    'wake',
  ]);
  if (options.wake !== undefined && typeof options.wake !== 'boolean')
    check.refuse('wake', options.wake, 'write false, or leave it out');
  if ('key' in keyed && !isText(keyed.key))
    check.refuse('key', keyed.key, `give a string of 1 to ${MAX_KEY_LENGTH} characters`);
  if (idempotencyKey !== undefined && !isText(idempotencyKey)) {
    check.refuse('idempotencyKey', idempotencyKey, `write 1 to ${MAX_KEY_LENGTH} characters, or leave it out`);
  }
  if (deliverAt !== undefined && !(deliverAt instanceof Date && deliverAt.getTime() <= LAST_TIME_MS)) {
    check.refuse('deliverAt', deliverAt, 'pass a valid Date before the year 10000, or leave it out');
  }
  const texts = {
    target,
    correlationId,
    causationId,
    tracestate,
    aggregate: aggregate?.['type'],
    aggregateId: aggregate?.['id'],
  };
  for (const [name, value] of Object.entries(texts)) {
    if (value !== undefined && !isStorable(value)) check.refuse(name, value, 'write text without NUL, or leave it out');
  }
  // A Map or Headers would leave without their entries.
  if (headers && Object.prototype.toString.call(headers) !== '[object Object]')
    check.refuse('headers', headers, "pass a plain object: { tenant: 't_1' }");
  for (const [name, value] of Object.entries(headers ?? {})) {
    if (!isStorable(name) || !isStorable(value)) check.refuse(`headers.${name}`, value, 'write text without NUL');
    else if (name.startsWith(OWN_HEADERS))
      check.refuseName('headers', name, `names that begin with ${OWN_HEADERS} are ours`);
  }
  check.done();
}

function checkPerson(type: string, person: unknown): void {
  if (isText(person) && (person as string).length <= MAX_PERSON_LENGTH) return;
  const check = new OptionCheck(`send() of "${type}"`);
  check.refuse('person', person, `write 1 to ${MAX_PERSON_LENGTH} characters, or leave it out`);
  check.done();
}

function isText(value: unknown): boolean {
  return isStorable(value) && value.length > 0 && value.length <= MAX_KEY_LENGTH;
}

/** The database takes it: in its transaction a refusal would cost the sender all of that. */
function isStorable(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed() && !value.includes('\u0000');
}
