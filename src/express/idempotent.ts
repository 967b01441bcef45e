import { Buffer } from 'node:buffer';
import { httpGate } from '../idempotency/http/http-gate.ts';
import type { HttpReply } from '../idempotency/http/http-reply.ts';
import type { RouteOptions } from '../idempotency/http/route-options.ts';
import type { Idempotency } from '../idempotency/idempotency.ts';
import { GuardedResponse, isGuardedResponse } from '../node-http/guarded-response.ts';
import type { NodeResponse } from '../node-http/node-response.ts';
import { type NodeRequest, nodeRequestFacts } from '../node-http/request-facts.ts';
import { headerValues } from '../node-http/response-head.ts';
import { isGuarded, setRun } from '../node-http/run-of.ts';
import { unguardedResponse } from '../node-http/unguarded-response.ts';

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
      if (entry.kind === 'answer') return send(response, entry.reply);
      const guarded = entry.kind === 'run' ? new GuardedResponse(response, entry.run, entry.run.header) : undefined;
      setRun(request, guarded?.routeRun() ?? unguardedResponse(response, idempotency), guarded !== undefined);
    } catch (error) {
      return next(error);
    }
    next();
  }
}

function routeOf({ baseUrl, route }: ExpressRequest): string | undefined {
  return typeof route?.path === 'string' ? baseUrl + route.path : undefined;
}

function send(response: NodeResponse, { status, headers, body }: HttpReply): void {
  response.statusCode = status;
  for (const [name, value] of headerValues(headers)) response.setHeader(name, value);
  if (body === undefined) response.end();
  else response.end(Buffer.from(body.buffer, body.byteOffset, body.byteLength));
}
