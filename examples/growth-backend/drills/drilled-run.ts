import { randomUUID } from 'node:crypto';
import type { LedgerEntry } from '../partners/partner-memory.ts';
import type { PartnerName } from '../settings.ts';
import type { ModuleId } from '../workflow/run-module.ts';
import type { DrilledGrowth } from './growth-stage.ts';

/** A workflow run of a user who is nobody else's, as a client of the API has it. */
export class DrilledRun {
  readonly growth: DrilledGrowth;
  readonly user: string;
  readonly runId: string;

  constructor(growth: DrilledGrowth, user: string, runId: string) {
    this.growth = growth;
    this.user = user;
    this.runId = runId;
  }

  static async create(growth: DrilledGrowth): Promise<DrilledRun> {
    const user = `user_${randomUUID()}`;
    const { status, body } = await growth.client.request('POST', '/workflow-runs', { user });
    if (status !== 201) throw new Error(`the API answered ${status} to POST /workflow-runs`);
    return new DrilledRun(growth, user, String(body['runId']));
  }

  /** Asks for a module; answers the id of the command. */
  async ask(module: ModuleId): Promise<string> {
    const path = `/workflow-runs/${this.runId}/modules/${module}/run`;
    const { status, body } = await this.growth.client.request('POST', path, { user: this.user });
    if (status !== 202) throw new Error(`the API answered ${status} to POST ${path}`);
    return String(body['commandId']);
  }

  async stateOf(module: ModuleId): Promise<string> {
    const { body } = await this.growth.client.request('GET', `/workflow-runs/${this.runId}`, { user: this.user });
    const modules = body['modules'] as readonly { readonly module: string; readonly state: string }[];
    return modules.find((one) => one.module === module)?.state ?? 'nothing';
  }

  /** How many attempts at a module have failed so far, and were to be repeated. */
  async retriesOf(module: ModuleId): Promise<number> {
    const rows = await this.growth.query(
      `select 1 from holdfast.command_event e join holdfast.command c on c.id = e.command
       where c.target = $1 and c.module = $2 and e.to_state = 'retry_wait'`,
      [this.runId, module],
    );
    return rows.length;
  }

  /** What a partner was asked for this run. */
  async askedOf(partner: PartnerName): Promise<readonly LedgerEntry[]> {
    const { requests } = await this.growth.client.ledger(partner);
    return requests.filter(({ idempotencyKey }) => idempotencyKey?.includes(this.runId));
  }

  /** The worker's calls for this run that failed, as its log tells: whether each was worth a retry. */
  failedCalls(operation: string): readonly boolean[] {
    return (
      this.growth
        .lines()
        .filter((line) => line['runId'] === this.runId && line['operation'] === operation)
        // The line of the call itself: what comes of it has another.
        .filter((line) => 'latencyMs' in line && 'retryable' in line)
        .map((line) => line['retryable'] === true)
    );
  }

  /** Dead letters of a command, as `holdfast dlq:list` shows them. */
  async deadLetters(commandId: string): Promise<readonly string[]> {
    const rows = await this.growth.query<{ status: string }>(
      'select status from holdfast.dead_letters where message_id = $1',
      [commandId],
    );
    return rows.map(({ status }) => status);
  }
}
