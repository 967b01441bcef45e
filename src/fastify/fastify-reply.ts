import { HoldfastError } from '../kernel/error.ts';
import type { Framework } from '../node-http/framework.ts';
import type { NodeResponse } from '../node-http/node-response.ts';
import type { NodeRequest } from '../node-http/request-facts.ts';

/** What is used of a reply of Fastify 5. */
export interface FastifyReplyLike {
  readonly raw: NodeResponse;
  readonly sent: boolean;
  readonly statusCode: number;
  readonly log?: { error(error: unknown): void } | undefined;
  getHeaders(): Readonly<Record<string, unknown>>;
  removeHeader(name: string): unknown;
  code(status: number): unknown;
  header(name: string, value: string | string[]): unknown;
  send(payload?: unknown): unknown;
}

/** How Fastify answers. What `work` returns is the body, as what a handler returns is. */
export function fastifyFramework(request: { readonly raw?: NodeRequest }, reply: FastifyReplyLike): Framework {
  const send = reply.send.bind(reply);
  let hasSent = false;
  let committed: { readonly returned: unknown; readonly status: number } | undefined;
  return {
    // Fastify keeps headers beside the response.
    save: () => {
      const headers = { ...reply.getHeaders() };
      hasSent = false;
      reply.send = (payload) => {
        hasSent = true;
        if (committed === undefined || payload === undefined || payload !== committed.returned) return send(payload);
        // A handler that returns what `commit` gave back answers what has been answered.
        if (reply.statusCode !== committed.status) reply.log?.error(tooLate(committed.status, reply.statusCode));
        return reply;
      };
      return () => {
        hasSent = false;
        for (const name of Object.keys(reply.getHeaders())) reply.removeHeader(name);
        for (const [name, value] of Object.entries(headers)) reply.header(name, value as string | string[]);
      };
    },
    reply: (returned) => {
      if (hasSent || reply.sent) return;
      if (returned === undefined) throw new HoldfastError('IDEMPOTENCY_REPLY_MISSING', { waitedMs: 0 });
      reply.send(returned);
    },
    committed: (returned, status) => (committed = { returned, status }),
    outlive: () => {
      // Where these say that the client is gone, Fastify does not answer for a handler that returns nothing, and destroys what fails.
      const { raw } = request;
      Reflect.set(raw ?? {}, 'aborted', false);
      const socket: object | null = (raw as { readonly socket?: object | null } | undefined)?.socket ?? null;
      const value: unknown = Object.create(socket, { destroyed: { value: false } });
      Object.defineProperty(request, 'socket', { value, configurable: true });
    },
  };
}

function tooLate(status: number, wanted: number): HoldfastError<'IDEMPOTENCY_REPLY_COMMITTED'> {
  return new HoldfastError('IDEMPOTENCY_REPLY_COMMITTED', { status, wanted });
}
