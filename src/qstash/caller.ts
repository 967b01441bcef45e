import type { ApiTokenRecord, ApiTokens, Scope } from '../delivery/secrets.ts';
import { SCOPES } from '../delivery/secrets.ts';
import type { ChangedBy } from '../delivery/webhook-endpoints.ts';
import { Refusal } from './refusal.ts';

/** Who asks. */
export interface Caller {
  readonly token: ApiTokenRecord;
  /** The token stood in the query. */
  readonly isTokenInQuery: boolean;
}

/**
 * Who asks, by the token in the `Authorization` header; without that header and where `mayBeInQuery`, by `qstash_token` of the query. A
 * page can make a browser send any query, so a token that everybody knows is refused there. Refused with 401.
 */
export async function callerOf(
  tokens: ApiTokens,
  authorization: string | undefined,
  query: URLSearchParams,
  mayBeInQuery: boolean,
): Promise<Caller> {
  const isTokenInQuery = authorization === undefined && mayBeInQuery;
  const text = isTokenInQuery
    ? (query.get('qstash_token') ?? undefined)
    : /^Bearer +([!-~]+) *$/i.exec(authorization ?? '')?.[1];
  if (text === undefined || text === '') {
    const inQuery = query.has('qstash_token') ? ', not in the query (see tokenInQuery)' : '';
    throw unauthorized(`no token was given; send Authorization: Bearer <token>${inQuery}`);
  }
  const token = text.length > 1_000 ? undefined : await tokens.verify(text);
  if (isTokenInQuery && token?.isPublic === true)
    throw unauthorized('this token is public; send it in Authorization: Bearer <token>');
  if (token === undefined) throw unauthorized('the token is not known here; make one with holdfast token create');
  return { token, isTokenInQuery };
}

/** The token as the audit and the log know it: names may be given twice, ids may not. */
export function actorOf({ name, id }: ApiTokenRecord): ChangedBy {
  return { actor: `token ${name} ${id}` };
}

/** A scope lets do what those before it let do. Refused with 403. */
export function demandScope(token: ApiTokenRecord, needed: Scope): void {
  if (!mayDo(token, needed)) {
    throw new Refusal(403, `the token ${JSON.stringify(token.name)} may not do that: it takes the scope ${needed}`);
  }
}

/** True when the scopes of a token let do what needs this one. */
export function mayDo({ scopes }: ApiTokenRecord, needed: Scope): boolean {
  return Math.max(-1, ...scopes.map((scope) => SCOPES.indexOf(scope))) >= SCOPES.indexOf(needed);
}

function unauthorized(message: string): Refusal {
  return new Refusal(401, `unauthorized: ${message}`, { 'www-authenticate': 'Bearer' });
}
