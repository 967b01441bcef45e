import { Buffer } from 'node:buffer';
import { Readable } from 'node:stream';
import { httpGate } from '../idempotency/http/http-gate.ts';
import type { RouteOptions } from '../idempotency/http/route-options.ts';
import type { Idempotency } from '../idempotency/idempotency.ts';
import { isGuardedResponse } from '../node-http/guarded-response.ts';
import { type NodeRequest, nodeRequestFacts } from '../node-http/request-facts.ts';
import { headerValues } from '../node-http/response-head.ts';
import { isGuarded } from '../node-http/run-of.ts';
import { setRun } from '../node-http/set-run.ts';
import { fastifyFramework, type FastifyReplyLike } from './fastify-reply.ts';

/** What is used of a request of Fastify 5. */
export interface FastifyRequestLike {
  readonly raw: NodeRequest;
  readonly url: string;
  readonly body: unknown;
  readonly routeOptions: { readonly url?: string | undefined };
}

/**
 * Guards a route of Fastify: `app.post('/orders', { preHandler: idempotent(idem, { person: (req) => req.user.id }) }, handler)`. The
 * handler runs once for each key; a repetition gets the same status, headers and bytes.
 */
export function idempotent<Tx, Request extends FastifyRequestLike>(
  idempotency: Idempotency<Tx>,
  options: RouteOptions<Request>,
): (request: Request, reply: FastifyReplyLike) => Promise<unknown> {
  const gate = httpGate('idempotent()', idempotency, options);
  return async (request, reply) => {
    if (isGuarded(request) || isGuardedResponse(reply.raw)) return undefined;
    const facts = nodeRequestFacts(request.raw, request.url, request.routeOptions.url, request.body);
    const entry = await gate.enter(request, facts);
    if (entry.kind === 'answer') {
      const { status, headers, body } = entry.reply;
      reply.code(status);
      for (const [name, value] of headerValues(headers)) reply.header(name, value);
      if (body === undefined) return reply.send();
      const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
      if (headers.some(([name]) => name.toLowerCase() === 'content-type')) return reply.send(bytes);
      // To bytes without a type Fastify gives one of its own, which the first reply did not have.
      reply.header('content-length', String(bytes.length));
      return reply.send(Readable.from([bytes], { objectMode: false }));
    }
    setRun(request, reply.raw, entry, idempotency, fastifyFramework(request, reply));
    return undefined;
  };
}
