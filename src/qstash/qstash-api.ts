import { tenantView } from '../delivery/tenant-view.ts';
import type { Effects } from '../kernel/effects.ts';
import { isForeignPage } from '../server/foreign-page.ts';
import { answerNode, type NodeRequest, type NodeResponse } from '../server/node-listener.ts';
import { thrownProblem } from '../server/problem.ts';
import { RateLimit } from '../server/rate-limit.ts';
import { readBytes } from '../server/read-body.ts';
import { withoutKnownSecrets } from '../server/redacted-deliveries.ts';
import { systemEffects } from '../system/effects.ts';
import { NOT_OFFERED, ROUTES } from './all-routes.ts';
import { checkApiOptions, type QstashApiOptions } from './api-options.ts';
import { actorOf, type Caller, callerOf, demandScope, mayDo } from './caller.ts';
import { matchPath, type PathMatch } from './match-path.ts';
import { headerMap, type HeaderMap, strayHeader } from './message-headers.ts';
import { badRequest, GUIDE, Refusal } from './refusal.ts';
import { type RawTarget, targetBelow, targetOf } from './request-target.ts';
import type { ApiAnswer, ApiCall, ApiLimits } from './route.ts';
import { tooLarge } from './routes/publish.ts';

/** What is known of a request besides itself. */
export interface QstashFacts {
  /** The address it came from. */
  readonly peer?: string | undefined;
  /** The target as it stood on the request line, before anybody resolved dots in it. Default: that of the request's URL. */
  readonly target?: string | undefined;
}

/** The QStash API, version 2. */
export interface QstashApi {
  /** True for a target below `/v2`: everything else is for others to answer. */
  isFor(target: string): boolean;
  /** Answers a request. Never rejects. */
  readonly fetch: (request: Request, facts?: QstashFacts) => Promise<Response>;
  /** The same for Node's `http`. */
  readonly listener: (request: NodeRequest, response: NodeResponse) => void;
}

/** The API that clients of QStash speak, over what a store knows of deliveries. It listens to nothing and sends nothing by itself. */
export function qstashApi(options: QstashApiOptions): QstashApi {
  checkApiOptions(options);
  const api = new Api(options);
  return {
    isFor: (target) => api.isFor(target),
    fetch: (request, facts = {}) => api.answer(request, facts),
    listener: (request, response) =>
      void answerNode(request, response, (one, { peer }) =>
        api.answer(one, { peer, target: request.originalUrl ?? request.url }),
      ),
  };
}

interface Asked {
  readonly request: Request;
  readonly headers: HeaderMap;
  readonly target: RawTarget;
  readonly query: URLSearchParams;
  readonly peer: string | undefined;
}

class Api {
  readonly #options: QstashApiOptions;
  readonly #effects: Effects;
  readonly #basePath: string;
  readonly #limits: ApiLimits;
  readonly #perMinute: number;
  readonly #rate: RateLimit;
  /** How often it is told of refusals: anybody can make as many as they like. */
  readonly #told: RateLimit;

