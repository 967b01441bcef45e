import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { RequestFacts } from './server-options.ts';

/** A request as Node, Express and the like hand it on. */
export type NodeRequest = IncomingMessage & {
  /** Of Express: the whole path, where `url` has lost the part it was mounted at. */
  readonly originalUrl?: string;
  /** Of Express: that part. */
  readonly baseUrl?: string;
  /** Where a parser has read the body already. */
  readonly body?: unknown;
};

type Answer = (
  request: Request,
  facts: RequestFacts & { readonly mountedAt?: string | undefined },
) => Promise<Response>;

/** Answers a request of Node with what a function of `Request` answers. Never throws, never rejects. */
export async function answerNode(req: NodeRequest, res: ServerResponse, answer: Answer): Promise<void> {
  const gone = new AbortController();
  res.once('close', () => gone.abort());
  try {
    const request = toRequest(req, gone.signal);
    const response = await answer(request, { peer: req.socket.remoteAddress, mountedAt: req.baseUrl });
    await send(response, res, gone.signal);
    if (!req.complete) await discard(request, res);
  } catch {
    // The request itself is not one, or the connection broke.
    if (!res.headersSent) res.writeHead(400, { 'content-type': 'text/plain', connection: 'close' });
    res.end();
  }
}

function toRequest(req: NodeRequest, signal: AbortSignal): Request {
  const headers = new Headers();
  for (let i = 0; i + 1 < req.rawHeaders.length; i += 2) {
    const [name = '', value = ''] = [req.rawHeaders[i], req.rawHeaders[i + 1]];
    if (!name.startsWith(':')) headers.append(name, value);
  }
  const isEncrypted = (req.socket as { readonly encrypted?: boolean }).encrypted === true;
  // Only the path matters: whoever needs the host reads the header.
  const url = new URL(pathOf(req), `${isEncrypted ? 'https' : 'http'}://localhost`);
  const method = req.method ?? 'GET';
  if (method === 'GET' || method === 'HEAD') return new Request(url, { method, headers, signal });
  return new Request(url, { method, headers, signal, body: bodyOf(req), duplex: 'half' } as RequestInit);
}

/** A path that begins with two slashes would be read as the name of a host. */
function pathOf(req: NodeRequest): string {
  const path = req.originalUrl ?? req.url ?? '/';
  return path.startsWith('/') ? path.replace(/^\/+/, '/') : '/';
}

function bodyOf(req: NodeRequest): RequestInit['body'] {
  if (req.body === undefined || !req.readableEnded) return Readable.toWeb(req) as unknown as ReadableStream;
  return typeof req.body === 'string' || req.body instanceof Uint8Array
    ? (req.body as Uint8Array<ArrayBuffer>)
    : JSON.stringify(req.body);
}

async function send(response: Response, res: ServerResponse, gone: AbortSignal): Promise<void> {
  res.statusCode = response.status;
  for (const [name, value] of response.headers) if (name !== 'set-cookie') res.setHeader(name, value);
  const cookies = response.headers.getSetCookie();
  if (cookies.length > 0) res.setHeader('set-cookie', cookies);
  if (response.body === null) {
    res.end();
    return;
  }
  res.flushHeaders();
  const reader = response.body.getReader();
  const stop = (): void => void reader.cancel().catch(() => undefined);
  gone.addEventListener('abort', stop, { once: true });
  if (gone.aborted) stop();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    if (!res.write(part.value)) await drained(res);
  }
  gone.removeEventListener('abort', stop);
  res.end();
}

// Enough for what was refused before it was read; whoever sends more loses the connection.
const MOST_DISCARDED_BYTES = 8 * 1_048_576;

/** Reads what nobody wanted of a body: the next request of the connection stands behind it. */
async function discard({ body, bodyUsed }: Request, res: ServerResponse): Promise<void> {
  if (body === null || bodyUsed || body.locked) return;
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  let size = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    size += part.value.length;
    if (size > MOST_DISCARDED_BYTES) return void res.socket?.destroy();
  }
}

function drained(res: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      res.off('drain', done).off('close', done);
      resolve();
    };
    res.on('drain', done).on('close', done);
    if (res.destroyed) done();
  });
}
