import { onTestFinished } from 'vitest';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { ON_EXHAUSTED } from '../../src/commands/command.ts';
import { DELIVERY_TYPE } from '../../src/delivery/delivery-request.ts';
import { mcpServer } from '../../src/mcp/index.ts';
import type { Role } from '../../src/server/route.ts';
import type { OperatorServerOptions } from '../../src/server/index.ts';
import { newId } from '../../src/system/new-id.ts';
import { attempt, type DeliveryDatabase, openDeliveries, to } from '../delivery-store/delivery-database.ts';
import { type Agent, agentOn } from '../mcp/agent.ts';
import { as, serveHere, TOKENS } from '../server/serving.ts';
import type { TestServer } from '../support/needs.ts';

/** Shown to nobody: they stand behind names that speak of secrets, or their sender hid them. */
export const ALWAYS = {
  header: 'planted-authorization-1',
  cookie: 'planted-cookie-2',
  apiKey: 'planted-api-key-3',
  signature: 'planted-signature-4',
  custom: 'planted-custom-token-5',
  callback: 'planted-callback-6',
  query: 'planted-query-7',
  schedule: 'planted-schedule-8',
  endpoint: 'planted-endpoint-9',
  setCookie: 'planted-set-cookie-10',
  hiddenBody: 'planted-hidden-body-11',
  hiddenHeader: 'planted-hidden-header-12',
  forwarded: 'planted-forwarded-13',
  envelope: 'planted-envelope-14',
  reason: 'planted-reason-15aZ9',
  callbackBody: 'planted-callback-body-16',
} as const;

/** Hidden by `REDACT` from all but admins. */
export const HIDDEN_BELOW_ADMIN = {
  email: 'planted-email@example.com',
  userEmail: 'planted-user-email@example.com',
  error: 'planted-error-text',
  key: 'planted-key',
  body: 'planted-plain-body',
} as const;

export const REDACT = ['customer.email', 'headers.x-user-email'];

/** The error group of the message that failed. */
export const GROUP = '2-00000000000000aa';

/** A database with secrets in every place that can hold one. */
export interface Planted {
  readonly store: DeliveryDatabase;
  /** A message of an application, and an HTTP delivery; both have failed. */
  readonly messageId: string;
  readonly deliveryId: string;
  /** A delivery of which its sender hid body and headers. */
  readonly hiddenId: string;
  readonly dlqId: string;
  readonly endpointId: string;
}

const ERROR = {
  name: 'Error',
  code: 'REFUSED',
  kind: 'terminal',
  message: HIDDEN_BELOW_ADMIN.error,
  stack: `Error: ${HIDDEN_BELOW_ADMIN.error}\n  at send`,
  group: GROUP,
};

const CALLBACK = {
  url: `https://done.example/?token=${ALWAYS.query}`,
  method: 'POST',
  retries: 1,
  headers: { 'Proxy-Authorization': [ALWAYS.callback], 'x-user-email': [HIDDEN_BELOW_ADMIN.userEmail] },
} as const;

export async function plant(server: TestServer): Promise<Planted> {
  const store = await openDeliveries(server);
  const messageId = await plantMessage(store);
  const [deliveryId, hiddenId] = await plantDeliveries(store);
  const endpointId = await plantRegistered(store);
  const dead = await store.dead.list({ messageIds: [deliveryId] }, { limit: 1 });
  return { store, messageId, deliveryId, hiddenId, dlqId: dead.items[0]?.dlqId ?? '', endpointId };
}

/** A message of an application that has failed, what was done to it by hand, a command and an outgoing call. */
async function plantMessage({ database }: DeliveryDatabase): Promise<string> {
  await database.handler(2, 'mail', 'send', { types: ['order.placed'] });
  const payload = {
    customer: { id: 7, email: HIDDEN_BELOW_ADMIN.email },
    request: {
      headers: { authorization: `Bearer ${ALWAYS.forwarded}`, 'X-User-Email': HIDDEN_BELOW_ADMIN.userEmail },
      url: `https://in.example/hook?access_token=${ALWAYS.query}`,
    },
  };
  const messageId = await database.dead({
    handler: 2,
    payload,
    key: HIDDEN_BELOW_ADMIN.key,
    error: ERROR,
    holds: true,
  });
  await database.sql(`update $S.delivery set headers = $2 where id = $1`, [
    messageId,
    JSON.stringify({ Authorization: ALWAYS.envelope, 'X-User-Email': HIDDEN_BELOW_ADMIN.userEmail }),
  ]);
  await database.delivery({ handler: 2, payload, key: HIDDEN_BELOW_ADMIN.key, state: 'ready' });
  await database.sql(`insert into $S.edit (id, version, payload, actor, reason) values ($1, 0, $2, 'ann', $3)`, [
    messageId,
    JSON.stringify(payload),
    `Authorization: Bearer ${ALWAYS.reason}`,
  ]);
  await database.sql(
    `insert into $S.audit (actor, verb, reason, message_id, details) values ('ann', 'edit', $2, $1, '{}')`,
    [messageId, `Authorization: Bearer ${ALWAYS.reason}`],
  );
  await database.sql(
    `insert into $S.error_group (id, service, handler, type, error, frames, total) values ($1, 'mail', 'send', 'order.placed', $2, '[]', 1)`,
    [GROUP, JSON.stringify(ERROR)],
  );
  await database.sql(
    `insert into $S.fact (id, at, service, kind, is_ok, ids, fields) values ($1, now(), 'shop', 'call', false, '{planted-request}', $2)`,
    [newId(), JSON.stringify({ error: ERROR.message, destination: 'mail', requestId: 'planted-request' })],
  );
  await database.sql(
    `insert into $S.command (id, service, name, target, module, idempotency_key, state, on_exhausted, request_hash, keep_ms, error)
     values ($1, 'shop', 'bill', 'run-1', 'bill', $2, 'queued', $3, '', 1, $4)`,
    [newId(), HIDDEN_BELOW_ADMIN.key, ON_EXHAUSTED[0], JSON.stringify(ERROR)],
  );
  return messageId;
}

