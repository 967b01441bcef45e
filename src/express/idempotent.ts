import { httpGate } from '../idempotency/http/http-gate.ts';
import type { RouteOptions } from '../idempotency/http/route-options.ts';
import type { Idempotency } from '../idempotency/idempotency.ts';
import { isGuardedResponse } from '../node-http/guarded-response.ts';
import type { NodeResponse } from '../node-http/node-response.ts';
import { type NodeRequest, nodeRequestFacts } from '../node-http/request-facts.ts';
import { isGuarded } from '../node-http/run-of.ts';
import { sendReply } from '../node-http/send-reply.ts';
import { setRun } from '../node-http/set-run.ts';

/** What is used of a request of Express 5. */
export interface ExpressRequest extends NodeRequest {
  readonly originalUrl: string;
  readonly baseUrl: string;
  readonly route?: { readonly path?: unknown } | undefined;
  readonly body?: unknown;
  get(name: string): string | undefined;
}

/** As Express calls it. */
export type ExpressMiddleware<Request> = (
  request: Request,
  response: NodeResponse,
  next: (error?: unknown) => void,
) => void;

/**
 * Guards a route of Express: `app.post('/orders', idempotent(idem, { person: (req) => req.user.id }), handler)`. It stands after the
 * parser of the body and after whatever finds out who asks. The handler runs once for each key; a repetition gets the same
 * status, headers and bytes.
 */
export function idempotent<Tx, Request extends ExpressRequest>(
  idempotency: Idempotency<Tx>,
  options: RouteOptions<Request>,
): ExpressMiddleware<Request> {
  const gate = httpGate('idempotent()', idempotency, options);
  return (request, response, next) => {
    if (isGuarded(request) || isGuardedResponse(response)) return next();
    void enter(request, response, next);
  };
  async function enter(request: Request, response: NodeResponse, next: (error?: unknown) => void): Promise<void> {
    try {
      const facts = nodeRequestFacts(request, request.originalUrl, routeOf(request), request.body);
      const entry = await gate.enter(request, facts);
      if (entry.kind === 'answer') return sendReply(response, entry.reply);
      setRun(request, response, entry, idempotency);
    } catch (error) {
      return next(error);
    }
    next();
  }
}

function routeOf({ baseUrl, route }: ExpressRequest): string | undefined {
  return typeof route?.path === 'string' ? baseUrl + route.path : undefined;
}
