import { Buffer } from 'node:buffer';
import type { CapturedReply, HttpReply } from '../idempotency/http/http-reply.ts';
import type { HttpRun, RouteRun } from '../idempotency/http/http-run.ts';
import { HoldfastError } from '../kernel/error.ts';
import { createSleep } from '../kernel/sleep.ts';
import { letProcessEnd, systemEffects } from '../system/effects.ts';
import type { NodeResponse } from './node-response.ts';
import { type Client, outliveClient } from './outlive-client.ts';
import { applyHead, headLines, readHead, type ResponseHead, writeHead } from './response-head.ts';

const sleep = createSleep(systemEffects);
const REPLY_WITHIN_MS = 10_000;
// As long as a run that is not heard of counts as running, unless a route says otherwise.
const QUIET_MS = 30_000;

/**
 * Reads what is written to a response, however it is written, and ends the run before the last byte goes out. What comes in pieces is
 * passed on at once; a reply that is ended in one go is not sent before it is kept. Inside `commit` nothing is passed on: the reply
 * is kept in the transaction and sent after it, and a transaction that fails leaves the response as it was before.
 *
 * To everybody else a response that was ended here looks ended at once: an error that comes after it must not write into it. To the
 * layers below, such as one that compresses, it looks as it is while they are called.
 *
 * A client that goes away stops nothing: the reply is made to its end and kept. One that nobody goes on with leaves its run in doubt.
 */
export class GuardedResponse<Tx> {
  readonly #res: NodeResponse;
  readonly #run: HttpRun<Tx>;
  readonly #write: NodeResponse['write'];
  readonly #end: NodeResponse['end'];
  readonly #flush: () => void;
  readonly #isHeadSent: () => boolean;
  /** As the handler made it, when the reply came in pieces: layers below write their own headers when it goes out. */
  #head: ResponseHead | undefined;
  #heardMs = 0;
  readonly #client: Client;
  #chunks: Buffer[] = [];
  /** The whole body as it was given, where that was one text: Node sends it in one go with the head. */
  #text: { readonly text: string; readonly encoding: BufferEncoding } | undefined;
  #size = 0;
  #isHolding = false;
  #isPassing = false;
  #hasEnded = false;
  #onEnd: (() => void) | undefined;
  #afterEnd: (() => void)[] = [];

