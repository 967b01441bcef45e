import { mkdtemp, rm } from 'node:fs/promises';
import type { NetConnectOpts } from 'node:net';
import { arch, availableParallelism, cpus, platform, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedPostgres, embeddedPostgres } from '../embedded/embedded-postgres.ts';
import { systemEffects } from '../system/effects.ts';
import { openDesk } from './broker-desk.ts';
import type { ChildOptions } from './child-line.ts';
import { databasePlace } from './database-place.ts';
import type { Detours } from './detour.ts';
import { DrillDatabase } from './drill-database.ts';
import { isSplit, LEASE_MS, openProcesses } from './open-processes.ts';
import { consumerSchemaOf, schemaOf, type WorkloadSettings } from './settings.ts';
import type { Front, OwnServer, Site } from './site.ts';
import { TcpProxy } from './tcp-proxy.ts';

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
  const { broker, keep } = settings;
  const ownServer = settings.url === undefined ? await startServer() : undefined;
  if (ownServer) opened.push(() => ownServer.remove());
  const url = settings.url ?? ownServer?.url ?? '';
  const schema = schemaOf(settings);
  const store = isSplit(settings) ? consumerSchemaOf(settings) : schema;
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
  const processes = await openProcesses({ settings, shared, store, proxied, opened }, signal);
  const about = await describe(database, ownServer, settings, processes.front);
  return {
    settings,
    database,
    ...processes,
    leaseMs: LEASE_MS,
    storeProxies,
    brokerProxies,
    ownServer,
    about,
    remove,
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
