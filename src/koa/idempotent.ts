import { httpGate } from '../idempotency/http/http-gate.ts';
import type { RouteOptions } from '../idempotency/http/route-options.ts';
import type { Idempotency } from '../idempotency/idempotency.ts';
import type { Framework } from '../node-http/framework.ts';
import { isGuardedResponse } from '../node-http/guarded-response.ts';
import type { NodeResponse } from '../node-http/node-response.ts';
import { type NodeRequest, nodeRequestFacts } from '../node-http/request-facts.ts';
import { isGuarded } from '../node-http/run-of.ts';
import { sendReply } from '../node-http/send-reply.ts';
import { setRun } from '../node-http/set-run.ts';

/** What is used of a context of Koa 3. */
export interface KoaContext {
  readonly req: NodeRequest;
  res: NodeResponse;
  readonly originalUrl: string;
  readonly request: object;
  readonly response: object;
  respond?: boolean | undefined;
}

/** What is there besides, where a router or a parser of bodies has put it, and what Koa does not declare. */
interface KoaInside {
  readonly request: { readonly body?: unknown };
  readonly _matchedRoute?: unknown;
  readonly app: { handleRequest(context: unknown, middleware: () => Promise<void>): Promise<void> };
}

/**
 * Guards a route of Koa: `router.post('/orders', idempotent(idem, { person: (ctx) => ctx.state.userId }), handler)`. It stands after the
 * parser of the body and after whatever finds out who asks. The handler runs once for each key; a repetition gets the same
 * status, headers and bytes.
 */
export function idempotent<Tx, Context extends KoaContext>(
  idempotency: Idempotency<Tx>,
  options: RouteOptions<Context>,
): (context: Context, next: () => Promise<unknown>) => Promise<void> {
  const gate = httpGate('idempotent()', idempotency, options);
  return async (context, next) => {
    if (!isGuarded(context) && !isGuardedResponse(context.res)) {
      const { request, _matchedRoute: route } = context as unknown as KoaInside;
      const name = typeof route === 'string' ? route : undefined;
      const facts = nodeRequestFacts(context.req, context.originalUrl, name, request.body);
      const entry = await gate.enter(context, facts);
      if (entry.kind === 'answer') {
        // As it was kept: Koa would give a type to bytes that have none.
        context.respond = false;
        return sendReply(context.res, entry.reply);
      }
      setRun(context, context.res, entry, idempotency, koaFramework(context));
      if (entry.kind === 'run') hideSocket(context);
    }
    await next();
  };
}

/**
 * Koa ends a stream, and sends nothing at all, when the socket of its client has closed: a repetition would find an empty reply. What it
 * sees of a guarded response has no socket, so that the reply is made to its end.
 */
function hideSocket(context: KoaContext): void {
  // The last is where `on-finished` notes what it does when a response is over: before now it has seen the socket.
  const own: Record<string | symbol, unknown> = { socket: null, connection: null, __onFinished: undefined };
  const seen = new Proxy(context.res, {
    get: (target, name) => {
      if (name in own) return own[name];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
    set: (target, name, value) => Reflect.set(name in own ? own : target, name, value),
  });
  Object.assign(context.request, { res: seen });
  Object.assign(context.response, { res: seen });
  context.res = seen;
}

function koaFramework(context: KoaContext): Framework {
  return {
    save: () => {
      const before: Record<string, unknown> = { ...context.response };
      return () => {
        // Status and headers are as they were before; body, and whether a status was chosen, Koa keeps beside them.
        for (const name of Object.keys(context.response))
          if (!(name in before)) Reflect.deleteProperty(context.response, name);
        Object.assign(context.response, before);
      };
    },
    // Koa makes the reply of `ctx.body` when all layers are through. For a reply that is committed that is too late: it is made at once.
    reply: () => respond(context),
  };
}

/** Koa's own way to make a reply of a context is not to be had alone: it follows the layers, here none. */
async function respond(context: KoaContext): Promise<void> {
  const { statusCode } = context.res;
  await (context as unknown as KoaInside).app.handleRequest(context, async () => {
    context.res.statusCode = statusCode;
  });
}
