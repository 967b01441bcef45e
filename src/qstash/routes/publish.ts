import type { PublishOutcome, PublishRequest } from '../../delivery/publishing.ts';
import { rawDestination, readDestination } from '../destination.ts';
import { headerMap, type HeaderMap } from '../message-headers.ts';
import { keptBody } from '../message-body.ts';
import { goodName, readSettings } from '../message-settings.ts';
import { readJson } from '../read-json.ts';
import { badRequest, Refusal } from '../refusal.ts';
import { publishReply } from '../replies.ts';
import type { ApiAnswer, ApiCall, ApiRoute } from '../route.ts';

/** Taking in messages. */
export const PUBLISH_ROUTES: readonly ApiRoute[] = [
  { method: 'POST', path: 'publish/*', scope: 'publish', takes: 'message', run: (call) => publishOne(call, undefined) },
  {
    method: 'POST',
    path: 'enqueue/:queue/*',
    scope: 'publish',
    takes: 'message',
    run: (call) => publishOne(call, goodName('the queue', call.params['queue'] ?? '')),
  },
  { method: 'POST', path: 'batch', scope: 'publish', run: publishMany },
];

async function publishOne(call: ApiCall, queue: string | undefined): Promise<ApiAnswer> {
  const { text, settings } = rawDestination(call.rest, call.rawQuery, call.isTokenInQuery);
  const bytes = await call.bytes(call.limits.maxBodyBytes);
  const request = publishRequest(call, { text, queue, headers: new Map([...settings, ...call.headers]), bytes });
  const [outcome] = await call.deliveries.publishing.publish([request]);
  if (outcome === undefined) throw new Refusal(500, 'the message was not taken in; try again');
  if (outcome.kind === 'refused') throw new Refusal(REFUSALS[outcome.why], outcome.message);
  const isDuplicate = outcome.messages.length > 0 && outcome.messages.every((one) => one.isDuplicate);
  return { status: isDuplicate ? 202 : 201, value: publishReply(outcome) };
}

const REFUSALS = {
  'destination-refused': 400,
  'group-unknown': 404,
  'group-empty': 400,
  'too-large': 413,
  'too-much': 413,
  'queue-and-flow': 400,
  full: 412,
  invalid: 400,
} as const;

interface RawMessage {
  readonly text: string;
  readonly queue: string | undefined;
  readonly headers: HeaderMap;
  readonly bytes: Uint8Array;
}

function publishRequest(call: ApiCall, { text, queue, headers, bytes }: RawMessage): PublishRequest {
  const { delivery, notBefore, deduplication, flow, cron } = readSettings(headers, {
    nowMs: call.nowMs,
    maxDelayMs: call.limits.maxDelayMs,
  });
  if (cron !== undefined)
    throw badRequest('Upstash-Cron makes a schedule; send it to POST /v2/schedules/{destination}');
  if (queue !== undefined && delivery.flowKey !== undefined) {
    throw badRequest('a message stands in a queue or under a flow-control key, not both; leave one of them out');
  }
  // Which schedule made a message is for the server to say.
  const { queue: _queue, scheduleId: _scheduleId, ...rest } = delivery;
  return {
    to: readDestination(text),
    delivery: {
      ...rest,
      ...keptBody(bytes),
      ...(queue !== undefined && { queue }),
      ...(call.callerIp !== undefined && { callerIp: call.callerIp }),
    },
    ...(notBefore && { notBefore }),
    ...(deduplication && { deduplication }),
    ...(flow && { flow }),
  };
}

/** Items that are wrong are told so in their place; the others are taken in. */
async function publishMany(call: ApiCall): Promise<ApiAnswer> {
  const items = readItems(await call.bytes(call.limits.maxBatchBytes), call.limits.maxBatch);
  const read = items.map((item) => readItem(call, item));
  const requests = read.flatMap((one) => ('error' in one ? [] : [one]));
  const outcomes = requests.length === 0 ? [] : await call.deliveries.publishing.publish(requests);
  const tooMuch = outcomes.find((one) => one.kind === 'refused' && one.why === 'too-much');
  if (tooMuch?.kind === 'refused') throw new Refusal(413, tooMuch.message);
  const byRequest = new Map<PublishRequest, PublishOutcome>();
  for (const [i, request] of requests.entries()) {
    const outcome = outcomes[i];
    if (outcome) byRequest.set(request, outcome);
  }
  const value = read.map((one) => {
    if ('error' in one) return one;
    const outcome = byRequest.get(one);
    return outcome === undefined ? { error: 'the message was not taken in; try again' } : publishReply(outcome);
  });
  return { status: 201, value };
}

function readItem(call: ApiCall, item: unknown): PublishRequest | { readonly error: string } {
  try {
    if (typeof item !== 'object' || item === null) throw badRequest('an item is { destination, headers, body }');
    const { destination, headers, body, queue } = item as Readonly<Record<string, unknown>>;
    if (typeof destination !== 'string') throw badRequest('destination is missing; write an address or a URL group');
    const bytes = new TextEncoder().encode(itemBody(body));
    if (bytes.length > call.limits.maxBodyBytes) throw badRequest(tooLarge(call.limits.maxBodyBytes));
    return publishRequest(call, {
      text: destination,
      queue: itemQueue(queue),
      headers: itemHeaders(headers ?? {}),
      bytes,
    });
  } catch (error) {
    if (error instanceof Refusal) return { error: error.message };
    throw error;
  }
}

/** The Python client writes null where there is no queue, the Go client an empty text. */
function itemQueue(queue: unknown): string | undefined {
  if (queue === undefined || queue === null || queue === '') return undefined;
  if (typeof queue !== 'string') throw badRequest('queue is no text; write its name');
  return goodName('queue', queue);
}

/** Text as it is, nothing for null, any other JSON as JSON text. */
function itemBody(body: unknown): string {
  if (body === undefined || body === null) return '';
  if (typeof body === 'string') return body;
  if (!isKeptByJson(body, MOST_LEVELS)) {
    throw badRequest(
      `body is JSON that would arrive changed: it holds a whole number of more than 53 bits, or more than ${MOST_LEVELS} levels; write the body as text`,
    );
  }
  return JSON.stringify(body);
}

/** Far more than any body has, and far less than what the stack holds. */
const MOST_LEVELS = 200;

function isKeptByJson(value: unknown, levels: number): boolean {
  if (typeof value === 'number')
    return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((one) => isKeptByJson(one, levels - 1));
}

/** What a body that is too large is told. */
export function tooLarge(mostBytes: number): string {
  return `the body is larger than ${mostBytes} bytes, the most there is here`;
}

function itemHeaders(headers: unknown): HeaderMap {
  if (typeof headers !== 'object' || headers === null) throw badRequest('headers is no object; write { name: value }');
  return headerMap(
    Object.entries(headers).flatMap(([name, value]: [string, unknown]) => {
      const values: readonly unknown[] = Array.isArray(value) ? value : value === null ? [] : [value];
      if (values.some((one) => typeof one === 'object'))
        throw badRequest(`the header ${JSON.stringify(name)} is no text`);
      // Several values of one header are one value with commas, as in HTTP.
      return values.length === 0 ? [] : [[name, values.join(', ')] as const];
    }),
  );
}

function readItems(bytes: Uint8Array, most: number): readonly unknown[] {
  const items = readJson(bytes);
  const list: readonly unknown[] = Array.isArray(items) ? items : [items];
  if (list.length > most) throw badRequest(`the batch has ${list.length} messages and ${most} is the most`);
  return list;
}
