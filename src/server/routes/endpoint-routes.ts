import type { EndpointOutcome, WebhookEndpointInput, WebhookSent } from '../../delivery/webhook-endpoints.ts';
import { get, post, type Route } from '../route.ts';
import {
  anything,
  described,
  either,
  flag,
  kinds,
  list,
  mapOf,
  number,
  object,
  optional,
  type Schema,
  text,
  time,
  whole,
  words,
} from '../schema.ts';
import {
  CHANGED,
  type Counted,
  COUNTED,
  ENDPOINT,
  ENDPOINT_ANSWER,
  type EndpointAnswer,
  asChanged,
  asFound,
  foundOne,
  SECRET_ANSWER,
  type SecretAnswer,
} from '../schemas/delivery-schemas.ts';
import { REASON } from './shared-fields.ts';

type Input = { readonly [K in keyof WebhookEndpointInput]-?: Schema<WebhookEndpointInput[K]> };

const FIELDS: Omit<Input, 'url' | 'secret'> = {
  description: optional(text),
  eventTypes: described(optional(list(text)), 'Types, `order.*` for all below; none: all.'),
  headers: described(optional(mapOf(text)), 'Sent along with each event.'),
  retrySeconds: described(optional(list(number)), 'The waits before each further try.'),
  timeoutMs: optional(whole(1, 900_000)),
  ratePerSecond: optional(whole(1, 100_000)),
};

/** The same where null takes a setting back. */
const CHANGES = Object.fromEntries(
  Object.entries(FIELDS).map(([name, field]) => [
    name,
    { ...either(field, { json: { type: 'null' } }), isOptional: true },
  ]),
) as { readonly [K in keyof typeof FIELDS]: Schema<WebhookEndpointInput[K] | null | undefined> };

/** The message that carries a test. */
type Tested = { readonly kind: 'sent'; readonly messageId: string } | { readonly kind: 'not-found' };

const TESTED: Schema<Tested> = kinds<Tested>({ sent: { messageId: text }, 'not-found': {} });

function withoutReason<T extends { readonly reason: unknown }>(body: T): Omit<T, 'reason'> {
  const { reason, ...rest } = body;
  void reason;
  return rest;
}

function answerOf(outcome: EndpointOutcome): EndpointAnswer {
  return outcome.kind === 'refused' ? { kind: 'invalid', problem: outcome.message } : outcome;
}

const reads: readonly Route[] = [
  get({
    id: 'listEndpoints',
    path: 'api/delivery/endpoints',
    summary: 'Registered webhook endpoints.',
    answer: list(ENDPOINT),
    run: ({ deliveries }) => deliveries.endpoints.list(),
  }),
  get({
    id: 'showEndpoint',
    path: 'api/delivery/endpoints/:id',
    summary: 'One of them.',
    answer: foundOne(ENDPOINT),
    run: async ({ deliveries, params: { id = '' } }) => asFound(await deliveries.endpoints.get(id)),
  }),
  get({
    id: 'showEndpointSecrets',
    path: 'api/delivery/endpoints/:id/secrets',
    role: 'admin',
    summary: 'The secrets that sign now, the newest first.',
    answer: foundOne(list(text)),
    run: async ({ deliveries, params: { id = '' }, by }) => asFound(await deliveries.endpoints.secrets(id, by)),
  }),
];

