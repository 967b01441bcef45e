import { randomUUID } from 'node:crypto';

/** What was answered. */
export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  readonly text: string;
  /** The name at the end of the problem's type. */
  readonly problem: string | undefined;
  readonly isReplay: boolean;
}

export interface CallOptions {
  readonly key?: string | null;
  readonly body?: unknown;
  readonly raw?: Uint8Array<ArrayBuffer> | string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Sends one request to a route of a test server. `key: null` sends none; by default each call has a key of its own. */
export async function call(url: string, what: string, options: CallOptions = {}): Promise<Answered> {
  const { key = randomUUID(), body = { a: 1 }, raw, method = 'POST', headers = {}, signal } = options;
  const hasBody = method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS';
  const response = await fetch(`${url}/do/${what}`, {
    method,
    headers: {
      'x-person': 'ada',
      ...(hasBody ? { 'content-type': raw === undefined ? 'application/json' : 'application/octet-stream' } : {}),
      ...(key === null ? {} : { 'idempotency-key': key }),
      ...headers,
    },
    ...(hasBody ? { body: raw ?? JSON.stringify(body) } : {}),
    ...(signal === undefined ? {} : { signal }),
    redirect: 'manual',
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  const text = new TextDecoder().decode(bytes);
  const isProblem = response.headers.get('content-type') === 'application/problem+json';
  const problem = isProblem ? (JSON.parse(text) as { type: string }).type.split(':').at(-1) : undefined;
  const isReplay = response.headers.get('idempotent-replayed') === 'true';
  return { status: response.status, headers: response.headers, bytes, text, problem, isReplay };
}

/** Sends a request, reads the beginning of the reply, and is gone. */
export async function goAway(url: string, key: string): Promise<void> {
  const headers = { 'content-type': 'application/json', 'x-person': 'ada', 'idempotency-key': key };
  const gone = new AbortController();
  const response = await fetch(`${url}/do/x`, { method: 'POST', headers, body: '{"a":1}', signal: gone.signal });
  await response.body?.getReader().read();
  gone.abort();
}

/** What a repetition must give again. */
export function essence({ status, headers, text, bytes }: Answered): unknown {
  const names = ['content-type', 'location', 'link', 'etag', 'x-own', 'cache-control'];
  return { status, text, size: bytes.length, headers: names.map((name) => [name, headers.get(name)]) };
}
