import { Pool, type PoolClient } from 'pg';
import { onTestFinished } from 'vitest';
import { event, holdfast, type Holdfast, TerminalHandlerError } from '../../src/index.ts';
import { migrate, postgres } from '../../src/postgres/index.ts';

const stepTaken = event<{ key: string; n: number; isPoison: boolean }>('step.taken', { key: ({ key }) => key });

/** A service whose effects stand in a table that would take a second one. */
export interface Steps {
  readonly hf: Holdfast<PoolClient>;
  readonly pool: Pool;
  /** Sends one in a transaction of its own; true: its commit was answered. */
  send(n: number, isPoison?: boolean): Promise<boolean>;
  /** How many effects each has, by number. */
  effects(): Promise<Readonly<Record<string, number>>>;
}

/** A service on the server at `url`; `isFresh`: our tables and the table of effects are made first. */
export async function openSteps(url: string, isFresh: boolean): Promise<Steps> {
  const pool = new Pool({ connectionString: url, connectionTimeoutMillis: 3_000, query_timeout: 10_000 });
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  onTestFinished(() => pool.end());
  if (isFresh) {
    const client = await pool.connect();
    await migrate(client);
    await client.query('create table effect (key text, n int)');
    client.release();
  }
  const hf = holdfast({ service: 'steps', store: postgres({ pool }) });
  hf.on(
    stepTaken,
    'note',
    async ({ key, n, isPoison }, ctx) => {
      if (isPoison) throw new TerminalHandlerError('poison');
      await ctx.commit(async (tx) => void (await tx.query('insert into effect values ($1, $2)', [key, n])));
    },
    { onDead: 'pass' },
  );
  return {
    hf,
    pool,
    send: (n, isPoison = false) => sendOne(pool, hf, { key: `k${n % 5}`, n, isPoison }),
    effects: async () => {
      const { rows } = await pool.query('select n, count(*)::int as times from effect group by n');
      return Object.fromEntries(rows.map(({ n, times }: { n: number; times: number }) => [n, times]));
    },
  };
}

async function sendOne(
  pool: Pool,
  hf: Holdfast<PoolClient>,
  step: { key: string; n: number; isPoison: boolean },
): Promise<boolean> {
  let tx: PoolClient | undefined;
  try {
    tx = await pool.connect();
    await tx.query('begin');
    await hf.send(tx, stepTaken, step);
    await tx.query('commit');
    tx.release();
    return true;
  } catch {
    tx?.release(true);
    return false;
  }
}
