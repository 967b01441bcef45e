import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const SCRIPT = fileURLToPath(new URL('server-process.ts', import.meta.url));

type Query = Readonly<Record<string, string>>;
type Answer = Readonly<Record<string, unknown>>;

/** The API in a process of its own, and a client of it that keeps its connection. */
export interface Api {
  get(path: string, query?: Query): Promise<Answer>;
  post(path: string, body: unknown): Promise<Answer>;
  /** Until the first bytes of a stream are there. */
  open(path: string): Promise<void>;
  readonly token: string;
  /** Of its process. */
  readonly pid: number;
  readonly port: number;
  close(): void;
}

/** Starts the server. Answers that are no success are errors: a refusal is quick and proves nothing. */
export async function startApi(databaseUrl: string): Promise<Api> {
  const token = randomBytes(16).toString('hex');
  const child = fork(SCRIPT, [databaseUrl, token], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const [port] = (await once(child, 'message')) as [number];
  const base = `http://127.0.0.1:${port}`;
  const authorization = `Bearer ${token}`;
  const ask = async (path: string, init: RequestInit): Promise<Answer> => {
    const response = await fetch(`${base}${path}`, init);
    const body = await response.text();
    if (!response.ok) throw new Error(`${init.method ?? 'GET'} ${path}: ${response.status} ${body.slice(0, 500)}`);
    const isJson = response.headers.get('content-type')?.includes('json') === true;
    return isJson ? (JSON.parse(body) as Answer) : { body };
  };
  return {
    token,
    pid: child.pid ?? 0,
    port,
    get: (path, query) => ask(path + searchOf(query), { headers: { authorization } }),
    post: (path, body) =>
      ask(path, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    async open(path) {
      const abort = new AbortController();
      const response = await fetch(`${base}${path}`, { headers: { authorization }, signal: abort.signal });
      await response.body?.getReader().read();
      abort.abort();
    },
    close: () => child.disconnect(),
  };
}

/** `?a=b`, or nothing. */
export function searchOf(query: Query = {}): string {
  const text = new URLSearchParams(query).toString();
  return text === '' ? '' : `?${text}`;
}
