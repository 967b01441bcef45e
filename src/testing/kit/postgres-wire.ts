import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { isQuestion, StatementNames, type WireMessage, WireMessages } from './wire-messages.ts';

/**
 * Where a statement is stopped: before the server has read it (`unsent`), when it is on its way there (`sent`), or when the server has
 * done it and the client has not heard so (`answered`). `passed`: not at all, when all that matters is that it was sent.
 */
export type WirePoint = 'unsent' | 'sent' | 'answered' | 'passed';

/** A connection that is stopped: nothing passes in either direction, as from a server that hangs. */
export interface StoppedWire {
  /** Ends it for both sides, as when a cable is cut. */
  cut(): void;
}

/** A way to a PostgreSQL server on which connections can be stopped and cut at an exact statement. */
export interface PostgresWire extends AsyncDisposable {
  /** Leads through it; for any client. */
  readonly url: string;
  /**
   * Stops the connection over which the next statement with these words is sent, and resolves when that has happened. Text is found
   * anywhere in a statement; the commit alone is `/^commit$/i`.
   */
  stopAt(words: Words, point: WirePoint, options?: StopOptions): Promise<StoppedWire>;
  /** The same, and cuts it there: with `answered`, the answer is lost. */
  cutAt(words: Words, point: WirePoint, options?: StopOptions): Promise<void>;
  /** Cuts all that is open. May be called twice. */
  close(): Promise<void>;
}

type Words = string | RegExp;

/** What `stopAt` and `cutAt` take besides. */
export interface StopOptions {
  /** Only on a connection over which a statement with these words has gone before: the commit of that insert, and no other. */
  readonly after?: Words | undefined;
}

interface Trap {
  readonly words: Words;
  readonly after: Words | undefined;
  readonly point: WirePoint;
  readonly caught: (wire: StoppedWire) => void;
}

/** Opens a way to the server at `url`: `postgres://…`, with a host and no encryption. */
export async function postgresWire(url: string): Promise<PostgresWire> {
  const target = new URL(url);
  const traps = new Set<Trap>();
  const wires = new Set<OpenWire>();
  const server = createServer((client) => {
    const upstream = connect(Number(target.port || '5432'), target.hostname.replaceAll(/[[\]]/g, ''));
    const wire = new OpenWire(client, upstream, traps);
    wires.add(wire);
    client.on('close', () => wires.delete(wire));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const leads = new URL(url);
  leads.hostname = '127.0.0.1';
  leads.port = String((server.address() as AddressInfo).port);
  const stopAt: PostgresWire['stopAt'] = (words, point, { after } = {}) => {
    const { promise, resolve } = Promise.withResolvers<StoppedWire>();
    traps.add({ words, after, point, caught: resolve });
    return promise;
  };
  let closing: Promise<unknown> | undefined;
  const close = async (): Promise<void> => {
    closing ??= once(server, 'close');
    for (const wire of wires) wire.cut();
    server.close();
    await closing;
  };
  return {
    url: leads.href,
    stopAt,
    cutAt: async (words, point, options) => (await stopAt(words, point, options)).cut(),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** One connection, from its client to the server. */
class OpenWire implements StoppedWire {
  readonly #client: Socket;
  readonly #upstream: Socket;
  readonly #traps: Set<Trap>;
  readonly #said = new WireMessages('client');
  readonly #answers = new WireMessages('server');
  readonly #names = new StatementNames();
  /** Traps whose `after` has gone over this connection. */
  readonly #armed = new WeakSet<Trap>();
  #isStopped = false;
  /** What the server has to answer, in its order: each ends with its `ready for query`. */
  readonly #awaited: (Trap | undefined)[] = [];
  /** Of what the client says at the moment: up to its `sync`, or one query. */
  #met: Trap | undefined;

  constructor(client: Socket, upstream: Socket, traps: Set<Trap>) {
    this.#client = client;
    this.#upstream = upstream;
    this.#traps = traps;
    for (const socket of [client, upstream]) {
      socket.on('error', () => undefined);
      // One that is stopped looks open to the other side until it is cut.
      socket.on('close', () => this.#isStopped || this.cut());
    }
    client.on('data', (data) => {
      for (const message of this.#said.read(data)) this.#say(message);
    });
    upstream.on('data', (data) => {
      for (const message of this.#answers.read(data)) this.#answer(message);
    });
  }

  cut(): void {
    this.#isStopped = true;
    this.#client.destroy();
    this.#upstream.destroy();
  }

  #say(message: WireMessage): void {
    if (this.#isStopped) return;
    if (message.kind === undefined && isQuestion(message.body)) return void this.#client.write('N');
    const statement = this.#names.ranBy(message);
    const trap = statement === undefined ? undefined : this.#trapFor(statement);
    if (trap?.point === 'unsent') return this.#stop(trap);
    this.#upstream.write(message.whole);
    if (trap?.point === 'passed') trap.caught(this);
    else this.#met ??= trap;
    if (message.kind !== 'Q' && message.kind !== 'S') return;
    // Only now: without the end of what was said the server would do nothing of it for good.
    if (this.#met?.point === 'sent') return this.#stop(this.#met);
    this.#awaited.push(this.#met);
    this.#met = undefined;
  }

  #answer({ kind, whole }: WireMessage): void {
    if (this.#isStopped) return;
    const trap = this.#awaited.length > 0 ? this.#awaited[0] : this.#met;
    // What must not arrive is dropped from its first byte: a client may act on a row before the end.
    if (trap === undefined) this.#client.write(whole);
    if (kind !== 'Z') return;
    this.#awaited.shift();
    if (trap !== undefined) this.#stop(trap);
  }

  #trapFor(statement: string): Trap | undefined {
    const isMet = (words: Words): boolean =>
      typeof words === 'string' ? statement.includes(words) : words.test(statement);
    let met: Trap | undefined;
    for (const trap of this.#traps) {
      if (met === undefined && isMet(trap.words) && (trap.after === undefined || this.#armed.has(trap))) met = trap;
      if (trap.after !== undefined && isMet(trap.after)) this.#armed.add(trap);
    }
    if (met) this.#traps.delete(met);
    return met;
  }

  #stop(trap: Trap): void {
    this.#isStopped = true;
    trap.caught(this);
  }
}
