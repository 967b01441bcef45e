import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'pg';
import { startDeliveries } from '../../src/delivery/delivery-server.ts';
import type { PublishRequest } from '../../src/delivery/publishing.ts';
import type { Operator } from '../../src/operator/index.ts';
import { type PostgresDelivery, postgresDelivery } from '../../src/postgres/delivery/postgres-delivery.ts';
import { migrate, postgres, postgresOperator } from '../../src/postgres/index.ts';
import { operatorServer, type OperatorServerOptions } from '../../src/server/index.ts';

const HOUR_MS = 3_600_000;
const BY = { actor: 'setup' };

/** A delivery server with something on every page, and a console over it. */
export interface PostOffice {
  readonly deliveries: PostgresDelivery;
  readonly operator: Operator;
  /** What answers: `/ok` with 200, `/broken` with 500 until it is mended, `/gone` with 410. */
  readonly sink: string;
  /** Nobody listens there. */
  readonly away: string;
  /** From now on `/broken` answers well. */
  mend(): void;
  publish(url: string, delivery?: Partial<PublishRequest['delivery']>, rest?: Partial<PublishRequest>): Promise<string>;
  /** Serves a console; answers its address, with a slash at its end. */
  serve(options?: Partial<OperatorServerOptions>): Promise<string>;
  close(): Promise<void>;
}

/** Opens it on a schema of its own, which is dropped when it closes. */
export async function openPostOffice({
  url,
  schema,
}: {
  readonly url: string;
  readonly schema: string;
}): Promise<PostOffice> {
  const pool = await migrated(url, schema);
  const weather = { isMended: false };
  const sink = await listening((path, response) => answerAs(weather, path, response));
  const away = await listening(() => {});
  away.server.close();
  const deliveries = postgresDelivery({ pool, schema, secret: 'a secret of more than 32 characters' });
  const running = await startDeliveries({
    store: postgres({ pool, schema }),
    sender: deliveries.sender,
    schedules: deliveries.schedules,
    addresses: { loopback: true },
    pollMs: 200,
    breaker: { failures: 2, probeAfterMs: HOUR_MS, maxProbeAfterMs: HOUR_MS },
  });
  const operator = postgresOperator({ pool, schema });
  const closers: (() => Promise<void>)[] = [];
  return {
    deliveries,
    operator,
    sink: sink.url,
    away: away.url,
    mend: () => {
      weather.isMended = true;
    },
    publish: async (to, delivery = {}, rest = {}) => {
      const whole = { method: 'POST', retries: 0, headers: {}, ...delivery } as const;
      const [outcome] = await deliveries.publishing.publish([
        { to: { kind: 'url', url: to }, delivery: whole, ...rest },
      ]);
      if (outcome?.kind !== 'published') throw new Error(outcome?.message);
      return outcome.messages[0]?.messageId ?? '';
    },
    serve: async (options = {}) => {
      const consoleFiles = new URL('../../dist/console/', import.meta.url);
      const server = operatorServer({ operator, deliveries, localOnly: true, consoleFiles, pollMs: 500, ...options });
      const http = createServer(server.listener).listen(0, '127.0.0.1');
      await once(http, 'listening');
      closers.push(
        () => server.close(),
        () => ended(http),
      );
      return `http://127.0.0.1:${(http.address() as AddressInfo).port}/`;
    },
    close: async () => {
      for (const close of closers) await close();
      await running.stop({ drainMs: 10 });
      await ended(sink.server);
      await pool.query(`drop schema "${schema}" cascade`);
      await pool.end();
    },
  };
}

async function migrated(url: string, schema: string): Promise<Pool> {
  const pool = new Pool({ connectionString: url, max: 12 });
  const client = await pool.connect();
  await migrate(client, { schema });
  client.release();
  return pool;
}

function answerAs(weather: { readonly isMended: boolean }, path: string, response: ServerResponse): void {
  const status = path === '/gone' ? 410 : path === '/broken' && !weather.isMended ? 500 : 200;
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ path, wellReceived: status === 200 }));
}

