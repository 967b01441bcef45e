import { describe, expect } from 'vitest';
import { TOOLS } from '../../src/mcp/all-tools.ts';
import { PLAIN_ROUTES } from '../../src/server/plain-routes.ts';
import { ROLES, type Role, type Route } from '../../src/server/route.ts';
import { ALL_ROUTES } from '../../src/server/routes/all-routes.ts';
import { as, change } from '../server/serving.ts';
import { needs } from '../support/needs.ts';
import { ALWAYS, foundIn, GROUP, HIDDEN_BELOW_ADMIN, plant, type Planted, REDACT, serve } from './planted.ts';

const test = needs('postgres');

interface Known extends Planted {
  readonly bulkId: string;
  readonly later: string;
}

/** Where a route is asked: its path and query, and the body of a change. */
type Ask = readonly [path: string, body?: object];

const REASON = { reason: 'r' };

/** Every route of the API, in an order in which most have something to show. One that is added belongs here. */
const ROUTES: Readonly<Record<string, (known: Known) => Ask>> = {
  overview: () => ['overview?range=day'],
  listIdempotencyRecords: () => ['idempotency'],
  listCommands: () => ['commands'],
  showRun: () => ['commands/run?target=run-1'],
  listCalls: () => ['calls'],
  trace: ({ messageId }) => [`trace?id=${messageId}`],
  system: () => ['system'],
  listAudit: () => ['audit'],
  verifyAudit: () => ['audit/verify'],
  listMessages: () => ['messages'],
  countMessages: () => ['messages/tabs'],
  showMessage: ({ messageId }) => [`messages/${messageId}`],
  findMessage: ({ messageId }) => [`messages/${messageId}/summary`],
  explainMessage: ({ messageId }) => [`messages/${messageId}/why`],
  forecastMessage: ({ messageId }) => [`messages/${messageId}/forecast`],
  listDeadLetters: () => ['dead-letters'],
  listGroups: () => ['groups'],
  showGroup: () => [`groups/${GROUP}`],
  listBulks: () => ['bulk?state=planned'],
  showBulk: ({ bulkId }) => [`bulk/${bulkId}`],
  listBulkItems: ({ bulkId }) => [`bulk/${bulkId}/items`],
  listKeys: () => ['keys'],
  listHandlers: () => ['handlers'],
  stats: () => ['stats?countDelivered=true'],
  listBreakers: () => ['breakers'],
  listErasures: () => ['erasures'],
  listDeliveries: () => ['delivery/messages'],
  showDelivery: ({ deliveryId }) => [`delivery/messages/${deliveryId}`],
  listDeliveryLog: () => ['delivery/log'],
  listDeadDeliveries: () => ['delivery/dead'],
  showDeadDelivery: ({ dlqId }) => [`delivery/dead/${dlqId}`],
  listQueues: () => ['delivery/queues'],
  listUrlGroups: () => ['delivery/url-groups'],
  listFlowControls: () => ['delivery/flow-controls'],
  listSchedules: () => ['delivery/schedules'],
  showSchedule: () => ['delivery/schedules/nightly'],
  listDestinations: () => ['delivery/destinations'],
  listEndpoints: () => ['delivery/endpoints'],
  showEndpoint: ({ endpointId }) => [`delivery/endpoints/${endpointId}`],
  showEndpointSecrets: ({ endpointId }) => [`delivery/endpoints/${endpointId}/secrets`],
  // Changes: those that end something come last.
  planBulk: () => ['bulk', { verb: 'replay', filter: {}, ...REASON }],
  pauseBulk: ({ bulkId }) => [`bulk/${bulkId}/pause`, REASON],
  resumeBulk: ({ bulkId }) => [`bulk/${bulkId}/resume`, REASON],
  cancelBulk: ({ bulkId }) => [`bulk/${bulkId}/cancel`, REASON],
  startBulk: ({ bulkId }) => [`bulk/${bulkId}/start`, REASON],
  stepBulks: () => ['bulk/step', {}],
  resolveGroup: () => [`groups/${GROUP}/resolve`, REASON],
  ignoreGroup: () => [`groups/${GROUP}/ignore`, REASON],
  reopenGroup: () => [`groups/${GROUP}/reopen`, REASON],
  openBreaker: () => ['breakers/open', { name: 'mail', ...REASON }],
  closeBreaker: () => ['breakers/close', { name: 'mail', ...REASON }],
  pauseHandler: () => ['handlers/pause', { handler: 'send', ...REASON }],
  resumeHandler: () => ['handlers/resume', { handler: 'send', ...REASON }],
  limitHandler: () => ['handlers/limit', { handler: 'send', limit: 3, ...REASON }],
  pauseAll: () => ['pause-all', REASON],
  resumeAll: () => ['resume-all', REASON],
  retireHandler: () => ['handlers/retire', { handler: 'nobody', ...REASON }],
  previewErase: () => ['erasures/preview', { person: 'ann' }],
  erase: () => ['erasures', { person: 'nobody', ...REASON }],
  replayKey: () => ['keys/replay', { handler: 'nobody', key: 'k', ...REASON }],
  discardKey: () => ['keys/discard', { handler: 'nobody', key: 'k', ...REASON }],
  releaseKey: () => ['keys/release', { handler: 'nobody', key: 'k', ...REASON }],
  skipKey: () => ['keys/skip', { handler: 'nobody', key: 'k', ...REASON }],
  pauseQueue: () => ['delivery/queues/pause', { name: 'q' }],
  resumeQueue: () => ['delivery/queues/resume', { name: 'q' }],
  setQueueParallelism: () => ['delivery/queues/parallelism', { name: 'q', parallelism: 1 }],
  pauseFlowControl: () => ['delivery/flow-controls/pause', { key: 'f' }],
  resumeFlowControl: () => ['delivery/flow-controls/resume', { key: 'f' }],
  resetFlowControl: () => ['delivery/flow-controls/reset', { key: 'f' }],
  pinFlowControl: () => ['delivery/flow-controls/pin', { key: 'f', rate: 1 }],
  unpinFlowControl: () => ['delivery/flow-controls/unpin', { key: 'f' }],
  pauseSchedule: () => ['delivery/schedules/nightly/pause', REASON],
  resumeSchedule: () => ['delivery/schedules/nightly/resume', REASON],
  openDestination: () => ['delivery/destinations/open', { destination: 'https://shop.example' }],
  closeDestination: () => ['delivery/destinations/close', { destination: 'https://shop.example' }],
  createEndpoint: () => ['delivery/endpoints', { url: `https://n.example/?token=${ALWAYS.query}` }],
  updateEndpoint: ({ endpointId }) => [`delivery/endpoints/${endpointId}/update`, { timeoutMs: 5_000 }],
  disableEndpoint: ({ endpointId }) => [`delivery/endpoints/${endpointId}/disable`, REASON],
  enableEndpoint: ({ endpointId }) => [`delivery/endpoints/${endpointId}/enable`, REASON],
  rotateEndpointSecret: ({ endpointId }) => [`delivery/endpoints/${endpointId}/rotate`, REASON],
  resendToEndpoint: ({ endpointId, later }) => [`delivery/endpoints/${endpointId}/resend`, { messageId: later }],
  recoverEndpoint: ({ endpointId }) => [
    `delivery/endpoints/${endpointId}/recover`,
    { since: '2030-01-01T00:00:00.000Z' },
  ],
  testEndpoint: ({ endpointId }) => [`delivery/endpoints/${endpointId}/test`, {}],
  sendWebhook: () => ['delivery/events', { type: 'order.placed', data: {} }],
  cancelDelivery: ({ later }) => [`delivery/messages/${later}/cancel`, REASON],
  replayDeadDeliveries: () => ['delivery/dead/replay', { dlqIds: ['nothing'] }],
  discardDeadDeliveries: () => ['delivery/dead/discard', { dlqIds: ['nothing'], ...REASON }],
  deleteSchedule: () => ['delivery/schedules/nightly/delete', REASON],
  deleteEndpoint: () => ['delivery/endpoints/nothing/delete', REASON],
  cancelMessage: ({ messageId }) => [`messages/${messageId}/cancel`, REASON],
  editMessage: ({ deliveryId }) => [`messages/${deliveryId}/edit`, { payload: { body: '[hidden]' }, ...REASON }],
  replayMessage: ({ messageId }) => [`messages/${messageId}/replay`, REASON],
  discardMessage: ({ messageId }) => [`messages/${messageId}/discard`, REASON],
  replayDeadLetters: () => ['dead-letters/replay', { filter: { handler: 'send' }, ...REASON }],
};