  constructor(options: QstashApiOptions) {
    const { effects = systemEffects, basePath = '', requestsPerMinute = 120_000 } = options;
    this.#options = options;
    this.#effects = effects;
    this.#basePath = basePath.replace(/\/+$/, '');
    this.#perMinute = requestsPerMinute;
    this.#rate = new RateLimit(effects, requestsPerMinute);
    this.#told = new RateLimit(effects, TOLD_PER_MINUTE);
    this.#limits = {
      maxBodyBytes: options.maxBodyBytes ?? 1_000_000,
      maxBatchBytes: options.maxBatchBytes ?? 10_000_000,
      maxBatch: options.maxBatch ?? 1_000,
      maxDelayMs: options.maxDelayMs ?? 365 * 86_400_000,
      maxParallelism: options.maxParallelism ?? 1_000,
    };
  }

  isFor(target: string): boolean {
    const [path] = target.split(/[?#]/, 1);
    return path === `${this.#basePath}/v2` || targetBelow(this.#basePath, target) !== undefined;
  }

  async answer(request: Request, { peer, target = targetOf(request.url) }: QstashFacts): Promise<Response> {
    try {
      const below = targetBelow(this.#basePath, target);
      if (below === undefined) throw new Refusal(404, `nothing is there; the API is below ${this.#basePath}/v2/`);
      const { status = 200, value } = await this.#answer({
        request,
        headers: headerMap(request.headers),
        target: below,
        query: new URLSearchParams(below.query),
        peer,
      });
      return Response.json(value, { status, headers: NEVER_STORED });
    } catch (error) {
      return this.#refused(error);
    }
  }

  async #answer(asked: Asked): Promise<ApiAnswer> {
    const { request, headers, target, query } = asked;
    const matches = matchPath(ROUTES, target.path);
    const match = matches.find(({ route }) => route.method === request.method);
    const takes = match?.route.takes;
    if (isForeignPage(request.headers)) this.#tell(asked, FOREIGN, undefined);
    const { deliveries, tokenInQuery = false } = this.#options;
    const mayBeInQuery = tokenInQuery && takes === 'message';
    const caller = await callerOf(deliveries.tokens, headers.get('authorization'), query, mayBeInQuery).catch(
      (error: unknown) => this.#tell(asked, error, undefined),
    );
    this.#take(caller);
    if (match === undefined) throw noRoute(target.path, matches);
    try {
      demandScope(caller.token, match.route.scope);
    } catch (error) {
      this.#tell(asked, error, caller.token.name);
    }
    if (takes !== 'message') {
      const stray = strayHeader(headers, takes ?? 'nothing');
      if (stray !== undefined) throw strayed(stray);
    }
    return match.route.run(this.#call(asked, match, caller));
  }

  #call({ request, headers, target, query, peer }: Asked, { params, rest }: PathMatch, caller: Caller): ApiCall {
    const view = tenantView(this.#options.deliveries, caller.token.tenant, actorOf(caller.token));
    // Who may but publish knows what it has sent itself, and must not read the credentials that others have sent along.
    const isPublisher = !mayDo(caller.token, 'operate');
    return {
      deliveries: isPublisher ? { ...view, messages: withoutKnownSecrets(view.messages) } : view,
      limits: this.#limits,
      activity: this.#options.activity ?? (() => ({ most: 0, now: 0 })),
      nowMs: this.#effects.now().wallMs,
      params,
      rest,
      rawQuery: target.query,
      query,
      headers,
      callerIp: peer === undefined ? undefined : plainAddress(peer),
      isTokenInQuery: caller.isTokenInQuery,
      bytes: async (mostBytes) => {
        const bytes = await readBytes(request, mostBytes);
        if (bytes === undefined) throw new Refusal(413, tooLarge(mostBytes), { connection: 'close' });
        return bytes;
      },
    };
  }

  /** Throws it again; the log knows who tries doors. Never with what. */
  #tell({ peer = 'unknown' }: Asked, error: unknown, token: string | undefined): never {
    const from = plainAddress(peer);
    if (error instanceof Refusal && this.#told.take(from) === 0) {
      const line = { peer: from, httpStatus: error.status, ...(token !== undefined && { token }) };
      this.#options.logger?.warn(line, 'QStash API: a request was refused');
    }
    throw error;
  }

  #take({ token }: Caller): void {
    const waitSeconds = this.#rate.take(token.id);
    if (waitSeconds === 0) return;
    throw new Refusal(429, `the token has asked ${this.#perMinute} times in a minute; wait ${waitSeconds} s`, {
      'Burst-RateLimit-Limit': String(this.#perMinute),
      'Burst-RateLimit-Remaining': '0',
      'Burst-RateLimit-Reset': String(Math.ceil(this.#effects.now().wallMs / 1_000) + waitSeconds),
      'retry-after': String(waitSeconds),
    });
  }

  #refused(error: unknown): Response {
    if (error instanceof Refusal) {
      const { status, message, headers } = error;
      return Response.json({ error: message }, { status, headers: { ...NEVER_STORED, ...headers } });
    }
    const { status, code, detail, next } = thrownProblem(error);
    if (status >= 500) this.#options.logger?.error({ code, err: error }, 'QStash API: a request failed');
    return Response.json({ error: `${detail} ${next}` }, { status, headers: NEVER_STORED });
  }
}

const FOREIGN = new Refusal(403, 'the request came from a web page of another origin; call this API from a program');

const TOLD_PER_MINUTE = 20;

/** An IPv4 address that is written as IPv6, as the IPv4 address it is. */
function plainAddress(peer: string): string {
  return peer.replace(/^::ffff:/i, '');
}

const NEVER_STORED = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };

function noRoute(path: string, matches: readonly PathMatch[]): Refusal {
  if (matches.length > 0) {
    const allow = [...new Set(matches.map(({ route }) => route.method))].join(', ');
    return new Refusal(405, `that method is not for this path; it takes ${allow}`, { allow });
  }
  const [first = ''] = path.split('/', 1);
  if (NOT_OFFERED.has(first)) return badRequest(`/v2/${first} is not supported by this server; see ${GUIDE}`);
  return new Refusal(404, `there is no such path below /v2/; ${GUIDE} lists what there is`);
}

function strayed(header: string): Refusal {
  return badRequest(
    `${header} belongs to a message, and this path is not one that takes messages; if a destination holds "..", resolve it before publishing`,
  );
}
