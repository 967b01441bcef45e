import type { ChildOptions, SenderOptions, WorkerOptions, WorkerRole } from './child-line.ts';
import { Crew } from './crew.ts';
import { openFront } from './open-front.ts';
import { mixOf } from './plan.ts';
import { Sender } from './sender.ts';
import { FRONT_PROCESSES, type WorkloadSettings } from './settings.ts';
import type { Site } from './site.ts';
import type { TcpProxy } from './tcp-proxy.ts';

/** Shorter than the default of ten seconds, so that a takeover is seen in a drill of a minute. */
export const LEASE_MS = 2_000;
const WORK_MS = [4, 16] as const;
const CONNECTIONS = 4;

/** What the processes of a drill are started with. */
export interface ProcessParts {
  readonly settings: WorkloadSettings;
  readonly shared: ChildOptions;
  /** The schema of the service that handles. */
  readonly store: string;
  readonly proxied: (address: string) => Promise<TcpProxy>;
  /** Called at the end, the last one first. */
  readonly opened: (() => Promise<unknown> | void)[];
}

/** Whether the service that publishes and the one that consumes are two: with a broker behind the HTTP front. */
export function isSplit({ front, broker }: Pick<WorkloadSettings, 'front' | 'broker'>): boolean {
  return front !== undefined && broker !== undefined;
}

/** Starts every process of a drill: workers, relays, API processes, and the one that sends. */
export async function openProcesses(
  parts: ProcessParts,
  signal: AbortSignal,
): Promise<Pick<Site, 'crew' | 'relays' | 'front' | 'sender'>> {
  const { settings, shared, proxied, opened } = parts;
  const { id, cwd, workers, keys, seed, faults } = settings;
  const isTwo = isSplit(settings);
  // Consumers start first: what is published before their queue exists would be refused.
  const crew = await crewOf(parts, isTwo ? 'consumer' : 'all', workers, signal);
  const relays = isTwo ? await crewOf(parts, 'relay', FRONT_PROCESSES.relays, signal) : undefined;
  const about = { id, cwd, leaseMs: LEASE_MS, shared, proxied, opened };
  const front = settings.front && (await openFront({ ...about, front: settings.front }, signal));
  const options: SenderOptions = {
    ...shared,
    urls: [...(front?.apiProxies.values() ?? [])].map(({ port }) => `http://127.0.0.1:${port}`),
    hasApiFaults: faults.includes('api-failure'),
    keys,
    seed,
    connections: Math.min(front ? FRONT_PROCESSES.clients : CONNECTIONS, keys),
    mix: mixOf(settings),
  };
  const sender = new Sender(options, cwd);
  opened.push(() => sender.remove());
  return { crew, relays, front, sender };
}

async function crewOf(
  { settings, shared, store, opened }: ProcessParts,
  role: WorkerRole,
  count: number,
  signal: AbortSignal,
): Promise<Crew> {
  const options: Omit<WorkerOptions, 'name'> = {
    ...shared,
    role,
    store: role === 'relay' ? shared.schema : store,
    leaseMs: LEASE_MS,
    workMs: WORK_MS,
  };
  const initial = role === 'relay' ? 'r' : 'w';
  const crew = new Crew({ program: 'worker-process', initial, options }, settings.cwd);
  opened.push(() => crew.remove());
  await Promise.all(Array.from({ length: count }, () => crew.hire(signal)));
  return crew;
}
