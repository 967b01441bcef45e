import { Readable } from 'node:stream';
import type { RequestFacts } from './server-options.ts';

/** What is used of a request of Node, of Express and the like. */
export interface NodeRequest {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly rawHeaders: readonly string[];
  readonly readableEnded: boolean;
  readonly httpVersion?: string | undefined;
  readonly socket: { readonly remoteAddress?: string | undefined; readonly localPort?: number | undefined };
  /** Of Express: the whole path, where `url` has lost the part it was mounted at. */
  readonly originalUrl?: string;
  /** Of Express: that part. */
  readonly baseUrl?: string;
  /** Where a parser has read the body already. */
  readonly body?: unknown;
}

/** What is used of Node's `ServerResponse`. */
export interface NodeResponse {
  statusCode: number;
  readonly headersSent: boolean;
  readonly destroyed: boolean;
  setHeader(name: string, value: string | readonly string[]): unknown;
  writeHead(status: number, headers: Record<string, string>): unknown;
  flushHeaders(): void;
  write(chunk: Uint8Array): boolean;
  end(): unknown;
  on(event: 'drain' | 'close', listener: () => void): unknown;
  off(event: 'drain' | 'close', listener: () => void): unknown;
}

type Answer = (
  request: Request,
  facts: RequestFacts & { readonly mountedAt?: string | undefined },
) => Promise<Response>;

/** Answers a request of Node with what a function of `Request` answers. Never throws, never rejects. */
export async function answerNode(req: NodeRequest, res: NodeResponse, answer: Answer): Promise<void> {
  const gone = new AbortController();
  res.on('close', () => gone.abort());
  try {
    const request = toRequest(req, gone.signal);
    const response = await answer(request, { ...factsOf(req), mountedAt: req.baseUrl });
    await send(response, res, gone.signal);
    if (!req.readableEnded) await discard(request);
  } catch {
    // The request itself is not one, or the connection broke.
    if (!res.headersSent) res.writeHead(400, { 'content-type': 'text/plain', connection: 'close' });
    res.end();
  }
}

/** What is known of a request of Node besides itself. */
export function factsOf({ socket, httpVersion }: Pick<NodeRequest, 'socket' | 'httpVersion'>): RequestFacts {
  return { peer: socket.remoteAddress, port: socket.localPort, httpVersion };
}

/** All headers of a request of Node: two of one name are both there. */
export function headersOf(req: Pick<NodeRequest, 'rawHeaders'>): Headers {
  const headers = new Headers();
  for (let i = 0; i + 1 < req.rawHeaders.length; i += 2) {
    const [name = '', value = ''] = [req.rawHeaders[i], req.rawHeaders[i + 1]];
    if (!name.startsWith(':')) headers.append(name, value);
  }
  return headers;
}

function toRequest(req: NodeRequest, signal: AbortSignal): Request {
  const headers = headersOf(req);
  const isEncrypted = (req.socket as { readonly encrypted?: boolean }).encrypted === true;
  // Only the path matters: whoever needs the host reads the header.
  const url = new URL(pathOf(req), `${isEncrypted ? 'https' : 'http'}://localhost`);
  const method = req.method ?? 'GET';
  if (method === 'GET' || method === 'HEAD') return new Request(url, { method, headers, signal });
  return new Request(url, { method, headers, signal, body: bodyOf(req), duplex: 'half' } as RequestInit);
}

/**
 * True for a path that stays as it is when it becomes a URL. In any other, dots are resolved, backslashes turned, or a host is taken for a
 * part of the path: a proxy in front would have judged another path than the one that is answered.
 */
export function isPlainTarget({ originalUrl, url = '/' }: NodeRequest): boolean {
  const [path = ''] = (originalUrl ?? url).split('?', 1);
  return /^\/(?!\/)[^\\#]*$/.test(path) && !/\/(?:\.|%2e){1,2}(?:\/|$)/i.test(path);
}

/** A path that begins with two slashes would be read as the name of a host. */
function pathOf(req: NodeRequest): string {
  const path = req.originalUrl ?? req.url ?? '/';
  return path.startsWith('/') ? path.replace(/^\/+/, '/') : '/';
}

function bodyOf(req: NodeRequest): RequestInit['body'] {
  if (req.body === undefined || !req.readableEnded)
    return Readable.toWeb(req as unknown as Readable) as unknown as ReadableStream;
  return typeof req.body === 'string' || req.body instanceof Uint8Array
    ? (req.body as Uint8Array<ArrayBuffer>)
    : JSON.stringify(req.body);
}

async function send(response: Response, res: NodeResponse, gone: AbortSignal): Promise<void> {
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
    // In slices: whether the other side reads is seen by each of them.
    for (let at = 0; at < part.value.length && !res.destroyed; at += SLICE_BYTES) {
      if (!res.write(part.value.subarray(at, at + SLICE_BYTES))) await drained(res);
    }
  }
  gone.removeEventListener('abort', stop);
  res.end();
}

const SLICE_BYTES = 65_536;
// Enough for what was refused before it was read; whoever sends more loses the connection.
const MOST_DISCARDED_BYTES = 8 * 1_048_576;

/** Reads what nobody wanted of a body: the next request of the connection stands behind it. */
async function discard({ body, bodyUsed }: Request): Promise<void> {
  if (body === null || bodyUsed || body.locked) return;
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  let size = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    size += part.value.length;
    if (size > MOST_DISCARDED_BYTES) return reader.cancel();
  }
}

function drained(res: NodeResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      res.off('drain', done);
      res.off('close', done);
      resolve();
    };
    res.on('drain', done);
    res.on('close', done);
    if (res.destroyed) done();
  });
}
