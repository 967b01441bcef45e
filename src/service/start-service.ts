import { HoldfastError } from '../kernel/error.ts';
import type { OutboxStore } from '../outbox/outbox-store.ts';
import { tellAll } from '../relay/relay-event.ts';
import type { RelayStore } from '../relay/relay-store.ts';
import { type RunningRelay, startRelay } from '../relay/relay.ts';
import { systemEffects } from '../system/effects.ts';
import { checkWindows } from './check-windows.ts';
import { type HandlerRegistry, selectHandlers } from './handler-registry.ts';
import { RunningService } from './running-service.ts';
import { checkStart, START_DEFAULTS, type StartOptions } from './start-options.ts';
import type { TransportRoutes } from './transport-routes.ts';
import { TransportWays } from './transport-ways.ts';

/** Whose handlers are started. */
export interface ServiceAbout {
  readonly service: string;
  readonly generation: number | undefined;
  readonly isPinned: boolean;
  readonly routes: TransportRoutes;
}

/** Starts the handlers of a service, and what it publishes and receives. Throws when an option is wrong or nothing is there to run. */
export async function startService<Tx, SendTx>(
  { service, generation, isPinned, routes }: ServiceAbout,
  store: OutboxStore<SendTx> | RelayStore<Tx, SendTx>,
  registry: Pick<HandlerRegistry<Tx>, 'all' | 'seal'>,
  options: StartOptions,
): Promise<RunningRelay> {
  checkStart(options);
  const { effects = systemEffects, inboxMs = START_DEFAULTS.inboxMs } = options;
  const tell = tellAll(options.observers ?? []);
  const opened = Promise.withResolvers<Awaited<ReturnType<RelayStore<Tx>['openRelay']>>>();
  const types = [...registry.all.values()].flatMap(({ takes }) => Array.from(takes.keys()));
  const ways = new TransportWays<Tx>(routes, types, {
    service,
    effects,
    tell,
    receive: async (messages) => (await opened.promise).receive(messages, inboxMs),
    takeBack: async (copies) => (await opened.promise).takeBack?.(service, copies) ?? [],
    taken: async (names) => (await opened.promise).taken?.(names) ?? [],
  });
  const handlers = selectHandlers(new Map([...registry.all, ...ways.handlers]), options.handlers);
  if (handlers.size === 0) throw new HoldfastError('HANDLERS_MISSING', { service });
  if (!isRelayStore(store)) throw new HoldfastError('STORE_CANNOT_RUN', { service });
  if (routes.transports.size > 0)
    checkWindows(registry.all.values(), { inboxMs, brokerKeepsMs: options.brokerKeepsMs ?? 0 });
  // Before there is a lease to keep: a library that is compiled stands in the way of everything else for seconds.
  await ways.load();
  const session = await store.openRelay();
  opened.resolve(session);
  registry.seal();
  const relay = await startRelay({
    session,
    effects,
    handlers,
    worker: { name: options.name ?? service, service, generation },
    subscriptions: ways.subscriptions,
    isPinned,
    tell,
    wrapRun: options.wrapRun,
    leaseMs: options.leaseMs ?? START_DEFAULTS.leaseMs,
    pollMs: options.pollMs ?? START_DEFAULTS.pollMs,
    keep: { historyMs: options.historyMs ?? START_DEFAULTS.historyMs, maxPending: options.maxPending },
    mirrors: ways.mirrors(handlers),
  });
  const open = ways.open(handlers);
  return open ? new RunningService(relay, open) : relay;
}

/** A store that can run handlers, and not only be written to. */
export function isRelayStore<Tx, SendTx>(
  store: OutboxStore<SendTx> | RelayStore<Tx, SendTx>,
): store is RelayStore<Tx, SendTx> {
  return 'openRelay' in store && typeof store.openRelay === 'function';
}
