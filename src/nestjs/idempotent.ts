import { fastifyFramework, type FastifyReplyLike } from '../fastify/fastify-reply.ts';
import { httpGate } from '../idempotency/http/http-gate.ts';
import type { HeaderLine, HttpReply } from '../idempotency/http/http-reply.ts';
import type { RouteOptions } from '../idempotency/http/route-options.ts';
import type { Idempotency } from '../idempotency/idempotency.ts';
import { answerInstead } from '../node-http/answered-response.ts';
import type { Framework } from '../node-http/framework.ts';
import { isGuardedResponse } from '../node-http/guarded-response.ts';
import type { NodeResponse } from '../node-http/node-response.ts';
import { type NodeRequest, nodeRequestFacts } from '../node-http/request-facts.ts';
import { headLines, readHead } from '../node-http/response-head.ts';
import { isGuarded } from '../node-http/run-of.ts';
import { setRun } from '../node-http/set-run.ts';
import { systemEffects } from '../system/effects.ts';

/** What is used of an `ExecutionContext` of Nest. */
export interface NestContext {
  getType(): string;
  switchToHttp(): { getRequest(): unknown; getResponse(): unknown };
}

/** A request of Nest on Express or on Fastify. */
interface NestRequest extends NodeRequest {
  readonly raw?: NodeRequest;
  readonly url: string;
  readonly originalUrl?: string;
  readonly baseUrl?: string;
  readonly body?: unknown;
  readonly route?: { readonly path?: unknown } | undefined;
  readonly routeOptions?: { readonly url?: string | undefined } | undefined;
}

interface NestExpressResponse extends NodeResponse {
  json(body: unknown): unknown;
  send(body?: unknown): unknown;
}

type NestResponse = NestExpressResponse | FastifyReplyLike;

/** An interceptor of Nest. `Stream` is the `Observable` of rxjs. */
export interface IdempotencyInterceptor {
  intercept<Stream>(context: NestContext, next: { handle(): Stream }): Promise<Stream>;
}

/**
 * Guards a route of Nest on Express or on Fastify: `@UseInterceptors(idempotent(idem, { person: (req) => req.user.id }))` on a method or a
 * controller. The handler runs once for each key; a repetition gets the same status, headers and bytes. Guards of Nest come before it,
 * so that `person` may use what they found out. What comes over anything but HTTP is passed on as it is.
 */
export function idempotent<Tx, Request>(
  idempotency: Idempotency<Tx>,
  options: RouteOptions<Request>,
): IdempotencyInterceptor {
  const gate = httpGate('idempotent()', idempotency, options);
  return {
    intercept: async (context, next) => {
      if (context.getType() !== 'http') return next.handle();
      const http = context.switchToHttp();
      const request = http.getRequest() as NestRequest;
      const response = http.getResponse() as NestResponse;
      const res = 'raw' in response ? response.raw : response;
      if (isGuarded(request) || isGuardedResponse(res)) return next.handle();
      const { raw = request, originalUrl = request.url } = request;
      const facts = nodeRequestFacts(raw, originalUrl, routeOf(request), request.body);
      const entry = await gate.enter(request as Request, facts);
      // Nest answers with the values of a stream; a list of them is one, also where no other part of rxjs is at hand.
      if (entry.kind === 'answer') return answered(res, response, entry.reply) as ReturnType<typeof next.handle>;
      const framework = 'raw' in response ? fastifyFramework(request, response) : expressFramework(response);
      setRun(request, res, entry, idempotency, framework);
      return next.handle();
    },
  };
}

/** How Nest answers on Express with what a handler returns. */
function expressFramework(response: NestExpressResponse): Framework {
  return {
    reply: (returned) => {
      if (typeof returned === 'object' && returned !== null) response.json(returned);
      else if (returned !== undefined)
        response.send(typeof returned === 'string' ? returned : JSON.stringify(returned));
    },
    committed: (returned) => {
      // Nest answers with what the handler returns, which has been answered.
      if (returned !== undefined) response.json = response.send = () => response;
    },
  };
}

function routeOf({ baseUrl = '', route, routeOptions }: NestRequest): string | undefined {
  return typeof route?.path === 'string' ? baseUrl + route.path : routeOptions?.url;
}

/**
 * Lets Nest answer with nothing, in place of which the reply goes out: so the interceptors around this one see an end. A handler that
 * takes `@Res()` answers itself, and Nest does not; then nobody has, a little later.
 */
function answered(res: NodeResponse, response: NestResponse, reply: HttpReply): readonly [undefined] {
  answerInstead(res, reply, headersOf(res, response));
  systemEffects.setTimer(() => {
    if (!res.writableEnded) res.end();
  }, 0);
  return [undefined];
}

/** Those that others have set. Fastify keeps them beside the response, and tells of both. */
function headersOf(res: NodeResponse, response: NestResponse): HeaderLine[] {
  if (!('raw' in response)) return headLines(readHead(res));
  return Object.entries(response.getHeaders()).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((one): HeaderLine => [name, String(one)]),
  );
}
