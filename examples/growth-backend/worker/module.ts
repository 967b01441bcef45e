import type { Holdfast } from 'holdfast';
import type { CommandContext } from 'holdfast/commands';
import type { Pool, PoolClient } from 'pg';
import type { RunModule } from '../workflow/run-module.ts';
import type { Clients } from './clients.ts';

/** What modules work with. */
interface ModuleTools {
  readonly hf: Holdfast<PoolClient>;
  readonly pool: Pool;
  readonly clients: Clients;
}

/** Runs one module of a workflow run: calls first, each with the command's key, then one commit. Its answer is the command's. */
export type Module = (payload: RunModule, ctx: CommandContext<PoolClient>, tools: ModuleTools) => Promise<unknown>;
