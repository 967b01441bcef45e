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
  return {
    status: res.statusCode,
    message: hasMessage(res) ? res.statusMessage : undefined,
    headers: readHeaders(res),
  };
}

/** With names as they were written: a repetition is to be sent as the first reply was. */
function readHeaders(res: NodeResponse): ResponseHead['headers'] {
  const all = res.getHeaders();
  const values = Object.values(all);
  const names = res.getRawHeaderNames?.() ?? Object.keys(all);
  const headers: [name: string, value: number | string | readonly string[]][] = [];
  for (let at = 0; at < names.length; at++) {
    const name = names[at] ?? '';
    // HTTP/2 has the status among them once they are sent.
    if (!name.startsWith(':')) headers.push([name, values[at] ?? '']);
  }
  return headers;
}

/** Makes the head of a response what it was, or what another one's is. */
export function writeHead(res: NodeResponse, { status, message, headers }: ResponseHead): void {
  if (!hasHeaders(res, headers)) {
    for (const name of res.getHeaderNames()) res.removeHeader(name);
    for (const [name, value] of headers) res.setHeader(name, value);
  }
  res.statusCode = status;
  if (message !== undefined && hasMessage(res)) res.statusMessage = message;
}

/** True when nobody has touched them: setting a header costs more than looking at it. */
function hasHeaders(res: NodeResponse, headers: ResponseHead['headers']): boolean {
  const now = readHeaders(res);
  if (now.length !== headers.length) return false;
  for (let at = 0; at < now.length; at++) {
    if (now[at]?.[0] !== headers[at]?.[0] || now[at]?.[1] !== headers[at]?.[1]) return false;
  }
  return true;
}

/** HTTP/2 has none, and warns when it is touched. */
function hasMessage(res: NodeResponse): boolean {
  return !('stream' in res);
}

/** One line for each value. */
export function headLines({ headers }: ResponseHead): HeaderLine[] {
  const lines: HeaderLine[] = [];
  for (const [name, value] of headers) {
    if (typeof value === 'object') for (const item of value) lines.push([name, item]);
    else lines.push([name, String(value)]);
  }
  return lines;
}

/** Lines as they are set: those with one name together. */
export function headerValues(
  lines: readonly HeaderLine[],
): Iterable<readonly [name: string, value: string | string[]]> {
  const names = new Set(lines.map(([name]) => name));
  if (names.size === lines.length) return lines;
  const byName = Map.groupBy(lines, ([name]) => name);
  return Array.from(byName, ([name, same]) => {
    const values = same.map(([, value]) => value);
    return [name, values.length === 1 ? (values[0] ?? '') : values] as const;
  });
}

/** Does what `writeHead` was told, without sending: all ways to pass headers end in the same place. */
export function applyHead(res: NodeResponse, status: number, rest: readonly unknown[]): void {
  res.statusCode = status;
  const [message] = rest;
  if (typeof message === 'string' && hasMessage(res)) res.statusMessage = message;
  const given = typeof message === 'string' ? rest[1] : message;
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) {
    for (const [name, value] of Object.entries(given)) if (value !== undefined) res.setHeader(name, headerValue(value));
    return;
  }
  for (const [name, values] of grouped(given)) res.setHeader(name, values.length === 1 ? (values[0] ?? '') : values);
}

function headerValue(value: unknown): string | string[] {
  return Array.isArray(value) ? value.map(String) : String(value);
}

/** Headers that do not come as an object come as pairs, or as names and values in turn. */
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
  }
  return found;
}
