import { OptionCheck } from '../kernel/check-options.ts';
import type { HandledEvent } from '../outbox/event.ts';
import type { OutboxStore } from '../outbox/outbox-store.ts';
import { checkSealing, type Sealing } from '../outbox/sealing.ts';
import { createSending, type Sending, type SendWrapper } from '../outbox/sending.ts';
import type { Handle, HandlerOptions, Project, ProjectAll } from '../relay/handler.ts';
import type { RelayStore } from '../relay/relay-store.ts';
import type { RunningRelay } from '../relay/relay.ts';
import { HandlerRegistry } from './handler-registry.ts';
import { importDead, type ImportDeadOptions, type ImportedDead } from './import-dead.ts';
import { SERVICE_PARTS, type ServiceParts } from './service-parts.ts';
import type { StartOptions } from './start-options.ts';
import { startService } from './start-service.ts';
import { checkTransports, type TransportOption, TransportRoutes } from './transport-routes.ts';

/** What `holdfast` takes. */
export interface HoldfastOptions<Tx, SendTx = Tx> {
  /** The name of this service: the `source` of what it sends, and what its dead letters are listed under. */
  readonly service: string;
  /** With `start`, a store that can run handlers: `postgres({ pool })`. */
  readonly store: OutboxStore<SendTx> | RelayStore<Tx, SendTx>;
  /** The generation of this deployment: what it sends carries it. Default: none. */
  readonly generation?: number | undefined;
  /** Its handlers take messages of their own generation only, so that a rolling deployment does not mix them. Default false. */
  readonly pinned?: boolean | undefined;
  /** The way its messages go: a broker for all of them, or for some kinds. Default: they stay in this database. */
  readonly transport?: TransportOption | undefined;
  /** Encrypts payloads before they are stored and opens them for handlers: `aesSealing({ current, keys })`. Default: they are plain. */
  readonly sealing?: Sealing | undefined;
  /** Called around each `send`, for tracing: `traceSends()` of `holdfast/telemetry`. */
  readonly wrapSend?: SendWrapper | undefined;
}

/** One kind of message, or several, as `on` and `project` take them. */
type Events<Event> = Event | readonly Event[];

/** What a handler gets: of several kinds of message, the payload of any of them. */
type PayloadOf<Event> = Event extends HandledEvent<infer Output> ? Output : never;

/** Holdfast in one service. `Tx` is the transaction that handlers get, `SendTx` what `send` takes. */
export interface Holdfast<Tx, SendTx = Tx> extends Sending<SendTx> {
  readonly service: string;
  /** As it was given. */
  readonly generation: number | undefined;
  readonly wrapSend: SendWrapper | undefined;
  /**
   * Registers a handler. Each name gets every message of its events once, in order within a key, in whichever process has it.
   * Returning is success; throwing is a failed attempt, judged by its policy.
   */
  on<Event extends HandledEvent<unknown>>(
    events: Events<Event>,
    name: string,
    handle: Handle<PayloadOf<Event>, Tx>,
    options?: HandlerOptions,
  ): void;
  /**
   * Registers a handler whose effects are database statements alone: `tx` is a transaction in which the message is finished
   * too. Many messages share one commit, which makes it the fastest way. Touch nothing but `tx` in it.
   */
  project<Event extends HandledEvent<unknown>>(
    events: Events<Event>,
    name: string,
    project: Project<PayloadOf<Event>, Tx>,
    options?: HandlerOptions,
  ): void;
  /**
   * As `project`, but with many messages at once, up to 500, so that one statement does for all: an insert of many rows.
   * Throw when one of them is wrong: the others are then tried without it.
   */
  projectAll<Event extends HandledEvent<unknown>>(
    events: Events<Event>,
    name: string,
    project: ProjectAll<PayloadOf<Event>, Tx>,
    options?: HandlerOptions,
  ): void;
  /** Starts to handle messages in this process. Register handlers before: later ones are refused. */
  start(options?: StartOptions): Promise<RunningRelay>;
  /**
   * Takes in what the brokers of its transports keep as dead letters. They become dead letters here, to be replayed or discarded like
   * any other. Rejects with `BROKER_AWAY` when a broker cannot be reached.
   */
  importDead(options?: ImportDeadOptions): Promise<ImportedDead>;
}

/** Ties a service to its store. It starts nothing: sending needs no running part. */
export function holdfast<SendTx, Tx = SendTx>(options: HoldfastOptions<Tx, SendTx>): Holdfast<Tx, SendTx> {
  checkHoldfast(options);
  const { service, store, generation, pinned = false, wrapSend, sealing } = options;
  const routes = new TransportRoutes(service, options.transport);
  const registry = new HandlerRegistry<Tx>(sealing);
  const about = { service, generation, isPinned: pinned, routes };
  const made: Holdfast<Tx, SendTx> = {
    service,
    generation,
    wrapSend,
    ...createSending({ service, generation, takenAs: routes.sentAs, wrapSend, sealing }, store),
    on: (events, name, handle, handlerOptions = {}) => {
      const run = { kind: 'handle', run: handle as Handle<unknown, Tx> } as const;
      registry.add({ of: 'on()', events: [events].flat(), name, run, options: handlerOptions });
    },
    project: (events, name, project, handlerOptions = {}) => {
      const run = { kind: 'project', run: { of: 'each', run: project as Project<unknown, Tx> } } as const;
      registry.add({ of: 'project()', events: [events].flat(), name, run, options: handlerOptions });
    },
    projectAll: (events, name, project, handlerOptions = {}) => {
      const run = { kind: 'project', run: { of: 'all', run: project as ProjectAll<unknown, Tx> } } as const;
      registry.add({ of: 'projectAll()', events: [events].flat(), name, run, options: handlerOptions });
    },
    importDead: (importOptions = {}) => importDead(about, store, registry, importOptions),
    start: (startOptions = {}) => startService(about, store, registry, startOptions),
  };
  SERVICE_PARTS.set(made, { about, store, registry } satisfies ServiceParts<Tx, SendTx>);
  return made;
}

function checkHoldfast<Tx, SendTx>(options: HoldfastOptions<Tx, SendTx>): void {
  const check = new OptionCheck('holdfast()');
  if (check.object('options', options, "pass { service: 'orders', store: postgres({ pool }) }")) {
    check.known(options, ['service', 'store', 'generation', 'pinned', 'transport', 'wrapSend', 'sealing']);
    if (options.sealing !== undefined) checkSealing(check, 'sealing', options.sealing);
    checkTransports(check, options.transport);
    const { service, store, generation, pinned } = options;
    if (typeof service !== 'string' || service === '')
      check.refuse('service', service, "name it, for example 'orders'");
    if (typeof store?.append !== 'function')
      check.refuse('store', store, 'pass a store, for example postgres({ pool })');
    if (generation !== undefined) {
      check.number('generation', generation, { min: 0, integer: true, write: 'write a whole number, or leave it out' });
    }
    if (options.wrapSend !== undefined && typeof options.wrapSend !== 'function')
      check.refuse('wrapSend', options.wrapSend, 'pass a function, for example traceSends(tracer), or leave it out');
    if (pinned !== undefined && typeof pinned !== 'boolean') check.refuse('pinned', pinned, 'write true or false');
    if (pinned === true && generation === undefined) {
      check.refuse(
        'pinned',
        pinned,
        'give the generation too: pinned handlers take messages of their own generation only',
      );
    }
  }
  check.done();
}
