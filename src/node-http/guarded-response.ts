import { Buffer } from 'node:buffer';
import type { CapturedReply, HeaderLine, HttpReply } from '../idempotency/http/http-reply.ts';
import type { HttpRun } from '../idempotency/http/http-run.ts';
import { RunView } from '../idempotency/run-view.ts';
import { HoldfastError } from '../kernel/error.ts';
import { letProcessEnd, systemEffects } from '../system/effects.ts';
import type { Framework, ResponseRun } from './framework.ts';
import { HeldReply } from './held-reply.ts';
import { functionsOf, type NodeResponse, type ResponseFunctions } from './node-response.ts';
import { Client } from './outlive-client.ts';
import { applyHead, headerValues, headLines, readHead, type ResponseHead, writeHead } from './response-head.ts';

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
 * A client that goes away stops nothing: the reply is made to its end and kept. One that nobody goes on with, or that is destroyed,
 * leaves its run in doubt.
 */
export class GuardedResponse<Tx> {
  readonly #res: NodeResponse;
  readonly #run: HttpRun<Tx>;
  readonly #framework: Framework;
  /** The functions of the response as they were. */
  readonly #before: ResponseFunctions;
  readonly #getters: Getters;
  /** As the handler made it, when the reply came in pieces: layers below write their own headers when it goes out. */
  #head: ResponseHead | undefined;
  #heardMs = 0;
  #isWatched = false;
  readonly #client: Client;
  #chunks: Buffer[] = [];
  /** The whole body as it was given, where that was one text: Node sends it in one go with the head. */
  #text: { readonly text: string; readonly encoding: BufferEncoding } | undefined;
  #size = 0;
  #held: HeldReply | undefined;
  #isPassing = false;
  #hasEnded = false;
  #afterEnd: (() => void)[] = [];

  /** `header` goes out with the reply. */
  constructor(res: NodeResponse, run: HttpRun<Tx>, header: HeaderLine | undefined, framework: Framework = {}) {
    this.#res = res;
    this.#run = run;
    this.#framework = framework;
    this.#before = functionsOf(res);
    this.#getters = gettersOf(res);
    this.#client = new Client(res, this.#before.emit, () => this.#onGone());
    if (header) res.setHeader(...header);
    Object.defineProperty(res, GUARD, { value: this, configurable: true });
    Object.defineProperty(res, 'headersSent', HEADERS_SENT);
    Object.defineProperty(res, 'writableEnded', WRITABLE_ENDED);
    // One by one: it is three times as fast as `Object.assign`.
    res.emit = emit;
    res.writeHead = sendHead;
    res.write = write;
    res.end = end;
    res.destroy = destroy;
    res.flushHeaders = flushHeaders;
    this.#client.look();
  }

