import { HoldfastError } from '../kernel/error.ts';
import type { OptionProblem } from '../kernel/check-options.ts';
import type { PayloadMatch } from '../operator/operator.ts';
import { addPayload } from './payload-query.ts';
import { isRefusedKind } from './openapi.ts';
import { revive } from './read-value.ts';
import type { Route } from './route.ts';
import { ALL_ROUTES } from './routes/all-routes.ts';
import { kindOf } from './schema.ts';

/** Where a server is, and how it is asked. */
export interface RemoteTarget {
  /** Ends with a slash. */
  readonly url: URL;
  readonly token: string | undefined;
  readonly fetch: typeof fetch;
  readonly timeoutMs: number;
}

/** What a route is called with. */
export interface RemoteArguments {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: object | undefined;
  readonly body?: object;
}

const BY_ID: ReadonlyMap<string, Route> = new Map(ALL_ROUTES.map((route) => [route.id, route]));

/** Calls a route, and answers what the operator behind it answered. */
export async function callRoute(target: RemoteTarget, id: string, given: RemoteArguments = {}): Promise<unknown> {
  const route = BY_ID.get(id);
  if (route === undefined) throw new TypeError(`there is no route ${id}`);
  // A path cannot hold these: they would lead to another route.
  if (Object.values(given.params ?? {}).some((value) => ['', '.', '..'].includes(value))) return noSuchId(route);
  const response = await ask(target, route, given);
  const { isJson, value } = await readAnswer(target, response);
  if (!isJson) throw unfit(target, `it answered ${response.status} with something that is not JSON`);
  if (response.ok) return revive(route.answer.json, value);
  return refusal(target, route, response.status, value as Readonly<Record<string, unknown>>);
}

function noSuchId(route: Route): unknown {
  const kinds = (route.answer.json.oneOf ?? []).map((shape) => kindOf(shape));
  if (kinds.includes('bad-id')) return { kind: 'bad-id', problem: 'an id is 36 characters' };
  return kinds.includes('not-found') ? { kind: 'not-found' } : { items: [], next: undefined };
}

async function ask(
  target: RemoteTarget,
  route: Route,
  { params = {}, query = {}, body }: RemoteArguments,
): Promise<Response> {
  const path = route.path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  const url = new URL(path, target.url);
  addQuery(url.searchParams, query);
  const headers: Record<string, string> = { accept: 'application/json' };
  if (target.token !== undefined) headers['authorization'] = `Bearer ${target.token}`;
  if (route.method === 'POST') {
    headers['content-type'] = 'application/json';
    if (target.token === undefined) headers['x-holdfast-csrf'] = await csrfOf(target);
  }
  return send(target, url, {
    method: route.method,
    headers,
    ...(route.method === 'POST' ? { body: JSON.stringify(body ?? {}) } : {}),
  });
}

/** Without a token this machine is let in, and must show that it is no page of somebody else. */
async function csrfOf(target: RemoteTarget): Promise<string> {
  const response = await send(target, new URL('api/session', target.url), { headers: { accept: 'application/json' } });
  const { isJson, value } = await readAnswer(target, response);
  const { csrf } = (value ?? {}) as { readonly csrf?: unknown };
  if (response.ok && typeof csrf === 'string') return csrf;
  if (!response.ok && isJson) throw refused(target, response.status, value as Readonly<Record<string, unknown>>);
  throw unfit(target, 'it has no session to give');
}

async function send(target: RemoteTarget, url: URL, init: RequestInit): Promise<Response> {
  try {
    const signal = AbortSignal.timeout(target.timeoutMs);
    // A redirect would carry the token to whoever it names.
    return await target.fetch(url, { ...init, signal, redirect: 'error' });
  } catch (error) {
    throw away(target, error);
  }
}

async function readAnswer(
  target: RemoteTarget,
  response: Response,
): Promise<{ readonly isJson: boolean; readonly value: unknown }> {
  try {
    const text = await response.text();
    if (!/json/i.test(response.headers.get('content-type') ?? '')) return { isJson: false, value: undefined };
    return { isJson: true, value: JSON.parse(text) };
  } catch (error) {
    if (error instanceof SyntaxError) return { isJson: false, value: undefined };
    throw away(target, error);
  }
}

function refusal(
  target: RemoteTarget,
  route: Route,
  status: number,
  problem: Readonly<Record<string, unknown>>,
): unknown {
  const { outcome, code } = problem;
  const { kind } = (outcome ?? {}) as { readonly kind?: string };
  if (isRefusedKind(kind, route.refusals)) return revive(route.answer.json, outcome);
  if (code === 'INVALID_OPTIONS') {
    const { of, problems } = problem as { readonly of: string; readonly problems: readonly OptionProblem[] };
    throw new HoldfastError('INVALID_OPTIONS', { of, problems });
  }
  if (RETHROWN.some((one) => one === code)) {
    throw new HoldfastError(code as (typeof RETHROWN)[number], problem['details'] as never);
  }
  if (code === 'NO_SUCH_ROUTE') throw unfit(target, `it knows no ${route.path}`);
  throw refused(target, status, problem);
}

/** Errors of the operator that are the same here as there. */
const RETHROWN = [
  'PAYLOAD_INVALID',
  'PAYLOAD_TOO_LARGE',
  'SCHEMA_TOO_OLD',
  'SCHEMA_TOO_NEW',
  'DATABASE_TIMEOUT',
  'FIELD_REDACTED',
  'NOT_ON_MONGODB',
] as const;

function refused({ url }: RemoteTarget, status: number, problem: Readonly<Record<string, unknown>>): HoldfastError {
  const { detail = '', next = '', code = 'UNKNOWN' } = problem as Readonly<Record<string, string | undefined>>;
  const text = [detail.replace(/\.$/, ''), next.replace(/\.$/, '')].filter(Boolean).join('; ');
  return new HoldfastError('REMOTE_REFUSED', { url: url.href, status, code, problem: text });
}

function unfit({ url }: RemoteTarget, problem: string): HoldfastError {
  return new HoldfastError('REMOTE_UNFIT', { url: url.href, problem });
}

function away({ url, timeoutMs }: RemoteTarget, error: unknown): HoldfastError {
  const { name, cause } = error as { readonly name?: string; readonly cause?: { readonly code?: string } };
  const problem =
    name === 'TimeoutError'
      ? `no answer within ${timeoutMs} ms`
      : (cause?.code ?? 'the connection broke or was refused');
  return new HoldfastError('REMOTE_AWAY', { url: url.href, problem }, { cause: error });
}

function addQuery(search: URLSearchParams, query: object): void {
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    if (name === 'payload') addPayload(search, value as readonly PayloadMatch[]);
    else search.set(name, value instanceof Date ? value.toISOString() : String(value));
  }
}
