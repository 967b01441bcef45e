import { expect } from 'vitest';
import { DELIVERY_HANDLER, DELIVERY_SERVICE, DELIVERY_TYPE } from '../../src/delivery/delivery-request.ts';
import { openApi } from '../../src/server/openapi.ts';
import { ALL_ROUTES } from '../../src/server/routes/all-routes.ts';
import { postgresDelivery, type PostgresDelivery } from '../../src/postgres/delivery/postgres-delivery.ts';
import { to } from '../delivery-store/delivery-database.ts';
import type { OperatorDatabase } from '../operator/operator-database.ts';
import { failedShop } from '../server/failed-shop.ts';
import { serveHere } from '../server/serving.ts';
import { needs } from '../support/needs.ts';
import { refuseEntriesOf, stateOf } from './audit-state.ts';

const test = needs('postgres');

const SECRET = 'a secret of thirty-two characters or more';
const TOKENS = [
  { token: 'admin-secret-of-ada', role: 'admin', actor: 'ada' },
  { token: 'admin-secret-of-eve', role: 'admin', actor: 'eve' },
] as const;

/** What a step may need of those before it. */
interface Known {
  readonly database: OperatorDatabase;
  readonly deliveries: PostgresDelivery;
  /** Dead letters, the oldest first. */
  readonly ids: readonly string[];
  readonly group: string;
  readonly answers: Record<string, unknown>;
}

/** One request: below `api/`, and its body; nothing: it is a GET. */
type Asked = readonly [path: string, body?: object];
type Step = (known: Known) => Asked | Promise<Asked>;

const URL_OF = 'https://shop.example/orders';

const bulk =
  (verb: string): Step =>
  ({ answers }) => [`bulk/${(answers['planBulk'] as { bulk: { id: string } }).bulk.id}/${verb}`, {}];

function endpointId({ answers }: Known): string {
  return (answers['createEndpoint'] as { endpoint: { id: string } }).endpoint.id;
}

const endpoint =
  (verb: string, body: object = {}): Step =>
  (known) => [`delivery/endpoints/${endpointId(known)}/${verb}`, body];

async function published({ deliveries }: Known): Promise<string> {
  const [outcome] = await deliveries.publishing.publish([
    to(URL_OF, {}, { notBefore: new Date(Date.now() + 3_600_000) }),
  ]);
  return outcome?.kind === 'published' ? (outcome.messages[0]?.messageId ?? '') : '';
}

async function deadDelivery(known: Known): Promise<string> {
  const id = await published(known);
  await known.database.sql(`update $S.delivery set state = 2, due_at = null, failed_at = now() where id = $1`, [id]);
  return `${id}-0`;
}

async function sent({ deliveries, ...known }: Known): Promise<string> {
  const { messageIds } = await deliveries.endpoints.send(
    { type: 'order.paid', data: {} },
    { to: endpointId({ deliveries, ...known }) },
  );
  return messageIds[0] ?? '';
}

