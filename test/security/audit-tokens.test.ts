import { expect } from 'vitest';
import { ROUTES } from '../../src/qstash/all-routes.ts';
import { matchPath } from '../../src/qstash/match-path.ts';
import { runHere } from '../cli/run-here.ts';
import { qstashApi } from '../../src/qstash/index.ts';
import { type DeliveryDatabase, openDeliveries } from '../delivery-store/delivery-database.ts';
import { listenHere } from '../server/serving.ts';
import { freshSchema } from '../support/fresh-schema.ts';
import { needs } from '../support/needs.ts';
import { refuseEntriesOf, stateOf } from './audit-state.ts';
import { V2Caller } from './v2-caller.ts';

const test = needs('postgres');

type Asked = readonly [
  method: string,
  path: string,
  options?: { readonly headers?: Readonly<Record<string, string>>; readonly body?: unknown },
];
type Step = () => Asked | Promise<Asked>;

const LATER = { 'upstash-delay': '1h' };
const URL_OF = 'https://example.com/x';

/** Every route of the API that writes, or reads a secret, with something to do. */
function steps(deliveries: DeliveryDatabase): readonly Step[] {
  const { pool, schema } = deliveries.database;
  const published = async (): Promise<string> => {
    const [outcome] = await deliveries.publishing.publish([
      {
        to: { kind: 'url', url: URL_OF },
        delivery: { method: 'POST', retries: 0, headers: {} },
        notBefore: new Date(Date.now() + 3_600_000),
      },
    ]);
    return outcome?.kind === 'published' ? (outcome.messages[0]?.messageId ?? '') : '';
  };
  const dead = async (): Promise<string> => {
    const id = await published();
    await pool.query(`update ${schema}.delivery set state = 2, due_at = null, failed_at = now() where id = $1`, [id]);
    return `${id}-0`;
  };
  const endpoints = { body: { endpoints: [{ url: URL_OF }] } };
  const cron = { headers: { 'upstash-cron': '0 0 1 1 *', 'upstash-schedule-id': 's' } };
  const flow = ['pause', 'resume', 'resetRate', 'reset', 'pin?rate=5', 'unpin?rate=true'];
  return [
    () => ['POST', `publish/${URL_OF}`, { headers: LATER }],
    () => ['POST', `enqueue/q/${URL_OF}`, { headers: LATER }],
    () => ['POST', 'batch', { body: [{ destination: URL_OF, headers: { 'Upstash-Delay': '1h' } }] }],
    async () => ['DELETE', `messages/${await published()}`],
    async () => ['DELETE', `messages?messageIds=${await published()}`],
    async () => ['DELETE', `dlq/${await dead()}`],
    async () => ['DELETE', `dlq?dlqIds=${await dead()}`],
    async () => ['POST', `dlq/retry/${await dead()}`, { headers: { 'upstash-retries': '2' } }],
    async () => ['POST', `dlq/retry?dlqIds=${await dead()}`],
    () => ['POST', 'queues', { body: { queueName: 'q', parallelism: 4 } }],
    () => ['POST', 'queues/q/pause'],
    () => ['POST', 'queues/q/resume'],
    () => ['DELETE', 'queues/q'],
    () => ['POST', 'topics/g/endpoints', endpoints],
    () => ['DELETE', 'topics/g/endpoints', endpoints],
    async () => {
      await deliveries.urlGroups.addEndpoints('g', [{ url: URL_OF }]);
      return ['DELETE', 'topics/g'];
    },
    ...flow.map((verb): Step => () => ['POST', `flowControl/k/${verb}`]),
    () => ['POST', `schedules/${URL_OF}`, cron],
    ...(['PATCH', 'POST'] as const).flatMap((method): readonly Step[] => [
      () => [method, 'schedules/s/pause'],
      () => [method, 'schedules/s/resume'],
    ]),
    () => ['DELETE', 'schedules/s'],
    () => ['GET', 'keys'],
    () => ['POST', 'keys/rotate'],
  ];
}

