/// <reference types="node" />
import { DELIVERY_SERVICE } from '../delivery/delivery-request.ts';
import type { Effects } from '../kernel/effects.ts';
import { storeOf } from '../operator/operator-store.ts';
import type { Operator } from '../operator/operator.ts';
import { systemEffects } from '../system/effects.ts';
import { answerRoute, noRoute, type RouteSetting, wrongMethod } from './answer-route.ts';
import { type Caller, forgedWrite, Gate, type Place, sessionCookie } from './authenticate.ts';
import { EVENT_HEADERS, EventHub } from './event-hub.ts';
import { PROMETHEUS_CONTENT_TYPE } from '../telemetry/prometheus-text.ts';
import { metricsText } from './metrics-text.ts';
import { answerNode, isPlainTarget, type NodeRequest, type NodeResponse } from './node-listener.ts';
import { openApi } from './openapi.ts';
import { packageVersion } from './package-version.ts';
import { type Problem, problemResponse, thrownProblem, wrongFields } from './problem.ts';
import { RateLimit } from './rate-limit.ts';
import { readJson } from './read-body.ts';
import { ReadinessCheck } from './readiness.ts';
import { redactedDeliveries } from './redacted-deliveries.ts';
import { redactedOperator } from './redacted-operator.ts';
import { RedactionRules } from './redaction.ts';
import type { Role } from './route.ts';
import { ALL_ROUTES, ROUTES } from './routes/all-routes.ts';
import { withSecurity } from './security-headers.ts';
import { checkServerOptions, type OperatorServerOptions, type RequestFacts } from './server-options.ts';
import { SESSION_SECONDS } from './sessions.ts';
import { StaticFiles } from './static-files.ts';

/** The operator's functions over HTTP. */
export interface OperatorServer {
  /** Answers a request below the base path. Never rejects. */
  readonly fetch: (request: Request, facts?: RequestFacts) => Promise<Response>;
  /** The same for Node's `http`, Express and whatever has Node's request and response. */
  readonly listener: (request: NodeRequest, response: NodeResponse) => void;
  /** Ends live connections and answers nothing new; resolves when all that was asked is answered. May be called again. */
  close(): Promise<void>;
}

interface Facts extends RequestFacts {
  readonly mountedAt?: string | undefined;
}