async function listening(
  answer: (path: string, response: ServerResponse) => void,
): Promise<{ readonly url: string; readonly server: Server }> {
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => answer(request.url ?? '', response));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

async function ended(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

/** What `fillPostOffice` has put there. */
export interface Filled {
  readonly delivered: string;
  readonly dead: string;
  readonly retrying: string;
  readonly scheduled: string;
  readonly endpoint: string;
  /** Of the endpoint, and dead. */
  readonly failedEvent: string;
}

/** A little of everything. Resolves when all of it has come to rest. */
export async function fillPostOffice(office: PostOffice): Promise<Filled> {
  const { deliveries, sink, away } = office;
  const publish: PostOffice['publish'] = (...of) => office.publish(...of);
  const json = { 'Content-Type': ['application/json'] };
  const delivered = await publish(`${sink}/ok?from=north`, {
    headers: { ...json, 'X-Card': ['4111 1111'] },
    body: '{"card":"4111 1111"}',
    labels: ['invoice'],
    hidden: { body: true, headers: ['x-card'] },
  });
  const dead = await publish(`${sink}/broken`, { headers: json, body: '{"order":7}', labels: ['order'] });
  const retrying = await publish(`${sink}/broken`, { retries: 3, retryDelay: '3600000' });
  const scheduled = await publish(`${sink}/ok`, { method: 'PUT' }, { notBefore: new Date(Date.now() + HOUR_MS) });
  for (let n = 0; n < 3; n += 1) await publish(`${away}/in`, { retries: 5, retryDelay: '1' });
  await deliveries.queues.upsert('letters', { parallelism: 1, isPaused: true });
  for (let n = 0; n < 2; n += 1) await publish(`${sink}/ok`, { queue: 'letters' });
  await publish(`${sink}/ok`, { flowKey: 'partner' }, { flow: { parallelism: 2, rate: 10, periodMs: 60_000 } });
  await deliveries.urlGroups.addEndpoints('branches', [
    { name: 'north', url: `${sink}/ok?branch=north` },
    { name: 'south', url: `${sink}/ok?branch=south` },
  ]);
  const delivery = { method: 'POST', retries: 0, headers: {} } as const;
  const to = { kind: 'group', name: 'branches' } as const;
  await deliveries.schedules.put({ scheduleId: 'nightly', cron: 'CRON_TZ=Europe/Berlin 0 3 * * *', to, delivery });
  const [endpoint, gone] = await Promise.all([
    made(office, { url: `${sink}/broken`, description: 'Harbour office', eventTypes: ['ship.*'], retrySeconds: [] }),
    made(office, { url: `${sink}/gone`, eventTypes: ['ship.sunk'] }),
  ]);
  const { messageIds } = await deliveries.endpoints.send({ type: 'ship.sunk', data: { name: 'Vasa' } });
  const events = await Promise.all(messageIds.map((id) => deliveries.messages.get(id)));
  const failedEvent = events.find((one) => one?.request.endpointId === endpoint)?.messageId ?? '';
  const states = { [delivered]: 'delivered', [dead]: 'failed', [failedEvent]: 'failed' };
  await until(async () => {
    const found = await Promise.all(Object.keys(states).map((id) => deliveries.messages.get(id)));
    const waits = await deliveries.messages.get(retrying);
    const open = (await deliveries.destinations.list()).some(({ breaker }) => breaker === 'open');
    const isGone = (await deliveries.endpoints.get(gone))?.state === 'disabled';
    return found.every((one) => one?.state === states[one?.messageId ?? '']) && waits?.attempts === 1 && open && isGone;
  });
  return { delivered, dead, retrying, scheduled, endpoint, failedEvent };
}

async function made(
  { deliveries }: PostOffice,
  input: Parameters<PostgresDelivery['endpoints']['create']>[0],
): Promise<string> {
  const outcome = await deliveries.endpoints.create(input, BY);
  if (outcome.kind !== 'done') throw new Error(outcome.kind === 'refused' ? outcome.message : outcome.kind);
  return outcome.endpoint.id;
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 50));
}