/** How many entries a token has: in the audit, and as a publisher in the log. */
async function entriesOf({ database: { pool, schema } }: DeliveryDatabase, token: string): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(
    `select (select count(*) from ${schema}.audit where actor = $1)::int
      + (select count(*) from ${schema}.http_event where actor = $1)::int as n`,
    [token],
  );
  return rows[0]?.n ?? 0;
}

test('every write through /v2, and reading the signing keys, is entered as the token, in the transaction of the change', async ({
  postgres,
}) => {
  const deliveries = await openDeliveries(postgres);
  const { pool, schema } = deliveries.database;
  const url = await listenHere(qstashApi({ deliveries }).listener);
  const made = await deliveries.tokens.create('ada', ['admin']);
  const ada = new V2Caller(url, made.token);
  const eve = new V2Caller(url, (await deliveries.tokens.create('eve', ['admin'])).token);
  const actor = `token ada ${made.id}`;
  // A server makes them when it starts, before anybody asks.
  await deliveries.sender.signingKeys();
  await refuseEntriesOf(pool, schema, 'token eve %');
  for (const step of steps(deliveries)) {
    const [method, path, options] = await step();
    const what = `${method} ${path}`;
    const before = await stateOf(pool, schema);
    expect([what, (await eve.ask(method, path, options)).status]).toEqual([what, 500]);
    expect(await stateOf(pool, schema), `${what} without its entry`).toEqual(before);
    const count = await entriesOf(deliveries, actor);
    const { status, text } = await ada.ask(method, path, options);
    expect([what, status < 300, text]).toEqual([what, true, text]);
    expect(await entriesOf(deliveries, actor), `entries of ${what}`).toBeGreaterThan(count);
  }
  const tried = ada.asked.map(
    ([method, path]) =>
      matchPath(ROUTES, path.split('?', 1)[0] ?? '').find(({ route }) => route.method === method)?.route,
  );
  const missing = ROUTES.filter((route) => route.method !== 'GET' && !tried.includes(route));
  // Answered with 400, whatever it says.
  expect(missing.map(({ method, path }) => `${method} ${path}`)).toEqual(['PATCH topics/:name']);
  const publish = await ada.ask('POST', `publish/${URL_OF}`, { headers: LATER });
  const { items } = await deliveries.log.list({ messageIds: [String(publish.json['messageId'])] }, { limit: 1 });
  expect(items).toMatchObject([{ state: 'CREATED', actor }]);
});

test('making and revoking tokens, and reading and rotating signing keys, are audited as whoever did it at the command line', async ({
  postgres,
}) => {
  const env = {
    DATABASE_URL: postgres.url,
    HOLDFAST_SCHEMA: await freshSchema(postgres),
    HOLDFAST_SECRET: 'a secret of thirty-two characters or more',
  };
  const made = await runHere(['token', 'create', 'shop', '--tenant', 'acme', '--json', '--actor', 'ann'], { env });
  const { id, tenant } = JSON.parse(made.out) as { id: string; tenant: string };
  expect(tenant).toBe('acme');
  await runHere(['signing-keys', 'show', '--tenant', 'acme', '--actor', 'ann'], { env });
  await runHere(['signing-keys', 'rotate', '--yes', '--actor', 'ann'], { env });
  await runHere(['token', 'revoke', id, '--yes', '--actor', 'ann'], { env });
  const { out } = await runHere(['audit', '--by', 'ann', '--json'], { env });
  const { items } = JSON.parse(out) as { items: { verb: string; details: Record<string, unknown> }[] };
  expect(items.map(({ verb, details }) => [verb, details['tenant'] ?? details['token']]).toReversed()).toEqual([
    ['create-token', 'acme'],
    ['read-signing-keys', 'acme'],
    ['rotate-signing-keys', 'default'],
    ['revoke-token', id],
  ]);
});
