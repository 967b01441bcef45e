import { type ClientRequest, type IncomingMessage, request as requestHttp, type RequestOptions } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { Effects } from '../kernel/effects.ts';
import { hostOf, portOf } from './address-guard.ts';
import type { HeaderLists } from './delivery-request.ts';
import type { GuardedSockets, SocketWatch } from './guarded-sockets.ts';
import { headerLists } from './header-lists.ts';

/** One request as it goes out. */
export interface OutgoingCall {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  /** Text is written together with the headers, in one piece. */
  readonly body: Uint8Array | string;
  /** For all of it: the name, the connection, the answer to its last byte. */
  readonly timeoutMs: number;
  /** Given up from outside: the answer does not matter any more. */
  readonly signal: AbortSignal;
}

/** What requests are made with. */
export interface ExchangeHost {
  readonly effects: Effects;
  readonly sockets: GuardedSockets;
  /** Of an answer's body; what is beyond is not read. */
  readonly maxResponseBytes: number;
}

/** What became of a request. `error` is for people. */
export type CallOutcome =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly headers: HeaderLists;
      readonly body: Uint8Array;
      /** There was more. */
      readonly isCut: boolean;
    }
  | {
      readonly kind: 'failed';
      readonly why: 'timeout' | 'network' | 'refused' | 'invalid' | 'final';
      readonly error: string;
    };

// Far above what anybody needs, far below what would hurt: the status line and all headers of an answer.
const MAX_HEADER_BYTES = 16_384;
// A kept socket that the other side has just closed says so only when it is written to.
const STALE_CODES: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE']);

/**
 * Makes one request and reads its answer, once. Redirects are answers like any other; no proxy is asked. Rejects only with the reason of
 * the signal.
 */
export async function exchange(host: ExchangeHost, call: OutgoingCall): Promise<CallOutcome> {
  const first = await new OneCall(host, call, false, call.timeoutMs).made;
  if (!first.isStale) return first.outcome;
  const leftMs = call.timeoutMs - first.tookMs;
  return (await new OneCall(host, call, true, leftMs).made).outcome;
}

interface Made {
  readonly outcome: CallOutcome;
  /** The socket was one that had been used before, and was closed before it was answered. */
  readonly isStale: boolean;
  readonly tookMs: number;
}

/** One request over one socket. Ends exactly once, and leaves no timer, listener or socket behind. */
class OneCall {
  readonly #host: ExchangeHost;
  readonly #call: OutgoingCall;
  readonly #ended = Promise.withResolvers<Made>();
  readonly #startedMs: number;
  readonly #timer: unknown;
  #request: ClientRequest | undefined;
  /** Ends what is being opened for it. */
  #cancelOpening: ((reason: Error) => void) | undefined;
  #response: IncomingMessage | undefined;
  #isOver = false;

