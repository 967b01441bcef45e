import { fileURLToPath } from 'node:url';
import type { Client } from 'pg';
import { expect } from 'vitest';
import { event, holdfast } from '../../src/index.ts';
import { postgres } from '../../src/postgres/index.ts';
import type { TestServer } from '../support/needs.ts';
import { runHoldfast, type Said } from './holdfast-process.ts';
import { connect, ownSchema } from './own-schema.ts';
import { runHere } from './run-here.ts';

/** The module `holdfast relay` is given. */
export const EXPENSES_SERVICE: string = fileURLToPath(new URL('expenses-service.ts', import.meta.url));

/** One expense to file: whose, and what the ledger does with it. */
interface Filed {
  readonly employee: string;
  readonly ledger: 'takes' | 'refuses' | 'fails' | 'hangs';
  readonly idempotencyKey?: string;
  readonly deliverAt?: Date;
}

/** `isMended`: the ledger takes everything. */
interface DrainOptions {
  readonly isMended?: boolean;
  readonly handlers?: string;
}

/** The expenses service on a schema of its own, with what a test does to it. */
export interface Expenses {
  readonly schema: string;
  readonly env: NodeJS.ProcessEnv;
  readonly client: Client;
  /** Sends messages in one transaction and gives their ids. */
  file(...filed: readonly Filed[]): Promise<readonly string[]>;
  /** Runs a command on this schema, in this process: a process for each would take most of the test's time. */
  run(...args: readonly string[]): Promise<Said>;
  /** The same with `--json`, and its answer. */
  ask(...args: readonly string[]): Promise<unknown>;
  /** Handles all that is ready, as a process of its own. */
  drain(options?: DrainOptions): Promise<Said>;
}

/** A migrated schema, nothing sent yet. */
export async function openExpenses(server: TestServer): Promise<Expenses> {
  const { schema, env } = ownSchema(server);
  const client = await connect(server);
  const run = (...args: readonly string[]): Promise<Said> => runHere(args, { env });
  expect((await run('migrate')).code).toBe(0);
  const expenseFiled = event<Omit<Filed, 'idempotencyKey' | 'deliverAt'> & { readonly amount: number }>(
    'expense.filed',
    {
      key: (expense) => expense.employee,
    },
  );
  const hf = holdfast({ service: 'expenses', store: postgres({ schema }) });
  return {
    schema,
    env,
    client,
    run,
    ask: async (...args) => {
      const { code, out, err } = await run(...args, '--json');
      expect({ code, err }).toEqual({ code: 0, err: '' });
      return JSON.parse(out) as unknown;
    },
    drain: async ({ isMended = false, handlers } = {}) => {
      const args = [
        'relay',
        '--once',
        '--config',
        EXPENSES_SERVICE,
        ...(handlers === undefined ? [] : ['--handlers', handlers]),
      ];
      const said = await runHoldfast(args, { env: { ...env, ...(isMended && { MENDED: '1' }) } });
      expect(said.code, said.err).toBe(0);
      return said;
    },
    file: async (...filed) => {
      await client.query('begin');
      const ids: string[] = [];
      for (const { idempotencyKey, deliverAt, ...expense } of filed) {
        const sent = await hf.send(client, expenseFiled, { ...expense, amount: 12 }, { idempotencyKey, deliverAt });
        ids.push(sent.id);
      }
      await client.query('commit');
      return ids;
    },
  };
}
