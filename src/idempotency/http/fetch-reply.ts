import { linkAbort } from '../../kernel/abort-link.ts';
import { HoldfastError } from '../../kernel/error.ts';
import { joined } from './fetch-request.ts';
import type { CapturedReply, HeaderLine, HttpReply } from './http-reply.ts';
import type { HttpRun } from './http-run.ts';

/** A reply of ours as a response. */
export function toResponse({ status, headers, body }: HttpReply): Response {
  return new Response(mayHaveBody(status) ? ((body ?? null) as BodyInit | null) : null, {
    status,
    headers: headers.map(([name, value]): [string, string] => [name, value]),
  });
}

/**
 * Ends the run with what the handler answered, and gives back what to send. The run ends before the last byte is sent; what does not
 * fit or must not wait is passed on as it comes, and goes on being read when the client has gone: `signal` says so of one that has
 * gone before anything was sent, when servers do not touch the response any more.
 */
export async function finishWithResponse<Tx>(
  run: HttpRun<Tx>,
  response: Response,
  signal: AbortSignal,
): Promise<Response> {
  try {
    checkResponse(response);
  } catch (error) {
    await run.fail();
    throw error;
  }
  const reply = { status: response.status, headers: headerLines(response.headers) };
  const refusal = run.refusal({ ...reply, body: undefined });
  if (refusal !== undefined) {
    response.body?.cancel().catch(() => undefined);
    return toResponse((await run.keep(refusal)) ?? refusal);
  }
  if (response.body === null) {
    const instead = await run.finish({ ...reply, body: undefined });
    return instead === undefined ? marked(run, response, null) : toResponse(instead);
  }
  const source = new Source(response.body.getReader(), run.maxReplyBytes);
  if (!/^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')) {
    const bytes = await readWhole(run, source);
    if (bytes !== undefined) {
      const instead = await run.finish({ ...reply, body: bytes });
      return instead === undefined ? marked(run, response, bytes) : toResponse(instead);
    }
  }
  return marked(run, response, passOn(run, source, reply, signal));
}

/** Reads a response that must be kept before any of it is sent; `send` is the same response, to be sent then. */
export async function captureResponse(
  response: Response,
  maxBytes: number,
): Promise<CapturedReply & { send: Response }> {
  checkResponse(response);
  const { status, statusText } = response;
  const reply = { status, headers: headerLines(response.headers) };
  if (response.body === null) return { ...reply, body: undefined, send: response };
  const source = new Source(response.body.getReader(), maxBytes, true);
  while ((await source.next()) !== undefined);
  const bytes = source.all();
  const send = new Response(bytes as BodyInit, { status, statusText, headers: unframed(response.headers) });
  return { ...reply, body: source.isTooLarge ? 'too-large' : bytes, send };
}

async function readWhole<Tx>(run: HttpRun<Tx>, source: Source): Promise<Uint8Array | undefined> {
  try {
    while (!source.isTooLarge) if ((await source.next()) === undefined) return source.all();
    return undefined;
  } catch (error) {
    // The handler had answered and failed after that: nobody knows how far it came.
    await run.doubt();
    throw error;
  }
}

function passOn<Tx>(
  run: HttpRun<Tx>,
  source: Source,
  reply: Pick<CapturedReply, 'status' | 'headers'>,
  signal: AbortSignal,
): ReadableStream<Uint8Array> {
  const waiting = [...source.taken];
  let isGone = false;
  const finish = async (): Promise<void> => {
    await run.finish({ ...reply, body: source.isTooLarge ? 'too-large' : source.all() });
  };
  const leave = (): void => {
    if (isGone) return;
    isGone = true;
    void drain(run, source, finish);
  };
  const unlink = linkAbort(signal, leave);
  if (signal.aborted) leave();
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const chunk = waiting.shift();
      if (chunk !== undefined) return controller.enqueue(chunk);
      try {
        const next = await source.next();
        if (next !== undefined) return isGone ? undefined : controller.enqueue(next);
        unlink();
        await finish();
        if (!isGone) controller.close();
      } catch (error) {
        await run.doubt();
        if (!isGone) controller.error(error);
      }
    },
    cancel: leave,
  });
}