/** Every route that writes, or reads a secret, in an order in which each finds something to do. */
const STEPS: Readonly<Record<string, Step>> = {
  replayMessage: ({ ids }) => [`messages/${ids[0]}/replay`, {}],
  discardMessage: ({ ids }) => [`messages/${ids[1]}/discard`, { reason: 'old' }],
  editMessage: async ({ ids, database }) => {
    await database.sql(`delete from $S.delivered where id = $1`, [ids[2]]);
    return [`messages/${ids[2]}/edit`, { payload: { n: 3, customer: { id: 3, email: 'a@b.c' } } }];
  },
  cancelMessage: async ({ database }) => [
    `messages/${await database.delivery({ state: 'waiting', dueInSeconds: 3_600 })}/cancel`,
    {},
  ],
  replayKey: () => ['keys/replay', { handler: 'charge', key: 'c4' }],
  skipKey: () => ['keys/skip', { handler: 'charge', key: 'c5', reason: 'old' }],
  releaseKey: () => ['keys/release', { handler: 'charge', key: 'c6' }],
  discardKey: () => ['keys/discard', { handler: 'charge', key: 'c6', reason: 'old' }],
  replayDeadLetters: () => ['dead-letters/replay', { filter: { type: 'order.placed' }, limit: 1 }],
  pauseHandler: () => ['handlers/pause', { handler: 'charge' }],
  resumeHandler: () => ['handlers/resume', { handler: 'charge' }],
  limitHandler: () => ['handlers/limit', { handler: 'charge', limit: 3 }],
  pauseAll: () => ['pause-all', {}],
  resumeAll: () => ['resume-all', {}],
  openBreaker: () => ['breakers/open', { name: 'charge' }],
  closeBreaker: () => ['breakers/close', { name: 'charge' }],
  ignoreGroup: ({ group }) => [`groups/${group}/ignore`, {}],
  resolveGroup: ({ group }) => [`groups/${group}/resolve`, {}],
  reopenGroup: ({ group }) => [`groups/${group}/reopen`, {}],
  startBulk: bulk('start'),
  pauseBulk: bulk('pause'),
  resumeBulk: bulk('resume'),
  cancelBulk: bulk('cancel'),
  erase: () => ['erasures', { person: 'usr_1', reason: 'asked' }],
  retireHandler: () => ['handlers/retire', { handler: 'charge', discardOpen: true }],
  cancelDelivery: async (known) => [`delivery/messages/${await published(known)}/cancel`, {}],
  replayDeadDeliveries: async (known) => ['delivery/dead/replay', { dlqIds: [await deadDelivery(known)] }],
  discardDeadDeliveries: async (known) => [
    'delivery/dead/discard',
    { dlqIds: [await deadDelivery(known)], reason: 'old' },
  ],
  pauseQueue: async ({ deliveries }) => {
    await deliveries.queues.upsert('mail', { parallelism: 2 });
    return ['delivery/queues/pause', { name: 'mail' }];
  },
  resumeQueue: () => ['delivery/queues/resume', { name: 'mail' }],
  setQueueParallelism: () => ['delivery/queues/parallelism', { name: 'mail', parallelism: 7 }],
  pinFlowControl: () => ['delivery/flow-controls/pin', { key: 'k', rate: 5 }],
  unpinFlowControl: () => ['delivery/flow-controls/unpin', { key: 'k' }],
  pauseFlowControl: () => ['delivery/flow-controls/pause', { key: 'k' }],
  resumeFlowControl: () => ['delivery/flow-controls/resume', { key: 'k' }],
  resetFlowControl: () => ['delivery/flow-controls/reset', { key: 'k' }],
  pauseSchedule: async ({ deliveries }) => {
    const { delivery, to: target } = to(URL_OF);
    await deliveries.schedules.put({ scheduleId: 'nightly', cron: '0 3 * * *', to: target, delivery });
    return ['delivery/schedules/nightly/pause', {}];
  },
  resumeSchedule: () => ['delivery/schedules/nightly/resume', {}],
  deleteSchedule: () => ['delivery/schedules/nightly/delete', {}],
  openDestination: () => ['delivery/destinations/open', { destination: 'https://shop.example' }],
  closeDestination: () => ['delivery/destinations/close', { destination: 'https://shop.example' }],
  createEndpoint: () => ['delivery/endpoints', { url: 'https://hooks.example/in' }],
  updateEndpoint: endpoint('update', { timeoutMs: 5_000 }),
  disableEndpoint: endpoint('disable'),
  enableEndpoint: endpoint('enable'),
  showEndpointSecrets: (known) => [`delivery/endpoints/${endpointId(known)}/secrets`],
  rotateEndpointSecret: endpoint('rotate', { graceHours: 1 }),
  testEndpoint: endpoint('test'),
  sendWebhook: () => ['delivery/events', { type: 'order.paid', data: { id: 7 } }],
  resendToEndpoint: async (known) => {
    const id = await sent(known);
    await known.database.sql(`update $S.delivery set state = 2, failed_at = now() where id = $1`, [id]);
    return [`delivery/endpoints/${endpointId(known)}/resend`, { messageId: id }];
  },
  recoverEndpoint: async (known) => {
    const id = await sent(known);
    await known.database.sql(`update $S.delivery set state = 2, failed_at = now() where id = $1`, [id]);
    return [`delivery/endpoints/${endpointId(known)}/recover`, { since: '2020-01-01T00:00:00Z' }];
  },
  deleteEndpoint: endpoint('delete'),
};

