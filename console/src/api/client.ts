/** Where the server is: the console's root, whatever page the document was opened at. */
const API = new URL('api/', document.baseURI);

let csrf = '';

/** The token that every change carries from now on. */
export function carryToken(token: string): void {
  csrf = token;
}

/** What the server refused, or why it could not be asked. `next` is what to do about it. */
export class Problem extends Error {
  readonly status: number;
  readonly code: string | undefined;
  readonly next: string | undefined;
  readonly fields: Readonly<Record<string, unknown>>;

  constructor(status: number, fields: Readonly<Record<string, unknown>>) {
    super(textOf(fields['detail']) ?? textOf(fields['title']) ?? `The server answered with status ${status}.`);
    this.name = 'Problem';
    this.status = status;
    this.code = textOf(fields['code']) ?? textOf(fields['kind']);
    this.next = textOf(fields['next']);
    this.fields = fields;
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Values of a query; what is absent or empty is left out, a list is repeated. */
export type Params = Readonly<Record<string, string | number | boolean | undefined>>;

/** The address of a part of the API. */
export function apiUrl(path: string, params: Params = {}): URL {
  const url = new URL(path, API);
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && value !== '') url.searchParams.set(name, String(value));
  }
  return url;
}

/** Reads. Throws a `Problem`. */
export async function ask<T>(path: string, params?: Params, signal?: AbortSignal): Promise<T> {
  return send<T>(apiUrl(path, params), { signal: signal ?? null });
}

/** Changes something. Throws a `Problem`. */
export async function tell<T>(method: 'POST' | 'DELETE', path: string, body: object = {}): Promise<T> {
  return send<T>(apiUrl(path), {
    method,
    headers: { 'content-type': 'application/json', 'x-holdfast-csrf': csrf },
    body: JSON.stringify(body),
  });
}

async function send<T>(url: URL, init: RequestInit): Promise<T> {
  const response = await fetch(url, { ...init, credentials: 'same-origin' }).catch((error: unknown) => {
    if ((error as Error).name === 'AbortError') throw error;
    throw new Problem(0, {
      code: 'UNREACHABLE',
      title: 'The server does not answer.',
      next: 'Is `holdfast serve` still running, and is the network there? The page tries again by itself.',
    });
  });
  const body: unknown = await response.json().catch(() => undefined);
  if (!response.ok) throw new Problem(response.status, (body ?? {}) as Record<string, unknown>);
  return body as T;
}
