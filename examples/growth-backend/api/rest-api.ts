import { randomUUID, timingSafeEqual } from 'node:crypto';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Logger } from 'holdfast';
import type { DurableCommands } from 'holdfast/commands';
import { idempotent, runOf } from 'holdfast/fastify';
import type { Idempotency } from 'holdfast/idempotency';
import type { FactRecorder } from 'holdfast/postgres';
import type { Pool, PoolClient } from 'pg';
import { z } from 'zod';
import { correlationOf, known } from '../correlation.ts';
import { MODULES } from '../workflow/run-module.ts';
import { sendEvents } from './send-events.ts';
import type { AskServices } from './service-health.ts';
import { type Asking, NewRun, type WorkflowRuns } from './workflow-runs.ts';

/** What the API works with. */
export interface RestApiParts {
  readonly pool: Pool;
  readonly keys: Idempotency<PoolClient>;
  readonly commands: DurableCommands<PoolClient, PoolClient>;
  readonly runs: WorkflowRuns;
  readonly logger: Logger;
  readonly facts: Pick<FactRecorder, 'request'>;
  readonly askServices: AskServices;
  /** What callers must show: `A2A_ALLOWED_KEY`. */
  readonly a2aKey: string;
}

/** Is about no user, changes nothing, and is asked again and again: it is not in the log. */
const HEALTH = '/services/health';

type RunParams = { Params: { readonly runId: string } };
type ModuleParams = { Params: { readonly runId: string; readonly moduleId: string } };

/** What a request turned out to be about, for its line in the log. */
const noted = new WeakMap<FastifyRequest, object>();

const RunRequest = z.object({ version: z.string().min(1).max(40).default('v1') });

/** The routes of workflow runs. None of them runs anything: they store commands, and read what became of them. */
export function restApi(parts: RestApiParts): FastifyInstance {
  const { pool, keys, commands, runs, askServices } = parts;
  const app = fastify({ forceCloseConnections: true, genReqId: ({ headers }) => requestIdOf(headers['x-request-id']) });
  admit(app, parts);
  tell(app, parts);
  const guard = idempotent<PoolClient, FastifyRequest>(keys, {
    person: (request) => askingOf(request).userId,
    // Without a key it runs as it is; a module is known by its command anyway.
    required: false,
    atomic: true,
  });

  app.post('/workflow-runs', { preHandler: guard }, async (request, reply) => {
    const input = NewRun.safeParse(request.body ?? {});
    if (!input.success) return reply.code(400).send({ error: z.prettifyError(input.error) });
    await runOf<PoolClient>(request).commit(async (tx) => {
      const run = await runs.create(tx, askingOf(request), input.data);
      noted.set(request, correlationOf(run));
      void reply.code(201).send({ ...run, modules: MODULES });
    });
    return reply;
  });

  app.post<ModuleParams>(
    '/workflow-runs/:runId/modules/:moduleId/run',
    { preHandler: guard },
    async (request, reply) => {
      const moduleId = MODULES.find((name) => name === request.params.moduleId);
      const input = RunRequest.safeParse(request.body ?? {});
      if (!input.success) return reply.code(400).send({ error: z.prettifyError(input.error) });
      await runOf<PoolClient>(request).commit(async (tx) => {
        const asking = askingOf(request);
        const run = await runs.find(tx, asking, request.params.runId);
        if (run === undefined || moduleId === undefined) return void notFound(reply);
        const { command, about } = await runs.enqueue(tx, asking, run, moduleId, input.data.version);
        noted.set(request, about);
        // Held back until all of it is committed.
        void reply.code(202).send({ ...command, run: `/workflow-runs/${run.runId}` });
      });
      return reply;
    },
  );

  app.get<RunParams>('/workflow-runs/:runId', async (request, reply) => {
    const run = await runs.find(pool, askingOf(request), request.params.runId);
    if (run === undefined) return notFound(reply);
    return { ...run, ...(await commands.run(run.runId)) };
  });

  app.get<RunParams>('/workflow-runs/:runId/events', async (request, reply) => {
    const run = await runs.find(pool, askingOf(request), request.params.runId);
    if (run === undefined) return notFound(reply);
    return sendEvents(commands, run.runId, request, reply);
  });
  app.get(HEALTH, async () => ({ services: await askServices() }));
  return app;
}

/** Lets in who shows the key and says for which user. */
function admit(app: FastifyInstance, { a2aKey }: RestApiParts): void {
  const wanted = Buffer.from(`Bearer ${a2aKey}`);
  app.addHook('onRequest', async (request, reply) => {
    void reply.header('x-request-id', request.id);
    const shown = Buffer.from(request.headers.authorization ?? '');
    if (shown.length !== wanted.length || !timingSafeEqual(shown, wanted))
      return reply.code(401).send({ error: 'show the key: authorization: Bearer <A2A_ALLOWED_KEY>' });
    if (askingOf(request).userId === '' && request.routeOptions.url !== HEALTH)
      return reply.code(400).send({ error: 'say for which user: x-growqr-user: <id>' });
    return undefined;
  });
}

/** One line and one fact for each request, with all that is known of it. */
function tell(app: FastifyInstance, { logger, facts }: RestApiParts): void {
  app.addHook('onResponse', async (request, reply) => {
    if (request.routeOptions.url === HEALTH) return;
    const { runId, moduleId } = (request.params ?? {}) as { readonly runId?: string; readonly moduleId?: string };
    const fields = known({
      ...askingOf(request),
      runId,
      moduleId,
      idempotencyKey: request.headers['idempotency-key'],
      ...noted.get(request),
      operation: `${request.method} ${request.routeOptions.url ?? request.url}`,
      httpStatus: reply.statusCode,
      latencyMs: Math.round(reply.elapsedTime),
    });
    logger.info(fields, 'request answered');
    facts.request(fields);
  });
}

function askingOf({ id, headers }: Pick<FastifyRequest, 'id' | 'headers'>): Asking {
  const { 'x-growqr-user': user, 'x-growqr-org': org, traceparent } = headers;
  const traceId = /^00-([0-9a-f]{32})-/.exec(String(traceparent ?? ''))?.[1];
  return { userId: String(user ?? ''), orgId: org === undefined ? undefined : String(org), requestId: id, traceId };
}

/** The caller's, if it can be one. */
function requestIdOf(given: string | string[] | undefined): string {
  return typeof given === 'string' && /^[\x21-\x7e]{1,120}$/.test(given) ? given : randomUUID();
}

function notFound(reply: FastifyReply): FastifyReply {
  return reply.code(404).send({ error: 'there is no such run or module of this user' });
}