/** POST routes that enter nothing, and why. */
const ENTER_NOTHING: Readonly<Record<string, string>> = {
  previewErase: 'counts, and changes nothing',
  planBulk: 'says what would be done, under a name; doing it is startBulk',
  stepBulks: 'goes on with what was started; what it does is entered as whoever started it',
};

test('every route of the operator that writes or reads a secret is audited as whoever asked, in the transaction of the change', async ({
  postgres,
}) => {
  const database = await failedShop(postgres, 8);
  const { pool, schema, operator } = database;
  await database.handler(9, DELIVERY_SERVICE, DELIVERY_HANDLER, { types: [DELIVERY_TYPE] });
  const deliveries = postgresDelivery({ pool, schema, secret: SECRET });
  const { url } = await serveHere({ operator, deliveries, tokens: TOKENS });
  const paths = openApi('0.0.0', '', ALL_ROUTES)['paths'] as Record<string, Record<string, { operationId: string }>>;
  const operations = Object.values(paths).flatMap((methods) => Object.entries(methods));
  const writing = operations.filter(([method]) => method !== 'get').map(([, { operationId }]) => operationId);
  const secret = operations.map(([, { operationId }]) => operationId).filter((id) => /secret|token|signing/i.test(id));
  const expected = new Set([...writing, ...secret].filter((id) => ALL_ROUTES.some((route) => route.id === id)));
  expect([...Object.keys(STEPS), ...Object.keys(ENTER_NOTHING)].toSorted()).toEqual([...expected].toSorted());

  const ask = async (actor: 'ada' | 'eve', [path, body]: Asked): Promise<Response> =>
    fetch(`${url}/api/${path}`, {
      headers: { authorization: `Bearer admin-secret-of-${actor}`, 'content-type': 'application/json' },
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    });
  const entered = async (actor: string): Promise<number> => {
    const rows = await database.sql<{ n: number }>(`select count(*)::int as n from $S.audit where actor = $1`, [actor]);
    return rows[0]?.n ?? 0;
  };
  const answers: Record<string, unknown> = {};
  const dead = (await operator.deadLetters()).items.toReversed().map(({ messageId }) => messageId);
  const group = (await operator.groups()).items[0]?.id ?? '';
  const known: Known = { database, deliveries, ids: dead, group, answers };
  const planned = await ask('ada', ['bulk', { verb: 'replay', filter: { handler: 'charge' } }]);
  answers['planBulk'] = await planned.json();
  await refuseEntriesOf(pool, schema, 'eve');

  for (const [id, step] of Object.entries(STEPS)) {
    const request = await step(known);
    const before = await stateOf(pool, schema);
    expect([id, (await ask('eve', request)).status]).toEqual([id, 500]);
    expect(await stateOf(pool, schema), `${id} without its entry`).toEqual(before);
    const count = await entered('ada');
    const done = await ask('ada', request);
    answers[id] = await done.json();
    expect([id, done.status, answers[id]]).toEqual([id, 200, answers[id]]);
    expect(await entered('ada'), `entries of ${id}`).toBeGreaterThan(count);
    // What a bulk operation does is entered as whoever started it, whoever carries it on.
    if (id === 'resumeBulk') {
      const started = await entered('ada');
      expect((await ask('eve', ['bulk/step', {}])).status).toBe(200);
      expect(await entered('ada')).toBeGreaterThan(started);
    }
  }
  expect(await entered('eve')).toBe(0);
  expect(await operator.verifyAudit()).toMatchObject({ kind: 'whole' });
});