const changes: readonly Route[] = [
  post({
    id: 'createEndpoint',
    path: 'api/delivery/endpoints',
    role: 'admin',
    summary: 'Registers an endpoint.',
    body: { url: words(2_000), secret: optional(text), ...FIELDS, ...REASON },
    answer: ENDPOINT_ANSWER,
    run: async ({ deliveries, body, by }) => answerOf(await deliveries.endpoints.create(withoutReason(body), by)),
  }),
  post({
    id: 'updateEndpoint',
    path: 'api/delivery/endpoints/:id/update',
    role: 'admin',
    summary: 'Changes what is given; null takes a setting back.',
    body: { url: optional(words(2_000)), ...CHANGES, ...REASON },
    answer: ENDPOINT_ANSWER,
    run: async ({ deliveries, params: { id = '' }, body, by }) =>
      answerOf(await deliveries.endpoints.update(id, withoutReason(body), by)),
  }),
  post({
    id: 'deleteEndpoint',
    path: 'api/delivery/endpoints/:id/delete',
    role: 'admin',
    summary: 'It is gone, and what waits for it is cancelled.',
    body: REASON,
    answer: CHANGED,
    run: async ({ deliveries, params: { id = '' }, by }) => asChanged(await deliveries.endpoints.delete(id, by)),
  }),
  post({
    id: 'enableEndpoint',
    path: 'api/delivery/endpoints/:id/enable',
    summary: 'What waited for it goes on.',
    body: REASON,
    answer: ENDPOINT_ANSWER,
    run: async ({ deliveries, params: { id = '' }, by }) => answerOf(await deliveries.endpoints.enable(id, by)),
  }),
  post({
    id: 'disableEndpoint',
    path: 'api/delivery/endpoints/:id/disable',
    summary: 'What waits for it goes on waiting; new events are not for it.',
    body: REASON,
    answer: ENDPOINT_ANSWER,
    run: async ({ deliveries, params: { id = '' }, by }) => answerOf(await deliveries.endpoints.disable(id, by)),
  }),
  post({
    id: 'rotateEndpointSecret',
    path: 'api/delivery/endpoints/:id/rotate',
    role: 'admin',
    summary: 'A new secret, shown here; the one before signs too for a while.',
    body: {
      graceHours: described(optional(number), 'For how long. Default 24, at most 168.'),
      secret: optional(text),
      ...REASON,
    },
    answer: SECRET_ANSWER,
    run: async ({ deliveries, params: { id = '' }, body: { graceHours, secret }, by }): Promise<SecretAnswer> => {
      const outcome = await deliveries.endpoints.rotateSecret(id, by, { graceHours, secret });
      return outcome.kind === 'refused' ? { kind: 'invalid', problem: outcome.message } : outcome;
    },
  }),
  post({
    id: 'resendToEndpoint',
    path: 'api/delivery/endpoints/:id/resend',
    summary: 'Sends one of its messages once more, under its id.',
    body: { messageId: words(100), ...REASON },
    answer: CHANGED,
    run: async ({ deliveries, params: { id = '' }, body: { messageId }, by }) =>
      asChanged(await deliveries.endpoints.resend(id, messageId, by)),
  }),
  post({
    id: 'recoverEndpoint',
    path: 'api/delivery/endpoints/:id/recover',
    summary: 'Puts all of its messages that failed since then back in line.',
    body: { since: time, ...REASON },
    answer: COUNTED,
    run: async ({ deliveries, params: { id = '' }, body: { since }, by }): Promise<Counted> => {
      const count = await deliveries.endpoints.recover(id, since, by);
      return count === undefined ? { kind: 'not-found' } : { kind: 'done', count };
    },
  }),
  post({
    id: 'testEndpoint',
    path: 'api/delivery/endpoints/:id/test',
    summary:
      'Sends an event to this endpoint alone, to see whether it takes it. There is none for one that is disabled.',
    body: { type: described(optional(words(256)), 'Default `test.ping`.'), ...REASON },
    answer: TESTED,
    run: async ({ deliveries, params: { id = '' }, body: { type = 'test.ping' }, by }): Promise<Tested> => {
      const { messageIds } = await deliveries.endpoints.send({ type, data: { sentBy: by.actor } }, { to: id, by });
      const [messageId] = messageIds;
      return messageId === undefined ? { kind: 'not-found' } : { kind: 'sent', messageId };
    },
  }),
  post({
    id: 'sendWebhook',
    path: 'api/delivery/events',
    role: 'admin',
    summary: 'Sends an event to all endpoints that want it.',
    body: { type: words(256), data: anything, eventId: optional(words(200)), occurredAt: optional(time) },
    answer: object<WebhookSent>({ eventId: text, messageIds: list(text), isDuplicate: flag }),
    run: ({ deliveries, body: { type, data, eventId, occurredAt }, by }) =>
      deliveries.endpoints.send({ type, data, eventId, occurredAt }, { by }),
  }),
];

/** What a server that delivers shows and changes of webhook endpoints. */
export const ENDPOINT_ROUTES: readonly Route[] = [...reads, ...changes];
