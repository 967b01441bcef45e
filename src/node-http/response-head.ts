import type { HeaderLine } from '../idempotency/http/http-reply.ts';
import type { NodeResponse } from './node-response.ts';

/** Status and headers of a response that has not been sent. */
export interface ResponseHead {
  readonly status: number;
  /** HTTP/2 has none, and warns whoever asks for it. */
  readonly message: string | undefined;
  readonly headers: readonly (readonly [name: string, value: number | string | readonly string[]])[];
}

export function readHead(res: NodeResponse): ResponseHead {
  // HTTP/2 has the status among them once they are sent.
  const names = res.getHeaderNames().filter((name) => !name.startsWith(':'));
  const headers = names.map((name) => [name, res.getHeader(name) ?? ''] as const);
  return { status: res.statusCode, message: hasMessage(res) ? res.statusMessage : undefined, headers };
}

/** Makes the head of a response what it was, or what another one's is. */
export function writeHead(res: NodeResponse, { status, message, headers }: ResponseHead): void {
  for (const name of res.getHeaderNames()) res.removeHeader(name);
  for (const [name, value] of headers) res.setHeader(name, value);
  res.statusCode = status;
  if (message !== undefined && hasMessage(res)) res.statusMessage = message;
}

/** HTTP/2 has none, and warns when it is touched. */
function hasMessage(res: NodeResponse): boolean {
  return !('stream' in res);
}

/** One line for each value. */
export function headLines({ headers }: ResponseHead): HeaderLine[] {
  return headers.flatMap(([name, value]) =>
    Array.isArray(value) ? value.map((item: string): HeaderLine => [name, item]) : [[name, String(value)] as const],
  );
}

/** Does what `writeHead` was told, without sending: all ways to pass headers end in the same place. */
export function applyHead(res: NodeResponse, status: number, rest: readonly unknown[]): void {
  res.statusCode = status;
  const [message] = rest;
  if (typeof message === 'string' && hasMessage(res)) res.statusMessage = message;
  const given = typeof message === 'string' ? rest[1] : message;
  for (const [name, values] of grouped(given)) res.setHeader(name, values.length === 1 ? (values[0] ?? '') : values);
}

/** Headers come as an object, as pairs, or as names and values in turn. */
function grouped(given: unknown): Map<string, string[]> {
  const found = new Map<string, string[]>();
  const add = (name: unknown, value: unknown): void => {
    const values = Array.isArray(value) ? value.map(String) : [String(value)];
    found.set(String(name), [...(found.get(String(name)) ?? []), ...values]);
  };
  if (Array.isArray(given) && Array.isArray(given[0])) {
    for (const [name, value] of given as [unknown, unknown][]) add(name, value);
  } else if (Array.isArray(given)) {
    for (let at = 0; at + 1 < given.length; at += 2) add(given[at], given[at + 1]);
  } else if (typeof given === 'object' && given !== null) {
    for (const [name, value] of Object.entries(given)) if (value !== undefined) add(name, value);
  }
  return found;
}
