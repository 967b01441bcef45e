import type { Effects } from '../kernel/effects.ts';
import { FOREIGN_PAGE, isForeignPage, isNavigation } from './foreign-page.ts';
import { isLocal } from './peer.ts';
import type { Problem } from './problem.ts';
import { RateLimit } from './rate-limit.ts';
import type { OperatorServerOptions, RequestFacts } from './server-options.ts';
import { hmac, isSame, newSecret, Sessions, type Token, type Who } from './sessions.ts';

/** Somebody who was let in. */
export interface Caller extends Who {
  /** What a page must send with each write; absent for callers no page can act for. */
  readonly csrf: string | undefined;
}

const COOKIE = 'holdfast_session';

/** Where a request came in. */
export interface Place extends RequestFacts {
  /** Below which path the server is; empty where it has all of a host. */
  readonly basePath: string;
}

/** Knows who asks. */
export class Gate {
  readonly #options: OperatorServerOptions;
  readonly #sessions: Sessions;
  readonly #failures: RateLimit;
  /** Signs the CSRF values of callers that have no session with us. */
  readonly #secret: string;
  /** The same for those whom the application knows. */
  readonly #appSecret: string;
  readonly #hasAuth: boolean;
  /** Nobody else than this machine is answered. */
  readonly #isLocalOnly: boolean;

  constructor(options: OperatorServerOptions, effects: Effects) {
    const { auth, failedLoginsPerMinute = 20 } = options;
    this.#isLocalOnly = auth === undefined && (options.tokens ?? []).length === 0;
    const tokens = this.#isLocalOnly ? localTokens(options) : (options.tokens ?? []);
    this.#options = options;
    this.#sessions = new Sessions(effects, tokens, options.endedSessions);
    this.#failures = new RateLimit(effects, failedLoginsPerMinute);
    // The same in every process that has the tokens: a page may be served by one and write to another.
    this.#secret = tokens.length > 0 ? tokens.map(({ token }) => token).join('\n') : newSecret();
    // Processes of an application share nothing that we know of. It need not be one: a page of another origin can neither set the header
    // nor leave its own origin out.
    this.#appSecret = tokens.length > 0 ? this.#secret : 'known by the application';
    this.#hasAuth = tokens.length > 0 || auth !== undefined;
  }

