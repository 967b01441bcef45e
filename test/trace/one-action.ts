import { expect, onTestFinished } from 'vitest';
import type { PoolClient } from 'pg';
import { command, type DurableCommands, durableCommands } from '../../src/commands/index.ts';
import { type ServiceClient, serviceClient } from '../../src/http/index.ts';
import { event, type Holdfast, TerminalHandlerError } from '../../src/index.ts';
import type { Operator, Trace, TraceEntry } from '../../src/operator/index.ts';
import {
  type FactRecorder,
  factRecorder,
  postgresCommands,
  postgresOperator,
  type SqlTransaction,
} from '../../src/postgres/index.ts';
import { localBroker } from '../../src/testing/index.ts';
import { transportOf } from '../../src/transport/index.ts';
import { startService } from '../http/local-service.ts';
import { type TestService, testService } from '../relay/service.ts';
import type { TestServer } from '../support/needs.ts';

const FAST = { maxAttempts: 3, baseDelayMs: 10, maxDelayMs: 10 };

const orderPlaced = event<{ readonly order: string }>('order.placed', {
  key: ({ order }) => order,
});
const moduleDone = event<{ readonly runId: string }>('module.done');
const runModule = command<{ readonly runId: string; readonly moduleId: string }>('module.run', {
  target: ({ runId }) => runId,
  module: ({ moduleId }) => moduleId,
  key: ({ runId, moduleId }) => `growth:user-1:${runId}:${moduleId}:v1`,
  policy: FAST,
});

/** The ids of one action of one user. */
export interface ActionIds {
  readonly requestId: string;
  readonly userId: string;
  readonly runId: string;
  readonly idempotencyKey: string;
}

/** A shop, a mailer behind a broker, and a growth backend with commands, on one database. */
export interface Stage extends TestService {
  readonly operator: Operator;
  readonly facts: FactRecorder;
  /** Answers a request as the shop's route would, and gives the ids of what it has sent. */
  ask(ids: ActionIds): Promise<{ readonly eventId: string; readonly commandId: string }>;
  /** The timeline of an id, once all facts are written. */
  traceOf(id: string, limit?: number): Promise<Trace>;
  /** Everything fails that can. Else all is well. */
  isBroken: boolean;
}

/** Starts all of it. Only the failures of `isBroken` are dead letters. */
export async function stage(server: TestServer): Promise<Stage> {
  const here = await testService(server);
  const { pool, schema } = here;
  const facts = factRecorder({ service: 'shop', pool, schema });
  onTestFinished(() => facts.stop());
  const agent = await startService((_, response, index) => response.writeHead(index === 0 ? 503 : 200).end('{}'));
  onTestFinished(() => agent[Symbol.asyncDispose]());
  const transport = transportOf(localBroker());
  const [shop, mail] = [here.another({ service: 'shop', transport }), here.another({ service: 'mail', transport })];
  const growth = here.another({ service: 'growth' });
  const commands = durableCommands({ holdfast: growth, store: postgresCommands({ pool, schema }) });
  const client = serviceClient({ baseUrl: agent.url, policy: FAST, onAttempt: facts.call });
  const operator = postgresOperator({ pool, schema });
  const on: Stage = {
    ...here,
    operator,
    facts,
    isBroken: false,
    ask: async ({ requestId, userId, runId, idempotencyKey }) => {
      const sent = await here.inTransaction(async (tx) => {
        const { id } = await shop.send(tx, orderPlaced, { order: runId }, { correlationId: requestId, idempotencyKey });
        const correlation = { requestId, userId, runId };
        const { commandId } = await commands.send(tx, runModule, { runId, moduleId: 'plan' }, correlation);
        return { eventId: id, commandId };
      });
      facts.request({
        operation: 'POST /runs',
        httpStatus: 202,
        latencyMs: 5,
        requestId,
        userId,
        idempotencyKey,
        runId,
      });
      return sent;
    },
    traceOf: async (id, limit) => {
      await expect.poll(() => facts.counts().waiting).toBe(0);
      const answer = await operator.trace(id, { limit });
      if (answer.kind !== 'trace') throw new Error(`${id}: ${JSON.stringify(answer)}`);
      return answer;
    },
  };
  addHandlers(on, { mail, growth, commands, client });
  for (const one of [shop, mail, growth]) await here.start({ of: one, pollMs: 50, observers: [facts.relay] });
  return on;
}

interface Parts {
  readonly mail: Holdfast<PoolClient>;
  readonly growth: Holdfast<PoolClient>;
  readonly commands: DurableCommands<PoolClient, SqlTransaction>;
  readonly client: ServiceClient;
}

function addHandlers(on: Stage, { mail, growth, commands, client }: Parts): void {
  mail.on(orderPlaced, 'letters', () => {
    if (on.isBroken) throw new TerminalHandlerError('no address');
  });
  commands.handle(runModule, async ({ runId }, ctx) => {
    if (on.isBroken && ctx.attempt === 1) throw new Error('the agent sleeps');
    const { idempotencyKey, correlation } = ctx;
    await client.request({ operation: 'agent.run', path: '/run', json: {}, idempotencyKey, logFields: correlation });
    return ctx.commit(async (tx) => {
      await growth.send(tx, moduleDone, { runId }, { correlationId: ctx.correlationId, causationId: ctx.id });
      return { runId };
    });
  });
  for (const name of ['score', 'stats']) {
    growth.on(moduleDone, name, () => {
      if (on.isBroken) throw new TerminalHandlerError(`${name} is closed`);
    });
  }
}

/** A step in one line. */
export function told({ service, step, what, outcome }: TraceEntry): string {
  return [service, step, what, outcome].filter((part) => part !== undefined).join(' ');
}