/** The operator's functions over HTTP, with the console: mount it anywhere. It listens to nothing by itself. */
export function operatorServer(options: OperatorServerOptions): OperatorServer {
  checkServerOptions(options);
  const server = new Server(options);
  return {
    fetch: (request, facts = {}) =>
      server.answer(request, { peer: facts.peer, port: facts.port, httpVersion: facts.httpVersion }),
    listener: (request, response) =>
      void answerNode(request, response, async (one, place) => {
        if (isPlainTarget(request)) return server.answer(one, place);
        return withSecurity(problemResponse(noRoute((request.originalUrl ?? request.url ?? '').replace(/^\//, ''))));
      }),
    close: () => server.close(),
  };
}

class Server {
  readonly #options: OperatorServerOptions;
  readonly #effects: Effects;
  readonly #gate: Gate;
  readonly #hub: EventHub;
  readonly #readiness: ReadinessCheck;
  readonly #files: StaticFiles | undefined;
  readonly #setting: RouteSetting;
  readonly #version: string;
  readonly #running = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(options: OperatorServerOptions) {
    const { operator, effects = systemEffects, consoleFiles = new URL('../console/', import.meta.url) } = options;
    this.#options = options;
    this.#effects = effects;
    this.#gate = new Gate(options, effects);
    this.#hub = new EventHub(operator, effects, { pollMs: options.pollMs ?? 2_000, most: options.maxStreams ?? 100 });
    this.#readiness = new ReadinessCheck(operator, effects, options.isReady);
    this.#files = consoleFiles === false ? undefined : new StaticFiles(consoleFiles);
    this.#version = options.version ?? packageVersion();
    const rules = new RedactionRules(options.redact);
    // Secrets that are known by their place are hidden from those who see all else, too.
    const least = new RedactionRules(undefined);
    const seen = { some: redactedOperator(operator, rules), all: redactedOperator(operator, least) };
    const { deliveries } = options;
    const seenDeliveries = deliveries && {
      some: redactedDeliveries(deliveries, rules),
      all: redactedDeliveries(deliveries, least),
    };
    this.#setting = {
      options,
      operatorFor: (role: Role): Operator => seen[rules.seesAll(role) ? 'all' : 'some'],
      deliveriesFor: (role: Role) => seenDeliveries?.[rules.seesAll(role) ? 'all' : 'some'],
      writes: new RateLimit(effects, options.writesPerMinute ?? 600),
    };
  }

  async answer(request: Request, facts: Facts): Promise<Response> {
    if (this.#isClosed) return withSecurity(problemResponse(CLOSED));
    const answer = this.#within(this.#dispatch(request, facts));
    this.#running.add(answer);
    try {
      return withSecurity(await answer);
    } finally {
      this.#running.delete(answer);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#hub.close();
    await Promise.allSettled(this.#running);
  }

  /** What takes too long, or fails, is answered too. */
  async #within(answer: Promise<Response>): Promise<Response> {
    const { requestTimeoutMs = 30_000, logger } = this.#options;
    let timer: unknown;
    const late = new Promise<Response>((resolve) => {
      timer = this.#effects.setTimer(() => resolve(problemResponse(tooLate(requestTimeoutMs))), requestTimeoutMs);
    });
    try {
      return await Promise.race([answer, late]);
    } catch (error) {
      const problem = thrownProblem(error);
      if (problem.status >= 500) logger?.error({ code: problem.code, err: error }, 'operator server: a request failed');
      return problemResponse(problem);
    } finally {
      this.#effects.clearTimer(timer);
    }
  }

  async #dispatch(request: Request, { mountedAt = '', ...facts }: Facts): Promise<Response> {
    const basePath = (this.#options.basePath ?? mountedAt).replace(/\/+$/, '');
    const place = { ...facts, basePath };
    const path = below(basePath, new URL(request.url).pathname);
    if (path === undefined) return problemResponse(noRoute(new URL(request.url).pathname.slice(1)));
    const isPage = !(NO_PAGES.has(path) || path === 'api' || path.startsWith('api/'));
    const refused = this.#gate.refusalOf(request, isPage);
    if (refused) return problemResponse(refused);
    if (path === 'healthz') return Response.json({ status: 'alive' });
    if (path === 'readyz') return this.#ready();
    if (path === 'api/session') return this.#session(request, place);
    if (path === 'metrics' && isRead(request) && this.#gate.isHere(request, place)) return this.#metrics();
    if (!isPage) {
      const caller = await this.#gate.callerOf(request, place);
      return 'status' in caller ? problemResponse(caller) : this.#known(request, path, caller, place);
    }
    return this.#file(request, place, path);
  }

  async #known(request: Request, path: string, caller: Caller, place: Place): Promise<Response> {
    const isReading = isRead(request);
    switch (path) {
      case 'api/openapi.json':
        return isReading ? Response.json(this.#document(place.basePath)) : problemResponse(wrongMethod(['GET']));
      case 'api/events':
        if (!isReading) return problemResponse(wrongMethod(['GET']));
        if (request.method === 'HEAD') return new Response(null, { headers: EVENT_HEADERS });
        return this.#hub.open(caller.actor, () => this.#isKnown(request, place)) ?? problemResponse(TOO_MANY_STREAMS);
      case 'metrics':
        return isReading ? this.#metrics() : problemResponse(wrongMethod(['GET']));
      case 'mcp':
        return this.#mcp(request, caller);
      default:
        return answerRoute(this.#setting, request, path, caller);
    }
  }

  /** Whoever asked would still be let in. */
  async #isKnown(request: Request, place: Place): Promise<boolean> {
    return !('status' in (await this.#gate.callerOf(request, place)));
  }

  #document(basePath: string): unknown {
    return openApi(this.#version, basePath, this.#options.deliveries === undefined ? ROUTES : ALL_ROUTES);
  }

  async #mcp(request: Request, caller: Caller): Promise<Response> {
    const { mcp, isReadOnly, origins = [] } = this.#options;
    if (mcp === undefined) return problemResponse(noRoute('mcp'));
    const forged = request.method === 'GET' ? undefined : forgedWrite(request, caller, origins);
    if (forged) return problemResponse(forged);
    const role = isReadOnly === true ? 'viewer' : caller.role;
    return mcp(request, { actor: caller.actor, role }, this.#setting.operatorFor(role));
  }

  async #session(request: Request, place: Place): Promise<Response> {
    switch (request.method) {
      case 'GET':
      case 'HEAD': {
        const caller = await this.#gate.callerOf(request, place);
        return 'status' in caller ? problemResponse(caller) : this.#sessionOf(caller);
      }
      case 'POST':
        return this.#login(request, place);
      case 'DELETE': {
        const caller = await this.#gate.callerOf(request, place);
        if ('status' in caller) return problemResponse(caller);
        const forged = forgedWrite(request, caller, this.#options.origins ?? []);
        if (forged) return problemResponse(forged);
        await this.#gate.end(request, caller, place);
        const cookie = sessionCookie(request, place.basePath, '', 0);
        return Response.json({ kind: 'ended' }, { headers: { 'set-cookie': cookie } });
      }
      default:
        return problemResponse(wrongMethod(['GET', 'POST', 'DELETE']));
    }
  }

  async #login(request: Request, place: Place): Promise<Response> {
    if (!this.#gate.mayLook(request, place)) return problemResponse(await this.#refusal(request, place));
    const read = await readJson(request, 10_000);
    if ('status' in read) return problemResponse(read);
    const { token } = read.body;
    if (typeof token !== 'string') {
      const problem = { option: 'token', found: 'missing', write: 'write { "token": "…" }' };
      return problemResponse(wrongFields('login', [problem]));
    }
    const begun = this.#gate.begin(token, place);
    if ('status' in begun) return problemResponse(begun);
    const { holder, session } = begun;
    const cookie = sessionCookie(request, place.basePath, session, SESSION_SECONDS);
    return this.#sessionOf({ ...holder, csrf: this.#gate.csrfOf(session) }, { 'set-cookie': cookie });
  }

  async #sessionOf({ actor, role, csrf }: Caller, headers: Record<string, string> = {}): Promise<Response> {
    const { isReadOnly = false, operator } = this.#options;
    const store = storeOf(operator);
    const isDelivering = await this.#isDelivering();
    return Response.json({ actor, role, csrf, version: this.#version, isReadOnly, isDelivering, store }, { headers });
  }

  /** Some process delivers from this database, or has. While it is away nobody knows. */
  async #isDelivering(): Promise<boolean> {
    const { deliveries, operator } = this.#options;
    if (deliveries === undefined) return false;
    const handlers = await operator.handlers().catch(() => undefined);
    return handlers === undefined || handlers.some(({ service }) => service === DELIVERY_SERVICE);
  }

  async #refusal(request: Request, place: Place): Promise<Problem> {
    const caller = await this.#gate.callerOf(request, place);
    return 'status' in caller ? caller : noRoute('');
  }

  async #ready(): Promise<Response> {
    const { reasons } = await this.#readiness.read();
    if (reasons.length === 0) return Response.json({ status: 'ready' });
    return Response.json({ status: 'not-ready', reasons }, { status: 503 });
  }

  async #metrics(): Promise<Response> {
    const pages = (this.#options.metrics ?? []).map(({ text }) => text());
    // Numbers of this process are worth having while the database is away, too.
    const overview = await this.#options.operator.overview({ range: 'hour' }).catch(() => undefined);
    return new Response(metricsText(pages, overview), { headers: { 'content-type': PROMETHEUS_CONTENT_TYPE } });
  }

  /** The console without the key in the address: what is copied from there, or kept of it, lets nobody in. */
  #opened(request: Request, { basePath }: Place, session: string): Response {
    const cookie = sessionCookie(request, basePath, session, SESSION_SECONDS);
    return new Response(null, { status: 303, headers: { location: `${basePath}/`, 'set-cookie': cookie } });
  }

  async #file(request: Request, place: Place, path: string): Promise<Response> {
    if (!this.#gate.mayLook(request, place)) return problemResponse(await this.#refusal(request, place));
    if (!isRead(request)) return problemResponse(wrongMethod(['GET']));
    const entered = path === '' ? this.#gate.enter(request, place) : undefined;
    if (entered) return 'status' in entered ? problemResponse(entered) : this.#opened(request, place, entered.session);
    return (await this.#files?.find(path, place.basePath)) ?? problemResponse(noRoute(path));
  }
}

function isRead({ method }: Request): boolean {
  return method === 'GET' || method === 'HEAD';
}

const NO_PAGES: ReadonlySet<string> = new Set(['healthz', 'readyz', 'metrics', 'mcp']);

/** The path below where the server is mounted, without a slash in front; nothing where it is elsewhere. */
function below(basePath: string, path: string): string | undefined {
  if (path === basePath) return '';
  return path.startsWith(`${basePath}/`) ? path.slice(basePath.length + 1) : undefined;
}

function tooLate(ms: number): Problem {
  return {
    status: 504,
    code: 'TIMEOUT',
    title: 'That took too long',
    detail: `There was no answer within ${ms} ms. A change may have been made all the same.`,
    next: 'Look whether it was made before you try again.',
  };
}

const CLOSED: Problem = {
  status: 503,
  code: 'SERVER_CLOSED',
  title: 'The server is stopping',
  detail: 'It answers nothing new.',
  next: 'Try again in a moment.',
  headers: { 'retry-after': '5', connection: 'close' },
};

const TOO_MANY_STREAMS: Problem = {
  status: 503,
  code: 'TOO_MANY_STREAMS',
  title: 'Too many live connections',
  detail: 'As many are open as there may be (maxStreams).',
  next: 'Close some, or ask now and then instead.',
  headers: { 'retry-after': '30' },
};