async function drain<Tx>(run: HttpRun<Tx>, source: Source, finish: () => Promise<void>): Promise<void> {
  // What never ends is not read for ever: a run has its time.
  run.signal.addEventListener('abort', () => source.cancel(), { once: true });
  try {
    while ((await source.next()) !== undefined);
    await finish();
  } catch {
    await run.doubt();
  }
}

/** Reads a body and remembers what it read: all of it, or until it has become too large. */
class Source {
  readonly taken: Uint8Array[] = [];
  readonly #reader: ReadableStreamDefaultReader<unknown>;
  readonly #maxBytes: number;
  readonly #remembersAll: boolean;
  #size = 0;

  constructor(reader: ReadableStreamDefaultReader<unknown>, maxBytes: number, remembersAll = false) {
    this.#reader = reader;
    this.#maxBytes = maxBytes;
    this.#remembersAll = remembersAll;
  }

  get isTooLarge(): boolean {
    return this.#size > this.#maxBytes;
  }

  async next(): Promise<Uint8Array | undefined> {
    const { done, value } = await this.#reader.read();
    if (done) return undefined;
    const bytes = bytesOf(value);
    const isForgotten = this.isTooLarge && !this.#remembersAll;
    this.#size += bytes.length;
    if (isForgotten) this.taken.length = 0;
    else this.taken.push(bytes);
    return bytes;
  }

  cancel(): void {
    this.#reader.cancel().catch(() => undefined);
  }

  all(): Uint8Array<ArrayBuffer> {
    return joined(this.taken, this.#size);
  }
}

/** The standard knows bytes only; servers on Node also send the texts that a stream of Node's own yields, and so do we. */
function bytesOf(chunk: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  if (typeof chunk === 'string') return new TextEncoder().encode(chunk);
  if (chunk instanceof ArrayBuffer) return new Uint8Array(chunk);
  if (ArrayBuffer.isView(chunk)) return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  throw new HoldfastError('IDEMPOTENCY_NO_RESPONSE', { found: `a Response whose body yields a ${typeof chunk}` });
}

function marked<Tx>(run: HttpRun<Tx>, response: Response, body: Uint8Array | ReadableStream | null): Response {
  const { status, statusText } = response;
  const headers = unframed(response.headers);
  headers.set(...run.header);
  return new Response(mayHaveBody(status) ? (body as BodyInit | null) : null, { status, statusText, headers });
}

/** How a body is framed is the server's business: one that is sent whole has a length, and is refused with a transfer coding too. */
function unframed(given: Headers): Headers {
  const headers = new Headers(given);
  headers.delete('transfer-encoding');
  return headers;
}

/** A handler that forgets to return is not told so by a language without types. */
function checkResponse(response: Response | undefined | null): void {
  const found = unfit(response);
  if (found !== undefined) throw new HoldfastError('IDEMPOTENCY_NO_RESPONSE', { found });
}

function unfit(response: Response | undefined | null): string | undefined {
  if (response === undefined || response === null) return 'nothing';
  const { status, headers, bodyUsed, body } = response as Partial<Response>;
  if (typeof status !== 'number' || typeof headers?.get !== 'function') return 'something that is no Response';
  // `Response.error()` has the status 0.
  if (status < 200 || status > 599) return `a Response of status ${status}`;
  return bodyUsed === true || body?.locked === true ? 'a Response whose body was read' : undefined;
}

function mayHaveBody(status: number): boolean {
  return status !== 204 && status !== 205 && status !== 304;
}

function headerLines(headers: Headers): HeaderLine[] {
  return [...headers];
}
