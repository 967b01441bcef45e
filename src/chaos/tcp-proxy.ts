import { connect, createServer, type AddressInfo, type NetConnectOpts, type Server, type Socket } from 'node:net';
import type { Effects } from '../kernel/effects.ts';

/** How often each kind of trouble on the way has hit. */
export interface ProxyHits {
  /** Connections that were ended. */
  cut: number;
  /** Pieces of data that came later than they were sent. */
  delayed: number;
  /** Connections over which nothing came any more. */
  silenced: number;
  /** Connections that were not let through. */
  refused: number;
}

type Pair = readonly [from: Socket, to: Socket];

/** A way to a server that can be cut, slowed, closed, and that can fall silent. What passes is not looked at: TLS passes too. */
export class TcpProxy {
  readonly hits: ProxyHits = { cut: 0, delayed: 0, silenced: 0, refused: 0 };
  #target: NetConnectOpts;
  readonly #effects: Effects;
  readonly #open = new Set<Pair>();
  readonly #silent = new Set<Pair>();
  readonly #server: Server;
  #delayMs = 0;
  #isClosed = false;

  private constructor(target: NetConnectOpts, effects: Effects) {
    this.#target = target;
    this.#effects = effects;
    this.#server = createServer((from) => this.#take(from));
  }

  /** Opens a proxy on a free port of 127.0.0.1. */
  static async open(target: NetConnectOpts, effects: Effects): Promise<TcpProxy> {
    const proxy = new TcpProxy(target, effects);
    await new Promise<void>((resolve, reject) => {
      proxy.#server.once('error', reject).listen(0, '127.0.0.1', resolve);
    });
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** From now on new connections lead there, as a name does that was given to another server. */
  lead(target: NetConnectOpts): void {
    this.#target = target;
  }

  /** Ends every connection; new ones work. Gives how many there were. */
  cut(): number {
    const pairs = [...this.#open];
    for (const pair of pairs) this.#end(pair);
    this.hits.cut += pairs.length;
    return pairs.length;
  }

  /** What is open stays open, and nothing comes through it any more; new connections work. Gives how many there were. */
  fallSilent(): number {
    for (const pair of this.#open) {
      for (const socket of pair) socket.removeAllListeners('data').pause();
      this.#silent.add(pair);
    }
    this.hits.silenced += this.#open.size;
    return this.#open.size;
  }

  /** What is sent over what is open arrives, and no answer comes back; new connections work. Gives how many there were. */
  loseAnswers(): number {
    for (const pair of this.#open) {
      pair[1].removeAllListeners('data').resume();
      this.#silent.add(pair);
    }
    this.hits.silenced += this.#open.size;
    return this.#open.size;
  }

  /** Ends what has fallen silent, as keepalive does at last: until then neither side knows that the other has given up. */
  endSilent(): void {
    for (const pair of this.#silent) this.#end(pair);
  }

  /** From now on everything takes so much longer, in both directions; 0: as fast as it goes. */
  delay(ms: number): void {
    this.#delayMs = ms;
  }

  /** Ends every connection and takes no new one, as a server that is away, until `letPass`. */
  shut(): void {
    this.#isClosed = true;
    this.cut();
  }

  letPass(): void {
    this.#isClosed = false;
  }

  /** May be called twice. */
  close(): void {
    for (const pair of this.#open) this.#end(pair);
    this.#server.close();
  }

  #take(from: Socket): void {
    if (this.#isClosed) {
      this.hits.refused += 1;
      from.on('error', () => undefined).resetAndDestroy();
      return;
    }
    const to = connect(this.#target);
    const pair = [from, to] as const;
    this.#open.add(pair);
    for (const socket of pair) socket.setNoDelay(true).on('error', () => this.#end(pair));
    for (const socket of pair) socket.on('close', () => this.#end(pair));
    this.#pass(from, to);
    this.#pass(to, from);
  }

  /** Hands on what comes, in its order, and no faster than it is taken. */
  #pass(from: Socket, to: Socket): void {
    from.on('data', (data) => {
      if (this.#delayMs === 0) {
        if (to.write(data)) return;
        from.pause();
        to.once('drain', () => from.resume());
        return;
      }
      // One piece at a time: what follows waits for it, and so nothing overtakes it.
      this.hits.delayed += 1;
      from.pause();
      this.#effects.setTimer(() => {
        if (!to.destroyed) to.write(data);
        from.resume();
      }, this.#delayMs);
    });
    from.on('end', () => to.end());
  }

  #end(pair: Pair): void {
    this.#silent.delete(pair);
    if (!this.#open.delete(pair)) return;
    for (const socket of pair) socket.destroy();
  }
}