/** Every tool for agents, in such an order too. */
const TOOL_CALLS: Readonly<Record<string, (known: Known) => Readonly<Record<string, unknown>>>> = {
  get_overview: () => ({}),
  list_error_groups: () => ({ state: 'open' }),
  list_dlq_events: () => ({}),
  get_dlq_event_detail: ({ messageId }) => ({ id: messageId }),
  explain_message: ({ messageId }) => ({ id: messageId }),
  trace: ({ messageId }) => ({ id: messageId }),
  search_messages: () => ({}),
  list_keys: () => ({}),
  list_handlers: () => ({}),
  list_breakers: () => ({}),
  get_bulk: ({ bulkId }) => ({ bulk_id: bulkId }),
  replay_dlq_event: ({ deliveryId }) => ({ id: deliveryId }),
  discard_dlq_event: ({ messageId }) => ({ id: messageId }),
  plan_bulk: () => ({ verb: 'replay', handler: 'deliver' }),
  start_bulk: ({ bulkId }) => ({ bulk_id: bulkId, reason: 'r' }),
  pause_bulk: ({ bulkId }) => ({ bulk_id: bulkId, reason: 'r' }),
  pause_handler: () => ({ handler: 'send' }),
  resume_handler: () => ({ handler: 'send' }),
};

