import { lookup as lookupName } from 'node:dns';
import { Agent as HttpAgent, type AgentOptions, type ClientRequestArgs } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { connect, isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls, createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import type { AddressGuard } from './address-guard.ts';
import { MAX_WIDTH } from './destination-width.ts';
import type { Resolve, ResolvedAddress } from './resolve.ts';

/** The destination is an address that may not be called. */
class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
  readonly code = 'ADDRESS_REFUSED';
}

/** Who asks for a socket is told how to give that up, should one have to be opened. */
export interface SocketWatch {
  readonly onOpening?: ((cancel: (reason: Error) => void) => void) | undefined;
}

/** The way to destinations: sockets that are connected, and kept, only to addresses that may be called. */
export interface GuardedSockets {
  /** `isFresh`: with a socket of its own. */
  agentFor(protocol: string, isFresh: boolean): HttpAgent;
  close(): void;
}

// How long a socket that nobody uses is kept; for one destination as many as it may have in use, or they were opened again and again.
const IDLE_MS = 15_000;
const MOST_IDLE = MAX_WIDTH;

type Connected = (error: Error | null, socket: Duplex) => void;
/** What Node adds to the options of a request before it asks for a socket. */
type SocketOptions = ClientRequestArgs & SocketWatch & { readonly _agentKey?: string };

/** Sockets by these rules. `ca`: whom to trust besides the authorities everybody trusts. */
export function guardedSockets(
  guard: AddressGuard,
  { resolve = systemResolve, ca }: { readonly resolve?: Resolve | undefined; readonly ca?: string | undefined } = {},
): GuardedSockets {
  const way = new GuardedWay(guard, resolve, ca);
  const kept = { keepAlive: true, timeout: IDLE_MS, maxFreeSockets: MOST_IDLE, scheduling: 'lifo' } as const;
  const agents = {
    http: [new GuardedHttpAgent(way, kept), new GuardedHttpAgent(way, { keepAlive: false })],
    https: [new GuardedHttpsAgent(way, kept), new GuardedHttpsAgent(way, { keepAlive: false })],
  } as const;
  return {
    agentFor: (protocol, isFresh) => agents[protocol === 'https:' ? 'https' : 'http'][isFresh ? 1 : 0],
    close: () => {
      for (const agent of [...agents.http, ...agents.https]) agent.destroy();
    },
  };
}

const systemResolve: Resolve = (host, answer) =>
  lookupName(host, { all: true, verbatim: true }, (error, addresses) => answer(error, addresses));

class GuardedHttpAgent extends HttpAgent {
  readonly #way: GuardedWay;

  constructor(way: GuardedWay, options: AgentOptions) {
    super(options);
    this.#way = way;
  }

  override createConnection(options: SocketOptions, connected: Connected): undefined {
    this.#way.open(options, false, forgetting(this, options, connected));
  }
}

class GuardedHttpsAgent extends HttpsAgent {
  readonly #way: GuardedWay;

  constructor(way: GuardedWay, options: AgentOptions) {
    super(options);
    this.#way = way;
  }

  override createConnection(options: SocketOptions, connected: Connected): undefined {
    this.#way.open(options, true, forgetting(this, options, connected));
  }
}

/** Node keeps an empty list for each destination that could not be reached: for ever, and there may be any number of them. */
function forgetting(agent: HttpAgent, { _agentKey = '' }: SocketOptions, connected: Connected): Connected {
  return (error, socket) => {
    connected(error, socket);
    const sockets = agent.sockets as Record<string, Socket[] | undefined>;
    if (error && sockets[_agentKey]?.length === 0) delete sockets[_agentKey];
  };
}

/** Opens sockets. Nothing is written to one before the address that it is really connected to was looked at. */
class GuardedWay {
  readonly #guard: AddressGuard;
  readonly #resolve: Resolve;
  /** Made once: it takes milliseconds. Nothing: those everybody trusts. */
  readonly #trust: SecureContext | undefined;
  /** Names that are being asked for: a slow name server holds up one question for a name, not one for each delivery. */
  readonly #asked = new Map<string, ((error: Error | null, addresses: readonly ResolvedAddress[]) => void)[]>();

