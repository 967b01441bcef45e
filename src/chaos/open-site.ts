import { mkdtemp, rm } from 'node:fs/promises';
import type { NetConnectOpts } from 'node:net';
import { arch, availableParallelism, cpus, platform, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedPostgres, embeddedPostgres } from '../embedded/embedded-postgres.ts';
import { systemEffects } from '../system/effects.ts';
import { openDesk } from './broker-desk.ts';
import type { ChildOptions, WorkerOptions, WorkerRole } from './child-line.ts';
import { Crew } from './crew.ts';
import { databasePlace } from './database-place.ts';
import type { Detours } from './detour.ts';
import { DrillDatabase } from './drill-database.ts';
import { mixOf } from './plan.ts';
import { Sender } from './sender.ts';
import { openFront } from './open-front.ts';
import { consumerSchemaOf, FRONT_PROCESSES, schemaOf, type WorkloadSettings } from './settings.ts';
import type { Front, OwnServer, Site } from './site.ts';
import { TcpProxy } from './tcp-proxy.ts';

/** Shorter than the default of ten seconds, so that a takeover is seen in a drill of a minute. */
const LEASE_MS = 2_000;
const WORK_MS = [4, 16] as const;
const CONNECTIONS = 4;
const GIGABYTE = 1_073_741_824;

/** Opens all a drill needs. What was opened before something failed is closed again. */
export async function openSite(settings: WorkloadSettings, signal: AbortSignal): Promise<Site> {
  const opened: (() => Promise<unknown> | void)[] = [];
  const remove = async (): Promise<void> => {
    for (let next = opened.pop(); next; next = opened.pop()) await next();
  };
  try {
    return await open(settings, signal, opened, remove);
  } catch (error) {
    await remove().catch(() => undefined);
    throw error;
  }
}

async function open(
  settings: WorkloadSettings,
  signal: AbortSignal,
  opened: (() => Promise<unknown> | void)[],
  remove: () => Promise<void>,
): Promise<Site> {
  const { broker, front: wantedFront, keep, cwd } = settings;

  const ownServer = settings.url === undefined ? await startServer() : undefined;
  if (ownServer) opened.push(() => ownServer.remove());
  const url = settings.url ?? ownServer?.url ?? '';
  const schema = schemaOf(settings);
  // With a broker behind the front, those who publish and those who consume are two services, each with a schema of its own.
  const isSplit = wantedFront !== undefined && broker !== undefined;
  const store = isSplit ? consumerSchemaOf(settings) : schema;
  const database = await DrillDatabase.make(url, schema, settings.pg, store);
  opened.push(() => database.close());
  if (!keep) opened.push(() => database.drop());
  const desk = broker && openDesk(broker);
  const addresses = (await desk?.addresses()) ?? [];
  // A cluster may name others than the address it was asked at.
  for (const address of addresses) settings.demandAllowed(address);
  if (desk && !keep) opened.push(() => desk.remove());
  await desk?.prepare();
  const detours: Record<string, number> = {};
  const ways = new Map<string, TcpProxy>();
  const proxied = async (place: string, target: NetConnectOpts = targetOf(place)): Promise<TcpProxy> => {
    const proxy = ways.get(place) ?? (await TcpProxy.open(target, systemEffects));
    if (!ways.has(place)) opened.push(() => proxy.close());
    ways.set(place, proxy);
    detours[place] = proxy.port;
    return proxy;
  };
  const storeProxies = [await proxied(...databasePlace(url))];
  const brokerProxies: TcpProxy[] = [];
  for (const address of new Set(addresses)) brokerProxies.push(await proxied(address));
  signal.throwIfAborted();
  const shared: ChildOptions = { url, schema, pg: settings.pg, broker, detours: detours satisfies Detours };
  const crewOf = async (role: WorkerRole, count: number): Promise<Crew> => {
    const times = { leaseMs: LEASE_MS, workMs: WORK_MS };
    const own = { role, store: role === 'consumer' ? store : schema };
    const options: Omit<WorkerOptions, 'name'> = { ...shared, ...own, ...times };
    const crew = new Crew({ program: 'worker-process', initial: role === 'relay' ? 'r' : 'w', options }, cwd);
    opened.push(() => crew.remove());
    await Promise.all(Array.from({ length: count }, () => crew.hire(signal)));
    return crew;
  };
  // Those who consume come first: what is published before a queue is there would be refused.
  const crew = await crewOf(isSplit ? 'consumer' : 'all', settings.workers);
  const relays = isSplit ? await crewOf('relay', FRONT_PROCESSES.relays) : undefined;
  const parts = { id: settings.id, cwd, leaseMs: LEASE_MS, shared, proxied, opened };
  const front = wantedFront && (await openFront({ ...parts, front: wantedFront }, signal));
  const { keys, seed } = settings;
  const urls = [...(front?.apiProxies.values() ?? [])].map(({ port }) => `http://127.0.0.1:${port}`);
  const connections = Math.min(front ? FRONT_PROCESSES.clients : CONNECTIONS, keys);
  const sender = new Sender({ ...shared, urls, hasApiFaults: settings.faults.includes('api-failure'), keys, seed, connections, mix: mixOf(settings) }, cwd);
  opened.push(() => sender.remove());
  const about = await describe(database, ownServer, settings, front);
  const proxies = { storeProxies, brokerProxies };
  return {
    ...{ settings, database, crew, relays, front, sender, leaseMs: LEASE_MS },
    ...{ ...proxies, ownServer, about, remove },
  };
}

function targetOf(address: string): NetConnectOpts {
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(address.slice(colon + 1)) };
}

async function startServer(): Promise<OwnServer> {
  const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-drill-'));
  const start = (): Promise<EmbeddedPostgres> => embeddedPostgres({ dataDir, settings: { max_connections: '200' } });
  let running: EmbeddedPostgres;
  try {
    running = await start();
  } catch (error) {
    await rm(dataDir, { recursive: true, force: true });
    throw error;
  }
  return {
    url: running.url,
    about: `started by the drill, from the ${running.source}`,
    restart: async () => {
      // "Immediate": no checkpoint and no goodbye. What was committed must come back from its log.
      process.kill(running.pid, 'SIGQUIT');
      await running.stop();
      running = await start();
    },
    remove: async () => {
      await running.stop();
      await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function describe(
  database: DrillDatabase,
  ownServer: OwnServer | undefined,
  { version, broker }: WorkloadSettings,
  front: Front | undefined,
): Promise<Readonly<Record<string, string>>> {
  const [row] = await database.rows<{ version: string }>(`select current_setting('server_version') as version`);
  return {
    Holdfast: version,
    Node: process.versions.node,
    PostgreSQL: `${row?.version ?? ''}${ownServer ? `, ${ownServer.about}` : ''}`,
    ...(broker && { Broker: broker.kind }),
    ...(front && { Redis: front.redis.about }),
    Machine: `${platform()} ${arch()}, ${availableParallelism()} cores, ${Math.round(totalmem() / GIGABYTE)} GB`,
    Processor: cpus()[0]?.model.trim() ?? 'unknown',
  };
}
