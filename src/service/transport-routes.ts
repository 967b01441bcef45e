import type { OptionCheck } from '../kernel/check-options.ts';
import { COMMAND_PREFIX, commandTakenAs } from '../outbox/command-type.ts';
import { publishedAs, receivedAs } from '../transport/taken-as.ts';
import type { Transport } from '../transport/transport.ts';

/** Which messages go through which transport. */
export interface TransportRoute {
  /** Events, or their types; `order.*` is every type that begins with `order.`. */
  readonly events: readonly (string | { readonly type: string })[];
  readonly transport: Transport;
}

/** One transport for everything, or one for some kinds of message; the first that fits counts, others stay in this database. */
export type TransportOption = Transport | readonly TransportRoute[];

/** Which way the messages of a service go. */
export class TransportRoutes {
  readonly #service: string;
  readonly #routes: readonly TransportRoute[];

  constructor(service: string, option: TransportOption | undefined) {
    this.#service = service;
    const isOne = option !== undefined && 'handlers' in option;
    this.#routes = isOne ? [{ events: ['*'], transport: option }] : (option ?? []);
  }

  get transports(): ReadonlySet<Transport> {
    return new Set(this.#routes.map(({ transport }) => transport));
  }

  /** The transport of a type; nothing: it stays here. */
  of(type: string): Transport | undefined {
    if (type.startsWith(COMMAND_PREFIX)) return undefined;
    return this.#routes.find(({ events }) => events.some((event) => fits(event, type)))?.transport;
  }

  /** What a message that is sent here is taken as; nothing: its type. */
  readonly sentAs = (type: string): string | undefined => {
    const transport = this.of(type);
    return transport && publishedAs(this.#service, transport.name);
  };

  /** What a handler of a type takes: what was sent here, or what came in. */
  handledAs(type: string): string {
    if (type.startsWith(COMMAND_PREFIX)) return commandTakenAs(this.#service, type);
    return this.of(type) ? receivedAs(this.#service, type) : type;
  }
}

/** Refuses what is no transport, and two of one name. */
export function checkTransports(check: OptionCheck, option: unknown): void {
  if (option === undefined) return;
  const routes = Array.isArray(option)
    ? (option as Partial<TransportRoute>[])
    : [{ events: ['*'], transport: option as Transport }];
  const byName = new Map<string, unknown>();
  for (const [place, { events, transport } = {}] of routes.entries()) {
    const name = Array.isArray(option) ? `transport[${place}]` : 'transport';
    if (typeof transport?.handlers !== 'function' || typeof transport.receive !== 'function') {
      check.refuse(name, transport, 'pass a transport, for example redisStreams({ client })');
      continue;
    }
    const named = byName.get(transport.name);
    if (named !== undefined && named !== transport)
      check.refuseName(`${name}.name`, transport.name, 'give each transport a name of its own');
    byName.set(transport.name, transport);
    if (!Array.isArray(events) || events.length === 0 || !events.every((event) => typeOf(event) !== undefined))
      check.refuse(`${name}.events`, events, "pass a list of events or types, for example ['order.*']");
  }
}

function fits(event: TransportRoute['events'][number], type: string): boolean {
  const wanted = typeOf(event) ?? '';
  return wanted.endsWith('*') ? type.startsWith(wanted.slice(0, -1)) : wanted === type;
}

function typeOf(event: unknown): string | undefined {
  const type: unknown = typeof event === 'object' && event !== null ? (event as { type?: unknown }).type : event;
  return typeof type === 'string' && type !== '' ? type : undefined;
}