  /** The run as a handler sees it. */
  routeRun(): ResponseRun<Tx> {
    const commit: ResponseRun<Tx>['commit'] = async (work) => this.#commit(work);
    return new RunView(this.#run, commit);
  }

  async #commit<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    if (this.#hasEnded || this.#hasBegun()) throw new HoldfastError('IDEMPOTENCY_REPLY_SENT', {});
    const before = readHead(this.#res);
    const restore = this.#framework.save?.();
    const forget = (): void => {
      this.#forget();
      writeHead(this.#res, before);
      restore?.();
    };
    try {
      const { head, value } = await this.#run.commit(
        async (tx) => {
          // A store runs `work` again when the database refused the transaction for the sake of another one.
          if (this.#held) forget();
          this.#held = new HeldReply(this.#res);
          const returned = await work(tx);
          if (!this.#held.isEnded && !this.#hasBegun()) await this.#framework.reply?.(returned);
          await this.#held.endedWithin(REPLY_WITHIN_MS);
          return { head: this.#head ?? readHead(this.#res), value: returned };
        },
        async (made) => this.#captured(made.head),
      );
      this.#held = undefined;
      this.#send(head);
      this.#framework.committed?.(value, head.status);
      return value;
    } catch (error) {
      forget();
      throw error;
    }
  }

  /** Its client is gone. It goes on until the reply is made, its claim is lost, or nothing has been heard of it for a while. */
  #onGone(): void {
    const letGo = (): void => this.#client.letGo();
    const { signal } = this.#run;
    if (signal.aborted) return letGo();
    signal.addEventListener('abort', letGo, { once: true });
    this.#framework.outlive?.();
    if (this.#hasBegun()) this.#watch();
  }

  /** From the first byte on, a reply without a client that stops growing is one that nobody goes on with. */
  #watch(): void {
    if (this.#isWatched) return;
    this.#isWatched = true;
    this.#heardMs = systemEffects.monoMs();
    const look = (): void => {
      if (this.#hasEnded) return;
      const quietMs = systemEffects.monoMs() - this.#heardMs;
      if (quietMs < QUIET_MS) return letProcessEnd(systemEffects.setTimer(look, QUIET_MS - quietMs));
      this.#abandon();
    };
    look();
  }

  /** Nobody will end this reply: how far its handler came is not known. */
  #abandon(): void {
    void this.#run.doubt();
    this.#client.letGo();
  }

  #hasBegun(): boolean {
    return this.#head !== undefined || this.#isHeadSent();
  }

  /** The first byte, or the head alone, is there. `false` where the reply is refused instead. */
  #begin(): boolean {
    if (this.#hasBegun()) return true;
    this.#head = readHead(this.#res);
    if (this.#held) return true;
    const { status } = this.#head;
    const refusal = this.#run.refusal({ status, headers: headLines(this.#head), body: undefined });
    if (refusal === undefined) {
      if (this.#client.isGone) this.#watch();
      return true;
    }
    this.#hasEnded = true;
    void this.#run.keep(refusal).then((winner) => this.#sendInstead(winner ?? refusal));
    return false;
  }

  #isHeadSent(): boolean {
    return this.#getters.headersSent.call(this.#res);
  }

  /** Calls a function of the response as it was; meanwhile everything goes out. */
  #pass<Args extends unknown[], T>(send: (this: NodeResponse, ...args: Args) => T, ...args: Args): T {
    const wasPassing = this.#isPassing;
    this.#isPassing = true;
    try {
      return send.call(this.#res, ...args);
    } finally {
      this.#isPassing = wasPassing;
    }
  }

  /** How it looks to everybody else. */
  looks(name: keyof Getters): boolean {
    if (this.#isPassing) return this.#getters[name].call(this.#res);
    return this.#hasEnded || (name === 'headersSent' && this.#hasBegun()) || this.#getters[name].call(this.#res);
  }

  onEmit(event: string, args: readonly unknown[]): boolean {
    return this.#client.onEmit(event, args);
  }

  onWriteHead(status: number, rest: unknown[]): unknown {
    // Node sends the head through this function too, when it is about to send the body.
    if (this.#isPassing) return this.#before.writeHead.call(this.#res, status, ...rest);
    if (!this.#hasEnded) applyHead(this.#res, status, rest);
    return this.#res;
  }

  onFlush(): void {
    if (this.#hasEnded || this.#held || !this.#begin() || this.#client.isGone) return;
    const flush = this.#before.flushHeaders;
    if (flush) this.#pass(flush);
  }

  onWrite(chunk: unknown, rest: unknown[]): boolean {
    // The end of HTTP/2 writes its chunk through this function.
    if (this.#isPassing) return this.#pass(this.#before.write, chunk, ...rest);
    if (this.#hasEnded || !this.#begin()) return false;
    this.#heardMs = systemEffects.monoMs();
    this.#take(chunk, rest[0]);
    if (!this.#held && !this.#client.isGone) return this.#pass(this.#before.write, chunk, ...rest);
    const callback = rest.find((item) => typeof item === 'function');
    if (callback !== undefined) queueMicrotask(callback as () => void);
    return true;
  }

  onEnd(args: unknown[]): void {
    if (this.#hasEnded) return;
    const [chunk, encoding] = args;
    const isInPieces = this.#isHeadSent();
    const isThere = typeof chunk !== 'function' && chunk !== undefined && chunk !== null;
    const isWhole = !isInPieces && this.#chunks.length === 0;
    // What cannot be sent throws here, and the reply can still be ended in another way.
    const taken = isThere ? [this.#take(chunk, encoding)] : [];
    if (typeof chunk === 'string' && isWhole) this.#text = { text: chunk, encoding: encodingOf(encoding) };
    this.#hasEnded = true;
    const callback = args.find((item) => typeof item === 'function') as (() => void) | undefined;
    if (this.#held) return this.#held.end(callback);
    if (callback !== undefined) this.#afterEnd.push(callback);
    const last = isInPieces ? taken : undefined;
    void this.#finish(this.#head ?? readHead(this.#res), last);
  }

  /** What makes the reply has given up: nothing will end it. Inside `commit` that is a failure of the transaction. */
  onDestroy(error: unknown): void {
    if (this.#held) return this.#held.destroy(error);
    if (!this.#hasEnded && !this.#isPassing) {
      this.#hasEnded = true;
      this.#abandon();
    }
    this.#pass(this.#before.destroy, error);
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
      return void this.#pass(this.#before.end, Buffer.concat(last), ...this.#afterEnd);
    }
    if (instead === undefined) this.#send(head);
    else this.#sendInstead(instead);
  }

  #sendInstead({ status, headers, body }: HttpReply): void {
    this.#text = undefined;
    this.#chunks = body === undefined ? [] : [Buffer.from(body)];
    this.#send({ status, message: '', headers: [...headerValues(headers)] });
  }

  #send(head: ResponseHead): void {
    this.#client.letGo();
    writeHead(this.#res, head);
    const done = (): void => {
      for (const callback of this.#afterEnd) callback();
    };
    const send = this.#before.end;
    if (this.#text) this.#pass(send, this.#text.text, this.#text.encoding, done);
    else if (this.#chunks.length === 0) this.#pass(send, done);
    else this.#pass(send, this.#joined(), done);
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
    this.#head = undefined;
    this.#text = undefined;
    this.#size = 0;
    this.#held = undefined;
    this.#hasEnded = false;
  }
}

type Getter = (this: object) => boolean;
type Getters = Readonly<Record<'headersSent' | 'writableEnded', Getter>>;

/*
 * The same functions for every response. A function of its own that lies on a response keeps the response, and all that hangs on it,
 * through every collection of young memory, which then takes ten times as long. So does an entry in a weak map.
 */
const GUARD = Symbol('guard');

type Guarded = NodeResponse & { readonly [GUARD]: GuardedResponse<unknown> };

/** True for a response that another guard of ours reads: two would wait for each other. */
export function isGuardedResponse(res: object): boolean {
  return GUARD in res;
}

function emit(this: Guarded, event: string, ...args: unknown[]): boolean {
  return this[GUARD].onEmit(event, args);
}

function sendHead(this: Guarded, status: number, ...rest: unknown[]): unknown {
  return this[GUARD].onWriteHead(status, rest);
}

function write(this: Guarded, chunk: unknown, ...rest: unknown[]): boolean {
  return this[GUARD].onWrite(chunk, rest);
}

function end(this: Guarded, ...args: unknown[]): unknown {
  this[GUARD].onEnd(args);
  return this;
}

function destroy(this: Guarded, error?: unknown): unknown {
  this[GUARD].onDestroy(error);
  return this;
}

function flushHeaders(this: Guarded): void {
  this[GUARD].onFlush();
}

const HEADERS_SENT: PropertyDescriptor = { configurable: true, get: covered('headersSent') };
const WRITABLE_ENDED: PropertyDescriptor = { configurable: true, get: covered('writableEnded') };

function covered(name: keyof Getters): Getter {
  return function read() {
    return (this as Guarded)[GUARD].looks(name);
  };
}

const known = new WeakMap<object, Getters>();

function encodingOf(given: unknown): BufferEncoding {
  return typeof given === 'string' ? (given as BufferEncoding) : 'utf8';
}

/** Properties as they were before they were covered. Frameworks may have covered them on the response itself. */
function gettersOf(res: object): Getters {
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
