import { HoldfastError } from '../kernel/error.ts';
import type { OutboxStore } from '../outbox/outbox-store.ts';
import type { HandlerDefinition } from '../relay/handler.ts';
import { tellAll } from '../relay/relay-event.ts';
import type { RelaySession, RelayStore } from '../relay/relay-store.ts';
import { type RunningRelay, startRelay } from '../relay/relay.ts';
import { systemEffects } from '../system/effects.ts';
import type { Receiving, Transport, TransportHost } from '../transport/transport.ts';
import { type HandlerRegistry, selectHandlers } from './handler-registry.ts';
import { checkStart, START_DEFAULTS, type StartOptions } from './start-options.ts';
import type { TransportRoutes } from './transport-routes.ts';

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
  registry: HandlerRegistry<Tx>,
  options: StartOptions,
): Promise<RunningRelay> {
  checkStart(options);
  const { effects = systemEffects } = options;
  const { leaseMs, pollMs, historyMs, inboxMs } = { ...START_DEFAULTS, ...given(options) };
  const tell = tellAll(options.observers ?? []);
  let session: RelaySession<Tx> | undefined;
  const receive: TransportHost['receive'] = async (messages) => must(session).receive(messages, inboxMs);
  const types = [...new Set([...registry.all.values()].flatMap(({ takes }) => [...takes.keys()]))];
  const ways = [...routes.transports].map((transport) => {
    const mine = types.filter((type) => routes.of(type) === transport);
    const host: TransportHost = { service, effects, tell, types: mine, receive };
    return { transport, host, ...transport.handlers<Tx>(host) };
  });
  const offered = ways.flatMap(({ to, from }) => [to, from]);
  const takenAs = new Map(offered.map((one) => [one.handler.name, one.takenAs]));
  const all = new Map([...registry.all, ...offered.map(({ handler }) => [handler.name, handler] as const)]);
  const handlers = selectHandlers(all, options.handlers);
  if (handlers.size === 0) throw new HoldfastError('HANDLERS_MISSING', { service });
  if (!isRelayStore(store)) throw new HoldfastError('STORE_CANNOT_RUN', { service });
  const subscriptions = ({ name, takes }: HandlerDefinition<Tx>): readonly string[] => {
    const own = takenAs.get(name);
    return own === undefined ? [...takes.keys()].map((type) => routes.handledAs(type)) : [own];
  };
  const isFedBy = ({ kind, takes }: HandlerDefinition<Tx>, transport: Transport): boolean =>
    kind !== 'publish' && [...takes.keys()].some((type) => routes.of(type) === transport);
  session = await store.openRelay();
  registry.seal();
  const relay = await startRelay({
    session,
    effects,
    handlers,
    worker: { name: options.name ?? service, service, generation },
    subscriptions,
    isPinned,
    tell,
    wrapRun: options.wrapRun,
    leaseMs,
    pollMs,
    keep: { historyMs, maxPending: options.maxPending },
    mirrors: ways.map(({ transport, host }) => ({
      transport: transport.name,
      handlers: new Set([...handlers.values()].filter((one) => isFedBy(one, transport)).map(({ name }) => name)),
      copy: (letters) => transport.copyDead(host, letters),
    })),
  });
  const used = ways.filter(({ to, from }) => handlers.has(to.handler.name) || handlers.has(from.handler.name));
  if (used.length === 0) return relay;
  return new RunningService(
    relay,
    used
      .filter(({ from, host }) => handlers.has(from.handler.name) && host.types.length > 0)
      .map(({ transport, host }) => transport.receive(host)),
    used.map(({ transport }) => transport),
  );
}

/** A relay with what it receives through transports. */
class RunningService implements RunningRelay {
  readonly #relay: RunningRelay;
  readonly #receiving: readonly Receiving[];
  readonly #transports: readonly Transport[];
  #stopping: Promise<void> | undefined;

  constructor(relay: RunningRelay, receiving: readonly Receiving[], transports: readonly Transport[]) {
    this.#relay = relay;
    this.#receiving = receiving;
    this.#transports = transports;
  }

  get workerId(): string {
    return this.#relay.workerId;
  }

  whenIdle(): Promise<void> {
    return this.#relay.whenIdle();
  }

  stop(options?: { readonly drainMs?: number | undefined }): Promise<void> {
    this.#stopping ??= this.#stop(options);
    return this.#stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Takes nothing more in before it lets out what it has. */
  async #stop(options: { readonly drainMs?: number | undefined } | undefined): Promise<void> {
    await Promise.all(this.#receiving.map((one) => one.stop()));
    await this.#relay.stop(options);
    await Promise.all(this.#transports.map((transport) => transport.close().catch(() => undefined)));
  }
}

function isRelayStore<Tx, SendTx>(
  store: OutboxStore<SendTx> | RelayStore<Tx, SendTx>,
): store is RelayStore<Tx, SendTx> {
  return 'openRelay' in store && typeof store.openRelay === 'function';
}

/** Without those that are written as `undefined`. */
function given<T extends object>(options: T): { [Name in keyof T]?: NonNullable<T[Name]> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never;
}

function must<T>(value: T | undefined): T {
  if (value === undefined) throw new TypeError('the relay is not open yet');
  return value;
}