  constructor(res: NodeResponse, run: HttpRun<Tx>) {
    this.#res = res;
    this.#run = run;
    this.#write = this.#passing(res.write.bind(res));
    this.#end = this.#passing(res.end.bind(res));
    this.#client = outliveClient(res, () => this.#onGone());
    const flush = res.flushHeaders?.bind(res);
    this.#flush = this.#passing(() => flush?.());
    const sendHead = res.writeHead.bind(res);
    const before = gettersOf(res);
    this.#isHeadSent = () => before.headersSent.call(res);
    res.setHeader(...run.header);
    res.writeHead = (status, ...rest) => {
      // Node sends the head through this function too, when it is about to send the body.
      if (this.#isPassing) return sendHead(status, ...rest);
      if (!this.#hasEnded) applyHead(res, status, rest);
      return res;
    };
    // The end of HTTP/2 writes its chunk through this function.
    res.write = (chunk, ...rest) => (this.#isPassing ? this.#write(chunk, ...rest) : this.#onWrite(chunk, rest));
    res.end = (...args) => {
      this.#onEndCall(args);
      return res;
    };
    res.flushHeaders = () => {
      if (this.#hasEnded || this.#isHolding) return;
      this.#noteHead();
      this.#flush();
    };
    guards.set(res, { looksEnded: () => this.#hasEnded && !this.#isPassing, before });
    Object.defineProperties(res, COVERS);
  }

  /** The run as a handler sees it. */
  routeRun(): RouteRun<Tx, void> {
    const run = this.#run;
    return {
      number: run.number,
      // Made only if somebody looks at it.
      get signal() {
        return run.signal;
      },
      childKey: (step) => run.childKey(step),
      commit: async (work) => this.#commit(work),
    };
  }

  async #commit(work: (tx: Tx) => Promise<void>): Promise<void> {
    if (this.#hasEnded || this.#isHeadSent()) throw new HoldfastError('IDEMPOTENCY_REPLY_SENT', {});
    const before = readHead(this.#res);
    this.#isHolding = true;
    const ended = new Promise<void>((resolve) => (this.#onEnd = resolve));
    try {
      const head = await this.#run.commit(
        async (tx) => {
          await work(tx);
          await endedInTime(ended);
          return readHead(this.#res);
        },
        async (made) => this.#captured(made),
      );
      this.#isHolding = false;
      this.#send(head);
    } catch (error) {
      this.#forget();
      writeHead(this.#res, before);
      throw error;
    }
  }

  /** Its client is gone. It goes on until the reply is made, its claim is lost, or nothing has been heard of it for a while. */
  #onGone(): void {
    const letGo = (): void => this.#client.letGo();
    const { signal } = this.#run;
    if (signal.aborted) return letGo();
    signal.addEventListener('abort', letGo, { once: true });
    if (!this.#isHeadSent()) return;
    this.#heardMs = systemEffects.monoMs();
    const look = (): void => {
      if (this.#hasEnded) return;
      const quietMs = systemEffects.monoMs() - this.#heardMs;
      if (quietMs < QUIET_MS) return letProcessEnd(systemEffects.setTimer(look, QUIET_MS - quietMs));
      void this.#run.doubt();
      letGo();
    };
    look();
  }

  #noteHead(): void {
    if (!this.#isHeadSent()) this.#head = readHead(this.#res);
  }

  /** A function of the response as it was, during whose call everything goes out. */
  #passing<Args extends unknown[], T>(send: (...args: Args) => T): (...args: Args) => T {
    return (...args) => {
      const wasPassing = this.#isPassing;
      this.#isPassing = true;
      try {
        return send(...args);
      } finally {
        this.#isPassing = wasPassing;
      }
    };
  }

  #onWrite(chunk: unknown, rest: unknown[]): boolean {
    if (this.#hasEnded) return false;
    this.#heardMs = systemEffects.monoMs();
    this.#take(chunk, rest[0]);
    if (!this.#isHolding && !this.#client.isGone) {
      this.#noteHead();
      return this.#write(chunk, ...rest);
    }
    const callback = rest.find((item) => typeof item === 'function');
    if (callback !== undefined) queueMicrotask(callback as () => void);
    return true;
  }

  #onEndCall(args: unknown[]): void {
    if (this.#hasEnded) return;
    const [chunk, encoding] = args;
    const isInPieces = this.#isHeadSent();
    const isThere = typeof chunk !== 'function' && chunk !== undefined && chunk !== null;
    const isWhole = !isInPieces && this.#chunks.length === 0;
    // What cannot be sent throws here, and the reply can still be ended in another way.
    const taken = isThere ? [this.#take(chunk, encoding)] : [];
    if (typeof chunk === 'string' && isWhole) this.#text = { text: chunk, encoding: encodingOf(encoding) };
    this.#hasEnded = true;
    const callback = args.find((item) => typeof item === 'function');
    if (callback !== undefined) this.#afterEnd.push(callback as () => void);
    if (this.#isHolding) return this.#onEnd?.();
    const last = isInPieces ? taken : undefined;
    void this.#finish(this.#head ?? readHead(this.#res), last);
  }

  /** `last` are the chunks that have not gone out yet; `undefined` when nothing has. */
  async #finish(head: ResponseHead, last: readonly Buffer[] | undefined): Promise<void> {
    let instead: HttpReply | undefined;
    try {
      instead = await this.#run.finish(this.#captured(head));
    } catch {
      // The route's own `keep` threw. The run is in doubt; the client gets what the handler answered.
    }
    if (last !== undefined) {
      this.#client.letGo();
      return void this.#end(Buffer.concat(last), ...this.#afterEnd);
    }
    if (instead === undefined) return this.#send(head);
    this.#text = undefined;
    this.#chunks = instead.body === undefined ? [] : [Buffer.from(instead.body)];
    const headers = instead.headers.map(([name, value]) => [name, value] as const);
    this.#send({ status: instead.status, message: '', headers });
  }

  #send(head: ResponseHead): void {
    this.#client.letGo();
    writeHead(this.#res, head);
    const done = (): void => {
      for (const callback of this.#afterEnd) callback();
    };
    if (this.#text) this.#end(this.#text.text, this.#text.encoding, done);
    else if (this.#chunks.length === 0) this.#end(done);
    else this.#end(this.#joined(), done);
  }

  #captured(head: ResponseHead): CapturedReply {
    const isTooLarge = this.#size > this.#run.maxReplyBytes;
    const body = isTooLarge ? 'too-large' : this.#chunks.length === 0 ? undefined : this.#joined();
    return { status: head.status, headers: headLines(head), body };
  }

  #joined(): Buffer {
    const [first, ...more] = this.#chunks;
    return first && more.length === 0 ? first : Buffer.concat(this.#chunks);
  }

  #take(chunk: unknown, encoding: unknown): Buffer {
    const bytes =
      typeof chunk === 'string' ? Buffer.from(chunk, encodingOf(encoding)) : Buffer.from(chunk as Uint8Array);
    this.#size += bytes.length;
    // What has gone out and is too large to be kept need not be remembered.
    if (this.#isHeadSent() && this.#size > this.#run.maxReplyBytes) this.#chunks.length = 0;
    this.#chunks.push(bytes);
    return bytes;
  }

  #forget(): void {
    this.#chunks = [];
    this.#text = undefined;
    this.#size = 0;
    this.#isHolding = false;
    this.#hasEnded = false;
    this.#afterEnd = [];
  }
}

/** Frameworks may end the reply a little later than they were asked to; a handler that never does must not keep the transaction. */
async function endedInTime(ended: Promise<void>): Promise<void> {
  const late = new AbortController();
  const wait = sleep(REPLY_WITHIN_MS, late.signal).then(
    () => {
      throw new HoldfastError('IDEMPOTENCY_REPLY_MISSING', { waitedMs: REPLY_WITHIN_MS });
    },
    () => undefined,
  );
  await Promise.race([ended, wait]);
  late.abort();
}

type Getter = (this: object) => boolean;
type Getters = Readonly<Record<'headersSent' | 'writableEnded', Getter>>;

const guards = new WeakMap<object, { readonly looksEnded: () => boolean; readonly before: Getters }>();

// The same functions for every response: with functions of its own each would be an object of another shape to the engine.
const COVERS: PropertyDescriptorMap = {
  headersSent: { configurable: true, get: covered('headersSent') },
  writableEnded: { configurable: true, get: covered('writableEnded') },
};

function covered(name: keyof Getters): Getter {
  return function read() {
    const guard = guards.get(this);
    return guard !== undefined && (guard.looksEnded() || guard.before[name].call(this));
  };
}

const known = new WeakMap<object, Getters>();

function encodingOf(given: unknown): BufferEncoding {
  return typeof given === 'string' ? (given as BufferEncoding) : 'utf8';
}

/** Properties as they were before they were covered. Frameworks and other guards may have covered them on the response itself. */
function gettersOf(res: object): Getters {
  const outer = guards.get(res);
  if (outer) {
    const asked =
      (name: keyof Getters): Getter =>
      () =>
        outer.looksEnded() || outer.before[name].call(res);
    return { headersSent: asked('headersSent'), writableEnded: asked('writableEnded') };
  }
  const isOwn = Object.hasOwn(res, 'headersSent') || Object.hasOwn(res, 'writableEnded');
  const kind = Object.getPrototypeOf(res) as object;
  const seen = isOwn ? undefined : known.get(kind);
  if (seen) return seen;
  const found = { headersSent: getterOf(res, 'headersSent'), writableEnded: getterOf(res, 'writableEnded') };
  if (!isOwn) known.set(kind, found);
  return found;
}

function getterOf(target: object, name: string): Getter {
  for (let at: object | null = target; at !== null; at = Object.getPrototypeOf(at) as object | null) {
    const found = Object.getOwnPropertyDescriptor(at, name);
    if (found && 'get' in found) {
      return function read() {
        return Boolean(found.get?.call(this));
      };
    }
    if (found !== undefined) return () => Boolean(found.value);
  }
  return () => false;
}
