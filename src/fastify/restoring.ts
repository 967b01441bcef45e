import type { RouteRun } from '../idempotency/http/http-run.ts';
import { RunView } from '../idempotency/run-view.ts';
import type { NodeResponse } from '../node-http/node-response.ts';

/** What is used of a reply of Fastify 5. */
export interface FastifyReplyLike {
  readonly raw: NodeResponse;
  getHeaders(): Readonly<Record<string, unknown>>;
  removeHeader(name: string): unknown;
  code(status: number): unknown;
  header(name: string, value: string | string[]): unknown;
  send(payload?: unknown): unknown;
}

/** Fastify keeps headers beside the response: a transaction that fails must leave those as they were, too. */
export function restoring<Tx>(reply: FastifyReplyLike, run: RouteRun<Tx, void>): RouteRun<Tx, void> {
  const commit: RouteRun<Tx, void>['commit'] = async (work) => {
    const before = { ...reply.getHeaders() };
    try {
      await run.commit(work);
    } catch (error) {
      for (const name of Object.keys(reply.getHeaders())) reply.removeHeader(name);
      for (const [name, value] of Object.entries(before)) reply.header(name, value as string | string[]);
      throw error;
    }
  };
  return new RunView(run, commit);
}