  /** Who asks, or why nobody is let in. */
  async callerOf(request: Request, place: Place): Promise<Caller | Problem> {
    if (this.#isLocalOnly && !isLocal(request.headers, place)) return ONLY_LOCAL;
    const bearer = bearerOf(request);
    if (bearer !== undefined && this.#hasAuth) {
      const holder = this.#sessions.holderOf(bearer);
      if (holder) return { actor: holder.actor, role: holder.role, csrf: undefined };
    }
    const known = await this.#options.auth?.(request, { peer: place.peer });
    // A page cannot make a browser send a bearer token; anything else that `auth` looks at it may.
    if (known) {
      const csrf = bearer === undefined ? this.#csrf(known.actor, this.#appSecret) : undefined;
      return { actor: known.actor, role: known.role, csrf };
    }
    if (bearer !== undefined && this.#hasAuth) return this.#failed(place);
    const session = sessionOf(request, place.basePath);
    const holder = session === undefined ? undefined : await this.#sessions.find(session);
    if (holder && session !== undefined) return { actor: holder.actor, role: holder.role, csrf: this.#csrf(session) };
    if (this.#hasAuth) return this.#unknown();
    return { actor: localActor(this.#options), role: 'admin', csrf: this.#csrf('local') };
  }

  /** True when a request may be answered at all without knowing who asks: pages and probes. */
  mayLook(request: Request, facts: RequestFacts): boolean {
    return !this.#isLocalOnly || isLocal(request.headers, facts);
  }

  /** True where only this machine is answered and the request is of it, whoever asks: for what tells numbers alone. */
  isHere(request: Request, facts: RequestFacts): boolean {
    return this.#isLocalOnly && isLocal(request.headers, facts);
  }

  /** The session of somebody who opens the console with the key of this start; nothing where the request has none, or there is no key. */
  enter(request: Request, facts: RequestFacts): ReturnType<Gate['begin']> | undefined {
    const key = new URL(request.url).searchParams.get('key');
    return key !== null && this.#isLocalOnly && this.#hasAuth ? this.begin(key, facts) : undefined;
  }

  /**
   * Why a request is not answered at all, whatever it asks for: a page of another origin had it sent, or it is a delivery. A link to a page
   * may be followed from anywhere, and no page can make a browser send a bearer token.
   */
  refusalOf(request: Request, isPage: boolean): Problem | undefined {
    const { headers } = request;
    if (DELIVERY_MARKS.some((name) => headers.has(name))) return NOT_FOR_DELIVERIES;
    if (this.#hasAuth && bearerOf(request) !== undefined) return undefined;
    if (isPage && isNavigation(request)) return undefined;
    return isForeignPage(headers, this.#options.origins) ? FOREIGN_PAGE : undefined;
  }

  /** Begins a session with a token; the cookie, or why not. */
  begin(token: string, facts: RequestFacts): { readonly holder: Token; readonly session: string } | Problem {
    const holder = this.#sessions.holderOf(token);
    if (!holder) return this.#failed(facts);
    const { actor, role } = holder;
    this.#options.logger?.info({ actor, role, peer: facts.peer }, 'operator server: somebody logged in');
    return { holder, session: this.#sessions.begin(holder) };
  }

  csrfOf(session: string): string {
    return this.#csrf(session);
  }

  async end(request: Request, { actor, role }: Caller, { peer, basePath }: Place): Promise<void> {
    const session = sessionOf(request, basePath);
    if (session === undefined) return;
    await this.#sessions.end(session);
    this.#options.logger?.info({ actor, role, peer }, 'operator server: somebody logged out');
  }

  /**
   * A token that fits is let in however many have failed: behind a proxy everybody has one address, and whoever guesses there would shut
   * all others out. Tokens cannot be guessed; what is bounded is the noise.
   */
  #failed({ peer = 'unknown' }: RequestFacts): Problem {
    const seconds = this.#failures.take(peer);
    if (seconds > 0) return tooMany(seconds, 'Too many logins have failed from this address.');
    this.#options.logger?.warn({ peer }, 'operator server: a login failed');
    return {
      ...this.#unknown(),
      code: 'WRONG_TOKEN',
      title: 'That token is not known',
      detail: 'The token fits none.',
    };
  }

  #unknown(): Problem {
    return this.#isLocalOnly ? NO_KEY : UNKNOWN_CALLER;
  }

  #csrf(of: string, secret = this.#secret): string {
    return hmac(secret, `holdfast csrf ${of}`);
  }
}

/** The key of this start is the token of an admin; where there is none, nobody needs one. */
function localTokens(options: OperatorServerOptions): readonly Token[] {
  const { localOnly } = options;
  return typeof localOnly === 'object' ? [{ token: localOnly.key, role: 'admin', actor: localActor(options) }] : [];
}

function localActor(options: OperatorServerOptions): string {
  return options.localActor ?? 'local';
}

/** Why a page may not write for this caller; nothing if it may. */
export function forgedWrite(request: Request, { csrf }: Caller, origins: readonly string[]): Problem | undefined {
  if (csrf === undefined) return undefined;
  if (isForeignPage(request.headers, origins)) return FOREIGN_PAGE;
  return isSame(request.headers.get('x-holdfast-csrf') ?? '', csrf) ? undefined : NO_CSRF;
}

/** The cookie of a session, or one that takes it away. */
export function sessionCookie(request: Request, basePath: string, session: string, seconds: number): string {
  const name = cookieName(request, basePath);
  const path = basePath === '' ? '/' : basePath;
  return `${name}=${session}; Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Strict${isSecure(request) ? '; Secure' : ''}`;
}

/**
 * Over https the name has a prefix that browsers guard: another host of the domain, or a page without TLS, cannot set such a cookie and so
 * put somebody into a session of its own. `__Host-` is for a whole host alone.
 */
function cookieName(request: Request, basePath: string): string {
  if (!isSecure(request)) return COOKIE;
  return `${basePath === '' ? '__Host-' : '__Secure-'}${COOKIE}`;
}

function isSecure({ url, headers }: Request): boolean {
  return url.startsWith('https:') || headers.get('x-forwarded-proto') === 'https';
}

export function tooMany(seconds: number, detail: string): Problem {
  return {
    status: 429,
    code: 'RATE_LIMITED',
    title: 'Too many requests',
    detail,
    next: `Wait ${seconds} s, then try again.`,
    headers: { 'retry-after': String(seconds) },
  };
}

function bearerOf(request: Request): string | undefined {
  return /^bearer\s+(\S+)\s*$/i.exec(request.headers.get('authorization') ?? '')?.[1];
}

function sessionOf(request: Request, basePath: string): string | undefined {
  const start = `${cookieName(request, basePath)}=`;
  const pairs = (request.headers.get('cookie') ?? '').split(/;\s*/);
  return pairs.find((pair) => pair.startsWith(start))?.slice(start.length);
}

const UNKNOWN_CALLER: Problem = {
  status: 401,
  code: 'UNAUTHENTICATED',
  title: 'Who are you?',
  detail: 'This server answers only those it knows.',
  next: 'Log in, or send a token: authorization: Bearer <token>.',
  headers: { 'www-authenticate': 'Bearer realm="holdfast"' },
};

const NO_KEY: Problem = {
  ...UNKNOWN_CALLER,
  detail: 'This server has no tokens, and answers those on this machine who have the key of this start.',
  next: 'Open the address that was printed at the start, with ?key=…, or send the key: authorization: Bearer <key>.',
};

const ONLY_LOCAL: Problem = {
  status: 403,
  code: 'LOCAL_ONLY',
  title: 'Only this machine is answered',
  detail:
    'No tokens and no auth are set, so only HTTP/1.1 requests from this machine to localhost and the port it listens on are answered.',
  next: 'Set tokens (holdfast serve --token admin:ann=…) or auth, or ask http://localhost. Where the server is called as a function, pass { peer }.',
};

// What each delivery carries, and no message can leave out: a delivery that comes here was meant to reach what trusts this machine.
const DELIVERY_MARKS = ['upstash-message-id', 'webhook-id'];

const NOT_FOR_DELIVERIES: Problem = {
  status: 403,
  code: 'NOT_FOR_DELIVERIES',
  title: 'Deliveries are not taken here',
  detail: 'The request is a delivery: it has Upstash-Message-Id or webhook-id.',
  next: 'Deliver to your own service; operate this server with its API.',
};

const NO_CSRF: Problem = {
  status: 403,
  code: 'CSRF_MISSING',
  title: 'The CSRF value is missing or old',
  detail: 'Writes with a cookie, or without any login, need the header x-holdfast-csrf.',
  next: 'Read csrf of GET api/session and send it as x-holdfast-csrf.',
};
