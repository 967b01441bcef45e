import { OptionCheck } from '../kernel/check-options.ts';
import { HoldfastError } from '../kernel/error.ts';
import type { ReceiveRequest } from './receive.ts';

/** What is used of Node's `IncomingMessage`, as it is or with what a parser has made of its body. */
export interface NodeJobRequest extends AsyncIterable<Uint8Array> {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Not `complete`: that says that all of it has come, whether somebody has read it or not. */
  readonly readableDidRead?: boolean;
  readonly body?: unknown;
}

/** What is used of Node's `ServerResponse`. */
export interface NodeJobResponse {
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(body: Uint8Array): unknown;
}

/**
 * A job as a handler of Express, or of Node's own server: `app.post('/jobs/reminder', forExpress(receive('send-reminder', handler)))`.
 * The signature is checked on the bytes as they came: no parser may have read them, but `express.raw({ type: '*\/*' })`.
 */
export function forExpress(
  receive: ReceiveRequest,
): (request: NodeJobRequest, response: NodeJobResponse, next?: (error: unknown) => void) => void {
  checkReceive('forExpress()', receive);
  return (request, response, next) => {
    void answerOr(receive, request, response, next);
  };
}

/** What is used of an instance of Fastify 5. */
export interface FastifyLike {
  removeAllContentTypeParsers(): void;
  addContentTypeParser(
    type: string,
    parser: (request: unknown, payload: unknown, done: (error: null) => void) => void,
  ): unknown;
  post(path: string, handler: (request: { readonly raw: NodeJobRequest }, reply: FastifyJobReply) => unknown): unknown;
}

export interface FastifyJobReply {
  readonly raw: NodeJobResponse;
  hijack(): unknown;
}

/**
 * A job as a plugin of Fastify: `app.register(forFastify('/jobs/reminder', receive('send-reminder', handler)))`. Inside it no parser
 * reads bodies, because the signature is checked on the bytes as they came; the rest of the app keeps its parsers.
 */
export function forFastify(path: string, receive: ReceiveRequest): (app: FastifyLike) => Promise<void> {
  checkReceive('forFastify()', receive);
  return async (app) => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', (_request, _payload, done) => done(null));
    app.post(path, async (request, reply) => {
      // What is thrown before is answered by Fastify, as any error of a route.
      const found = await receive(toRequest(request.raw));
      reply.hijack();
      await respond(found, reply.raw);
    });
  };
}

function checkReceive(of: string, receive: unknown): void {
  const check = new OptionCheck(of);
  if (typeof receive !== 'function') check.refuse('the job', receive, 'pass what receive(job, handler) gave');
  check.done();
}

async function answerOr(
  receive: ReceiveRequest,
  request: NodeJobRequest,
  response: NodeJobResponse,
  next: ((error: unknown) => void) | undefined,
): Promise<void> {
  try {
    await answer(receive, request, response);
  } catch (error) {
    if (next !== undefined) return next(error);
    response.writeHead(500, {});
    response.end(new Uint8Array(0));
  }
}

async function answer(receive: ReceiveRequest, request: NodeJobRequest, response: NodeJobResponse): Promise<void> {
  await respond(await receive(toRequest(request)), response);
}

async function respond(reply: Response, response: NodeJobResponse): Promise<void> {
  const body = new Uint8Array(await reply.arrayBuffer());
  response.writeHead(reply.status, Object.fromEntries(reply.headers));
  response.end(body);
}

function toRequest(request: NodeJobRequest): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    for (const line of Array.isArray(value) ? value : [value ?? '']) headers.append(name, line);
  }
  const {
    method = 'POST',
    url = '/',
    headers: { host },
  } = request;
  const body = bodyOf(request);
  return new Request(new URL(url, `http://${typeof host === 'string' ? host : 'localhost'}`), {
    method,
    headers,
    body,
    ...(body instanceof ReadableStream ? { duplex: 'half' } : {}),
  });
}

function bodyOf(request: NodeJobRequest): BodyInit {
  if (request.body instanceof Uint8Array) return new Uint8Array(request.body);
  // What a parser has made of the bytes cannot be turned back into them.
  if (request.body !== undefined || request.readableDidRead === true) throw new HoldfastError('JOB_BODY_PARSED', {});
  return streamOf(request);
}

function streamOf(chunks: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]();
  return new ReadableStream({
    pull: async (controller) => {
      const { done, value } = await iterator.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
  });
}
