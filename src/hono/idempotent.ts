import { fetchRun } from '../idempotency/http/fetch-handler.ts';
import { finishWithResponse, toResponse } from '../idempotency/http/fetch-reply.ts';
import { bytesFacts, factsWithBody, fetchRequestFacts } from '../idempotency/http/fetch-request.ts';
import { httpGate } from '../idempotency/http/http-gate.ts';
import type { RequestFacts } from '../idempotency/http/request-facts.ts';
import type { RouteRun } from '../idempotency/http/http-run.ts';
import { MEBIBYTE, type RouteOptions } from '../idempotency/http/route-options.ts';
import { unguardedRun } from '../idempotency/http/unguarded-run.ts';
import type { Idempotency } from '../idempotency/idempotency.ts';
import { HoldfastError } from '../kernel/error.ts';

/** What is used of a context of Hono 4. */
export interface HonoContext {
  readonly req: { readonly raw: Request; readonly routePath?: string; arrayBuffer(): Promise<ArrayBuffer> };
  res: Response;
  readonly finalized?: boolean;
  readonly error?: Error | undefined;
}

// Beside the context, not in its variables: nothing else can be taken for it.
const runs = new WeakMap<Request, RouteRun<unknown, Response>>();
const guarded = new WeakSet<Request>();

/**
 * Guards a route of Hono: `app.post('/orders', idempotent(idem, { person: (c) => c.get('userId') }), handler)`. The handler runs once
 * for each key; a repetition gets the same status, headers and bytes.
 */
export function idempotent<Tx, Context extends HonoContext>(
  idempotency: Idempotency<Tx>,
  options: RouteOptions<Context>,
): (context: Context, next: () => Promise<void>) => Promise<Response | undefined> {
  const gate = httpGate('idempotent()', idempotency, options);
  const maxBytes = options.maxRequestBytes ?? 10 * MEBIBYTE;
  return async (context, next) => {
    const { raw } = context.req;
    if (guarded.has(raw)) {
      // Another guard has let it in: this one would wait for that, and that for this.
      await next();
      return undefined;
    }
    const entry = await gate.enter(context, requestFacts(context, maxBytes), raw.signal);
    if (entry.kind === 'answer') return toResponse(entry.reply);
    const run: RouteRun<Tx, Response> = entry.kind === 'run' ? fetchRun(entry.run) : unguardedRun(idempotency);
    runs.set(raw, run);
    if (entry.kind === 'run') guarded.add(raw);
    // An error of the handler has become the reply of the app's error handler when this resolves.
    try {
      await next();
    } catch (error) {
      // What is thrown and is no Error passes that handler by.
      if (entry.kind === 'run') await entry.run.fail();
      throw error;
    }
    if (entry.kind !== 'run') return undefined;
    if (context.finalized === false) {
      // The handler has returned nothing, and Hono says so itself.
      await entry.run.fail();
      return undefined;
    }
    const reply = await finishWithResponse(entry.run, context.res, raw.signal);
    // Setting it merges the headers of what was there before.
    context.res = undefined as unknown as Response;
    context.res = reply;
    return undefined;
  };
}

function requestFacts({ req }: HonoContext, maxBytes: number): RequestFacts {
  if (!req.raw.bodyUsed) return fetchRequestFacts(req.raw, maxBytes);
  // A validator has read it, and Hono remembers what it has read for whoever asks through it.
  return factsWithBody(req.raw, async () => {
    const bytes = await req.arrayBuffer().catch((error: unknown) => {
      throw new HoldfastError('IDEMPOTENCY_BODY_GONE', {}, { cause: error });
    });
    if (bytes.byteLength > maxBytes) return { kind: 'too-large' };
    return bytesFacts(new Uint8Array(bytes), req.raw.headers.get('content-type') ?? '');
  });
}

/**
 * The run that a context's request belongs to: `return runOf(c).commit(async (tx) => { …; return c.json(…) })`. Throws
 * `IDEMPOTENCY_NO_RUN` where the route is not guarded.
 */
export function runOf<Tx = unknown>(context: HonoContext): RouteRun<Tx, Response> {
  const run = runs.get(context.req.raw);
  if (run === undefined) throw new HoldfastError('IDEMPOTENCY_NO_RUN', {});
  return run as RouteRun<Tx, Response>;
}