/** Two deliveries that have failed, and their log. */
async function plantDeliveries(store: DeliveryDatabase): Promise<readonly [string, string]> {
  const headers = {
    Authorization: [`Bearer ${ALWAYS.header}`],
    COOKIE: [`sid=${ALWAYS.cookie}`],
    'x-api-key': [ALWAYS.apiKey],
    'Upstash-Signature': [ALWAYS.signature],
    'X-Deploy-Token': [ALWAYS.custom],
    'X-User-Email': [HIDDEN_BELOW_ADMIN.userEmail],
    Accept: ['*'],
  };
  const [deliveryId = ''] = await store.publishOne(
    to(`https://shop.example/orders?token=${ALWAYS.query}`, {
      headers,
      body: `{"a":"${HIDDEN_BELOW_ADMIN.body}"}`,
      callback: CALLBACK,
      failureCallback: CALLBACK,
    }),
  );
  const [hiddenId = ''] = await store.publishOne(
    to('https://shop.example/hidden', {
      headers: { 'X-Private': [ALWAYS.hiddenHeader], Accept: ['*'] },
      body: ALWAYS.hiddenBody,
      hidden: { body: true, headers: ['x-private'] },
    }),
  );
  const request = {
    url: 'https://shop.example/',
    method: 'POST',
    retries: 3,
    headers: {},
    signedBy: 'server',
  } as const;
  await store.sender.report(
    [deliveryId, hiddenId].map((id) =>
      attempt(id, {
        request,
        state: 'FAILED',
        error: `no answer ${HIDDEN_BELOW_ADMIN.error}`,
        responseStatus: 500,
        responseHeaders: { 'Set-Cookie': [ALWAYS.setCookie], 'X-User-Email': [HIDDEN_BELOW_ADMIN.userEmail] },
        responseBody: new TextEncoder().encode(HIDDEN_BELOW_ADMIN.body),
      }),
    ),
  );
  await store.database.sql(
    `update $S.delivery set state = 2, attempts = 3, failed_at = now(), error = $2 where type = $1`,
    [DELIVERY_TYPE, JSON.stringify({ ...ERROR, group: undefined })],
  );
  return [deliveryId, hiddenId];
}

/** A schedule, an endpoint, a URL group, and a destination that somebody holds. Gives the id of the endpoint. */
async function plantRegistered(store: DeliveryDatabase): Promise<string> {
  await store.schedules.put({
    scheduleId: 'nightly',
    cron: '0 3 * * *',
    to: { kind: 'url', url: `https://shop.example/nightly?token=${ALWAYS.query}` },
    delivery: {
      method: 'POST',
      retries: 0,
      headers: { Authorization: [ALWAYS.schedule], 'X-Private': [ALWAYS.hiddenHeader] },
      body: ALWAYS.hiddenBody,
      callback: CALLBACK,
      hidden: { body: true, headers: ['x-private'] },
    },
  });
  const made = await store.endpoints.create(
    {
      url: `https://hooks.example/in?key=${ALWAYS.query}`,
      headers: { 'x-api-key': ALWAYS.endpoint, 'X-User-Email': HIDDEN_BELOW_ADMIN.userEmail, 'x-tenant': '7' },
    },
    { actor: 'ann', reason: `Authorization: Bearer ${ALWAYS.reason}` },
  );
  await store.urlGroups.addEndpoints('all', [{ url: `https://g.example/?sig=${ALWAYS.query}` }]);
  await store.destinations.open('https://shop.example', { actor: 'ann', reason: 'they asked' });
  return made.kind === 'done' ? made.endpoint.id : '';
}

/** A server over it with agents at `mcp`. */
export async function serve(
  { store }: Planted,
  options: Partial<OperatorServerOptions> = {},
): Promise<{ readonly url: string; agent(role: Role): Promise<Agent> }> {
  const { operator } = store.database;
  const agents = mcpServer({ operator, allowWrites: true, writesPerMinute: 1_000 });
  onTestFinished(() => agents.close());
  const { url } = await serveHere({
    operator,
    deliveries: store,
    tokens: TOKENS,
    writesPerMinute: 10_000,
    mcp: (request, { actor, role }, seen) =>
      agents.fetch(request, { name: actor, mayWrite: role !== 'viewer', operator: seen }),
    ...options,
  });
  return {
    url,
    agent: async (role) => {
      const client = new Client({ name: 'agent', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
      const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
        requestInit: { headers: as(role) },
      });
      await client.connect(transport);
      onTestFinished(() => client.close());
      return agentOn(client);
    },
  };
}

/** Which of the secrets stand in a text, as they are or in base64. */
export function foundIn(text: string, secrets: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(secrets)
    .filter(([, secret]) => text.includes(secret) || text.includes(Buffer.from(secret).toString('base64').slice(0, -4)))
    .map(([name]) => name);
}
