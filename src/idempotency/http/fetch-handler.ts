import type { Idempotency } from '../idempotency.ts';
import { captureResponse, finishWithResponse, toResponse } from './fetch-reply.ts';
import { fetchRequestFacts } from './fetch-request.ts';
import { httpGate } from './http-gate.ts';
import type { HttpRun, RouteRun } from './http-run.ts';
import { MEBIBYTE, type RouteOptions } from './route-options.ts';
import { unguardedRun } from './unguarded-run.ts';
import { RunView } from '../run-view.ts';

/** A handler of the Fetch standard that is told of its run. What the framework passes besides the request comes after. */
export type FetchHandler<Req extends Request, Tx, Rest extends readonly unknown[]> = (
  request: Req,
  run: RouteRun<Tx, Response>,
  ...rest: Rest
) => Response | Promise<Response>;

/**
 * Guards a handler `(Request) => Response`, such as a route handler of Next: `export const POST = idempotent(idem, options,
 * handler)`. The handler runs once for each key; a repetition gets the same status, headers and bytes.
 */
export function idempotent<Tx, Req extends Request = Request, Rest extends readonly unknown[] = []>(
  idempotency: Idempotency<Tx>,
  options: RouteOptions<Req>,
  handler: FetchHandler<Req, Tx, Rest>,
): (request: Req, ...rest: Rest) => Promise<Response> {
  const gate = httpGate('idempotent()', idempotency, options);
  const maxBytes = options.maxRequestBytes ?? 10 * MEBIBYTE;
  return async (request, ...rest) => {
    const entry = await gate.enter(request, fetchRequestFacts(request, maxBytes), request.signal);
    if (entry.kind === 'answer') return toResponse(entry.reply);
    if (entry.kind === 'pass') return handler(request, unguardedRun(idempotency), ...rest);
    const { run } = entry;
    let response: Response;
    try {
      response = await handler(request, fetchRun(run), ...rest);
    } catch (error) {
      await run.fail();
      throw error;
    }
    return finishWithResponse(run, response, request.signal);
  };
}

/** A run as handlers of the Fetch standard see it. */
export function fetchRun<Tx>(run: HttpRun<Tx>): RouteRun<Tx, Response> {
  const commit: RouteRun<Tx, Response>['commit'] = async (work) => {
    const { send } = await run.commit(
      async (tx) => captureResponse(await work(tx), run.maxReplyBytes),
      async (captured) => captured,
    );
    return send;
  };
  return new RunView(run, commit);
}