  constructor(host: ExchangeHost, call: OutgoingCall, isFresh: boolean, timeoutMs: number) {
    this.#host = host;
    this.#call = call;
    this.#startedMs = host.effects.monoMs();
    this.#timer = host.effects.setTimer(() => this.#timeOut(), Math.max(1, Math.ceil(timeoutMs)));
    call.signal.addEventListener('abort', this.#givenUp);
    if (call.signal.aborted) this.#givenUp();
    else this.#begin(isFresh);
  }

  get made(): Promise<Made> {
    return this.#ended.promise;
  }

  #begin(isFresh: boolean): void {
    const { url, method, body } = this.#call;
    const headers = headerLines(this.#call);
    const options: RequestOptions & SocketWatch = {
      host: hostOf(url),
      port: portOf(url),
      path: `${url.pathname}${url.search}`,
      method,
      headers,
      agent: this.#host.sockets.agentFor(url.protocol, isFresh),
      maxHeaderSize: MAX_HEADER_BYTES,
      // Not a signal: with one a request takes twice the processor time.
      onOpening: (cancel) => {
        this.#cancelOpening = cancel;
      },
    };
    try {
      const request = url.protocol === 'https:' ? requestHttps(options) : requestHttp(options);
      this.#request = request;
      request.once('response', (response) => this.#read(response));
      request.on('error', (error) => this.#fail(error));
      // 101 closes without an answer and without an error.
      request.once('close', () => {
        if (!this.#isOver) this.#fail(new Error('the connection was closed without an answer'));
      });
      request.end(typeof body === 'string' && !headers.every(isAscii) ? Buffer.from(body) : body);
    } catch (error) {
      // A header that cannot be written.
      this.#end({ kind: 'failed', why: 'invalid', error: problemOf(error) });
    }
  }

  #read(response: IncomingMessage): void {
    this.#response = response;
    const { maxResponseBytes } = this.#host;
    const chunks: Uint8Array[] = [];
    let length = 0;
    const answer = (isCut: boolean): void => {
      const { statusCode = 0, rawHeaders } = response;
      const body = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
      this.#end({ kind: 'answered', status: statusCode, headers: headerLists(rawHeaders), body, isCut });
    };
    response.on('data', (chunk: Buffer) => {
      const room = maxResponseBytes - length;
      if (this.#isOver) return;
      chunks.push(chunk.length > room ? chunk.subarray(0, room) : chunk);
      length += chunk.length;
      if (chunk.length > room) answer(true);
    });
    response.once('end', () => answer(false));
    response.on('error', (error) => this.#fail(error));
  }

  #timeOut(): void {
    const { timeoutMs } = this.#call;
    this.#end({ kind: 'failed', why: 'timeout', error: `it took longer than ${Math.round(timeoutMs)} ms` });
  }

  #fail(error: Error): void {
    const { code } = error as { readonly code?: unknown };
    const isStale = this.#request?.reusedSocket === true && STALE_CODES.has(String(code));
    const why = code === 'ADDRESS_REFUSED' ? 'refused' : 'network';
    this.#end({ kind: 'failed', why, error: problemOf(error) }, isStale);
  }

  readonly #givenUp = (): void => {
    if (!this.#close()) return;
    this.#ended.reject(this.#call.signal.reason);
  };

  #end(outcome: CallOutcome, isStale = false): void {
    if (!this.#close()) return;
    this.#ended.resolve({ outcome, isStale, tookMs: this.#host.effects.monoMs() - this.#startedMs });
  }

  /** False: it has ended before. */
  #close(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#host.effects.clearTimer(this.#timer);
    this.#call.signal.removeEventListener('abort', this.#givenUp);
    const request = this.#request;
    // After a whole answer the socket is kept for the next; in every other case nobody may go on with it.
    if (this.#response?.complete !== true) {
      this.#cancelOpening?.(new Error('the attempt has ended'));
      request?.destroy();
    }
    return true;
  }
}

/** Names and values in turns: so Node writes them as they are, and looks at each once. */
function headerLines({ url, headers }: OutgoingCall): string[] {
  const lines = ['Host', url.host];
  for (const [name, value] of Object.entries(headers)) {
    for (const one of typeof value === 'string' ? [value] : value) lines.push(name, one);
  }
  return lines;
}

const NOT_ASCII = /[^\0-\x7f]/;

/** Together with text that is UTF-8, headers would be written as that too; by themselves they are Latin-1. */
function isAscii(text: string): boolean {
  return !NOT_ASCII.test(text);
}

const MAX_PROBLEM = 300;

/** What went wrong, without the bytes that Node adds to a parser's error. */
function problemOf(error: unknown): string {
  if (!(error instanceof Error)) return 'it failed';
  const { code } = error as { readonly code?: unknown };
  const all = error instanceof AggregateError ? error.errors.map((one: unknown) => problemOf(one)).join('; ') : '';
  const text =
    all || (typeof code === 'string' && !error.message.includes(code) ? `${code}: ${error.message}` : error.message);
  return text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, MAX_PROBLEM);
}
