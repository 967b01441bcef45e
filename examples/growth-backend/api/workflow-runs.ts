import { randomUUID } from 'node:crypto';
import type { DurableCommands, SentCommand } from 'holdfast/commands';
import type { PoolClient } from 'pg';
import { z } from 'zod';
import { correlationOf } from '../correlation.ts';
import { MODULES, type ModuleId, type RunModule, type runModuleCommand } from '../workflow/run-module.ts';

/** What a client may say of a new run. */
export const NewRun = z.object({
  missionId: z.string().min(1).max(80).default('career'),
  missionInstanceId: z.string().min(1).max(80).optional(),
});

/** A run as it is stored. */
export interface WorkflowRun {
  readonly runId: string;
  readonly userId: string;
  readonly orgId: string | null;
  readonly missionId: string;
  readonly missionInstanceId: string;
}

/** Who asks. */
export interface Asking {
  readonly userId: string;
  readonly orgId: string | undefined;
  readonly requestId: string;
  readonly traceId: string | undefined;
}

/** Workflow runs, as the API writes them: it stores what is to be done, and does nothing of it. */
export class WorkflowRuns {
  readonly #commands: DurableCommands<PoolClient, PoolClient>;
  readonly #runModule: ReturnType<typeof runModuleCommand>;

  constructor(commands: DurableCommands<PoolClient, PoolClient>, runModule: ReturnType<typeof runModuleCommand>) {
    this.#commands = commands;
    this.#runModule = runModule;
  }

  /** A run with its modules planned, in the transaction it is given. */
  async create(tx: PoolClient, asking: Asking, input: z.infer<typeof NewRun>): Promise<WorkflowRun> {
    const run: WorkflowRun = {
      runId: `run_${randomUUID()}`,
      userId: asking.userId,
      orgId: asking.orgId ?? null,
      missionId: input.missionId,
      missionInstanceId: input.missionInstanceId ?? `mission_${randomUUID()}`,
    };
    await tx.query(
      `insert into growth.workflow_run (run_id, user_id, org_id, mission_id, mission_instance_id, request_id)
       values ($1, $2, $3, $4, $5, $6)`,
      [run.runId, run.userId, run.orgId, run.missionId, run.missionInstanceId, asking.requestId],
    );
    for (const moduleId of MODULES) {
      const payload = payloadOf(run, moduleId, 'v1');
      await this.#commands.plan(tx, this.#runModule, payload, correlationOf(about(asking, payload)));
    }
    return run;
  }

  /** The run, if it is this user's. */
  async find(tx: Pick<PoolClient, 'query'>, { userId }: Asking, runId: string): Promise<WorkflowRun | undefined> {
    const { rows } = await tx.query<WorkflowRun>(
      `select run_id as "runId", user_id as "userId", org_id as "orgId", mission_id as "missionId",
         mission_instance_id as "missionInstanceId"
       from growth.workflow_run where run_id = $1 and user_id = $2`,
      [runId, userId],
    );
    return rows[0];
  }

  /** Asks for a module to be run, in the transaction it is given. The same again is the same command. `about` is for the log. */
  async enqueue(
    tx: PoolClient,
    asking: Asking,
    run: WorkflowRun,
    moduleId: ModuleId,
    version: string,
  ): Promise<{ readonly command: SentCommand; readonly about: object }> {
    const payload = payloadOf(run, moduleId, version);
    const correlation = correlationOf(about(asking, payload));
    const command = await this.#commands.send(tx, this.#runModule, payload, correlation);
    const idempotencyKey = this.#runModule.key(payload);
    return { command, about: { ...correlation, commandId: command.commandId, idempotencyKey } };
  }
}

function payloadOf({ orgId, ...run }: WorkflowRun, moduleId: ModuleId, version: string): RunModule {
  return { ...run, ...(orgId === null ? {} : { orgId }), moduleId, version };
}

/** What stands in every line about the command, in whichever process. */
function about({ requestId, traceId }: Asking, payload: RunModule): object {
  const { runId, moduleId } = payload;
  return { ...payload, requestId, traceId, actorType: 'workflow-run', actorKey: runId, stageId: moduleId };
}