async function known(planted: Planted): Promise<Known> {
  const { database, messages } = planted.store;
  const email = { path: ['customer', 'email'], value: HIDDEN_BELOW_ADMIN.email };
  const planned = await database.operator.planBulk({ verb: 'replay', filter: { payload: [email] } }, { actor: 'ann' });
  expect(planned.bulk.total).toBe(1);
  const { items } = await messages.list({}, { limit: 1 });
  return { ...planted, bulkId: planned.bulk.id, later: items[0]?.messageId ?? '' };
}

/** What this role must not find in any answer. */
function hiddenFrom(role: Role): Readonly<Record<string, string>> {
  return role === 'admin' ? ALWAYS : { ...ALWAYS, ...HIDDEN_BELOW_ADMIN };
}

describe('planted secrets', () => {
  test('are in no answer of any route, whoever asks: each of them is asked here [X.9]', async ({ postgres }) => {
    const all = await known(await plant(postgres));
    const { url } = await serve(all, { redact: REDACT });
    expect(Object.keys(ROUTES).toSorted(), 'every route of the table is asked').toEqual(
      ALL_ROUTES.map(({ id }) => id).toSorted(),
    );
    const answered = new Set<string>();
    const byId = new Map<string, Route>(ALL_ROUTES.map((route) => [route.id, route]));
    for (const [id, ask] of Object.entries(ROUTES)) {
      const [path, body] = ask(all);
      for (const role of ROLES) {
        const init = byId.get(id)?.method === 'GET' ? { headers: as(role) } : change(body ?? {}, as(role));
        const response = await fetch(`${url}/api/${path}`, init);
        const text = await response.text();
        expect([200, 400, 403, 404, 409], `${role} ${id}: ${text}`).toContain(response.status);
        expect(foundIn(text, hiddenFrom(role)), `${role} ${id}: ${text}`).toEqual([]);
        if (response.status === 200) answered.add(id);
      }
    }
    // What is shown is shown of something: the reads have all found theirs.
    const reads = ALL_ROUTES.filter(({ method }) => method === 'GET').map(({ id }) => id);
    const changes = ['planBulk', 'createEndpoint', 'updateEndpoint', 'rotateEndpointSecret', 'replayMessage'];
    expect([...reads, ...changes].filter((id) => !answered.has(id))).toEqual([]);
  });

  test('are neither in the other answers of the server: events, metrics, documents, health [X.9]', async ({
    postgres,
  }) => {
    const all = await known(await plant(postgres));
    const { url } = await serve(all, { redact: REDACT, pollMs: 50 });
    for (const { id, path, method } of PLAIN_ROUTES) {
      for (const role of ROLES) {
        const init =
          method === 'post'
            ? change({ token: 'wrong-secret-00001' })
            : { method: method.toUpperCase(), headers: as(role) };
        const text =
          id === 'events' ? await firstEvent(url + path, role) : await (await fetch(url + path, init)).text();
        expect(foundIn(text, hiddenFrom(role)), `${role} ${id}`).toEqual([]);
      }
    }
  });

  test('are in no answer of any tool for agents, whoever runs the agent: each of them is called here [X.5] [X.9]', async ({
    postgres,
  }) => {
    const all = await known(await plant(postgres));
    const { agent } = await serve(all, { redact: REDACT });
    expect(Object.keys(TOOL_CALLS).toSorted(), 'every tool is called').toEqual(
      TOOLS.map(({ name }) => name).toSorted(),
    );
    for (const role of ROLES) {
      const client = await agent(role);
      for (const [name, args] of Object.entries(TOOL_CALLS)) {
        const { text } = await client.call(name, args(all));
        expect(foundIn(text, hiddenFrom(role)), `${role} ${name}: ${text}`).toEqual([]);
      }
    }
  });

  test('that stand behind names of secrets are hidden without any rule, too [X.9]', async ({ postgres }) => {
    const all = await known(await plant(postgres));
    const { url, agent } = await serve(all);
    const reads = Object.entries(ROUTES).filter(
      ([id]) => ALL_ROUTES.find((route) => route.id === id)?.method === 'GET',
    );
    for (const role of ROLES) {
      for (const [id, ask] of reads) {
        const text = await (await fetch(`${url}/api/${ask(all)[0]}`, { headers: as(role) })).text();
        expect(foundIn(text, ALWAYS), `${role} ${id}: ${text}`).toEqual([]);
      }
      const client = await agent(role);
      for (const id of [all.messageId, all.deliveryId, all.hiddenId]) {
        expect(foundIn((await client.call('get_dlq_event_detail', { id })).text, ALWAYS), role).toEqual([]);
      }
    }
  });
});

async function firstEvent(url: string, role: Role): Promise<string> {
  const ended = new AbortController();
  const response = await fetch(url, { headers: as(role), signal: ended.signal });
  const reader = response.body?.getReader();
  let text = '';
  while (reader && !text.includes('data:')) {
    const { value, done } = await reader.read();
    if (done) break;
    text += new TextDecoder().decode(value);
  }
  ended.abort();
  return text;
}