  constructor(guard: AddressGuard, resolve: Resolve, ca: string | undefined) {
    this.#guard = guard;
    this.#resolve = resolve;
    // Node takes a list in place of its own.
    this.#trust = ca === undefined ? undefined : createSecureContext({ ca: [...rootCertificates, ca] });
  }

  /** Calls back with a socket that is connected and encrypted, ready to be written to, or with why not: also when it is given up. */
  open(options: SocketOptions, isSecure: boolean, connected: Connected): void {
    const { host, onOpening } = options;
    const name = host ?? '';
    const opening = new Opening(connected);
    onOpening?.((reason) => opening.fail(reason));
    const port = Number(options.port);
    this.#allowed(name, port, (error, addresses) => {
      if (opening.isOver) return;
      if (error) return opening.fail(error);
      const socket = connect({
        host: name,
        port,
        noDelay: true,
        keepAlive: true,
        // Not asked a second time: what was looked at is what is connected to.
        lookup: (_host, how, answer) => {
          if (how.all === true) answer(null, [...addresses]);
          else answer(null, addresses[0]?.address ?? '', addresses[0]?.family);
        },
      });
      opening.watch(socket);
      socket.once('connect', () => {
        const verdict = this.#guard.checkPeer(socket.remoteAddress ?? '', socket.remotePort ?? port);
        if (verdict.kind === 'refused') return opening.fail(new AddressRefused(verdict.why));
        if (!isSecure) return opening.done(socket);
        this.#secure(opening, socket, options);
      });
    });
  }

  #secure(opening: Opening, socket: Socket, { host }: SocketOptions): void {
    const name = host ?? '';
    const secure = connectTls({
      socket,
      servername: isIP(name) === 0 ? name : '',
      host: name,
      ALPNProtocols: ['http/1.1'],
      ...(this.#trust && { secureContext: this.#trust }),
    });
    opening.watch(secure);
    secure.once('secureConnect', () => opening.done(secure));
  }

  /** The addresses of a host that may be called. */
  #allowed(
    host: string,
    port: number,
    answer: (error: Error | null, addresses: readonly ResolvedAddress[]) => void,
  ): void {
    const judge = (error: Error | null, found: readonly ResolvedAddress[]): void => {
      if (error) return answer(error, []);
      const allowed = found.filter(({ address }) => this.#guard.checkPeer(address, port).kind === 'allowed');
      const [first] = found;
      if (allowed.length > 0) return answer(null, allowed);
      const verdict = this.#guard.checkPeer(first?.address ?? '', port);
      answer(new AddressRefused(verdict.kind === 'refused' ? verdict.why : 'it has no address'), []);
    };
    const family = isIP(host);
    if (family !== 0) return judge(null, [{ address: host, family }]);
    const waiting = this.#asked.get(host);
    if (waiting) return void waiting.push(judge);
    const all = [judge];
    this.#asked.set(host, all);
    this.#resolve(host, (error, found) => {
      this.#asked.delete(host);
      for (const one of all) one(error, found);
    });
  }
}

/** One socket on its way: it is handed out once, or destroyed. */
class Opening {
  readonly #connected: Connected;
  #socket: Socket | undefined;
  isOver = false;

  constructor(connected: Connected) {
    this.#connected = connected;
  }

  watch(socket: Socket): void {
    this.#socket?.off('error', this.#failed);
    this.#socket = socket;
    socket.once('error', this.#failed);
  }

  done(socket: Socket): void {
    if (!this.#end()) return;
    socket.off('error', this.#failed);
    this.#connected(null, socket);
  }

  fail(error: Error): void {
    if (!this.#end()) return;
    const socket = this.#socket;
    // A socket that is destroyed may still tell of an error; nobody else listens.
    socket?.on('error', () => undefined);
    socket?.destroy();
    this.#connected(error, socket as unknown as Duplex);
  }

  readonly #failed = (error: Error): void => this.fail(error);

  #end(): boolean {
    if (this.isOver) return false;
    this.isOver = true;
    return true;
  }
}
