import { expect } from 'vitest';
import type { ApiAnswer, ApiRequest } from '../../examples/growth-backend/growth-client.ts';
import type { LedgerEntry } from '../../examples/growth-backend/partners/partner-memory.ts';
import type { PartnerName } from '../../examples/growth-backend/settings.ts';
import type { Growth } from '../../examples/growth-backend/start-growth.ts';
import type { ModuleId } from '../../examples/growth-backend/workflow/run-module.ts';

interface Shown {
  readonly runId: string;
  readonly missionInstanceId: string;
}

/** One workflow run of the example, as a client of the API has it. */
export class ARun {
  readonly growth: Growth;
  readonly user: string;
  readonly runId: string;
  readonly missionInstanceId: string;

  constructor(growth: Growth, user: string, { runId, missionInstanceId }: Shown) {
    this.growth = growth;
    this.user = user;
    this.runId = runId;
    this.missionInstanceId = missionInstanceId;
  }

  static async create(growth: Growth, user: string): Promise<ARun> {
    const { status, body } = await growth.client.request('POST', '/workflow-runs', { user });
    expect(status).toBe(201);
    return new ARun(growth, user, body as unknown as Shown);
  }

  /** `POST /workflow-runs/:runId/modules/:moduleId/run` */
  ask(module: ModuleId, request: ApiRequest = {}): Promise<ApiAnswer> {
    const path = `/workflow-runs/${this.runId}/modules/${module}/run`;
    return this.growth.client.request('POST', path, { user: this.user, ...request });
  }

  keyOf(module: ModuleId): string {
    return `workflow:${this.user}:${this.runId}:module:${module}:v1`;
  }

  /** The states of its modules, as `GET /workflow-runs/:runId` has them. */
  async states(): Promise<Readonly<Record<string, string>>> {
    const { body } = await this.growth.client.request('GET', `/workflow-runs/${this.runId}`, { user: this.user });
    const modules = body['modules'] as readonly { readonly module: string; readonly state: string }[];
    return Object.fromEntries(modules.map(({ module, state }) => [module, state]));
  }

  until(module: ModuleId, state: string): Promise<void> {
    return expect.poll(async () => (await this.states())[module]).toBe(state);
  }

  /** What a partner was asked for a module of it, told by the key on the wire. */
  async askedOf(partner: PartnerName, module: ModuleId): Promise<readonly LedgerEntry[]> {
    const { requests } = await this.growth.client.ledger(partner);
    return requests.filter(({ headers }) => headers['idempotency-key'] === this.keyOf(module));
  }

  /** Where each command of it has been, in order: `from > to` with the attempt. */
  async steps(module: ModuleId): Promise<readonly string[]> {
    const rows = await this.growth.query<{ step: string }>(
      `select coalesce(e.from_state || ' > ', '') || e.to_state || ' ' || e.attempt as step
       from holdfast.command_event e join holdfast.command c on c.id = e.command
       where c.target = $1 and c.module = $2 order by e.n`,
      [this.runId, module],
    );
    return rows.map(({ step }) => step);
  }
}
