import { postgresOperator } from 'holdfast/postgres';
import { Pool } from 'pg';
import { expect, onTestFinished } from 'vitest';
import type { ServicesHealth } from '../../examples/growth-backend/api/service-health.ts';
import { readBoard } from '../../examples/growth-backend/board.ts';
import type { GivenTrouble } from '../../examples/growth-backend/growth-client.ts';
import type { Growth } from '../../examples/growth-backend/start-growth.ts';
import type { BoardTable, Cell } from '../../examples/local-page/board-state.ts';
import { needs } from '../support/needs.ts';
import { sharedGrowth } from './shared-growth.ts';

/** The example runs once for all of them. */
const theGrowth = sharedGrowth();
const test = needs('postgres', 'redis').extend<{ growth: Growth }>({
  growth: async ({ postgres, redis }, use) => use(await theGrowth({ postgres, redis })),
});

const UP = { kind: 'up', status: 200, attempts: 1 };

function textOf(cell: Cell): string | number {
  return typeof cell === 'object' ? cell.text : cell;
}

/** What `GET /services/health` says of one service once it says something of this kind: an answer is two seconds old at most. */
async function healthOf(growth: Growth, name: keyof ServicesHealth, kind: string): Promise<unknown> {
  let health: ServicesHealth[typeof name] | undefined;
  const look = async (): Promise<string | undefined> => {
    health = (await growth.client.servicesHealth())[name];
    return health.kind;
  };
  await expect.poll(look, { interval: 100 }).toBe(kind);
  return health;
}

test(
  'the growth backend tells services that are up from those that are unavailable and those worth asking again [S0.6]',
  // It starts everything.
  { timeout: 240_000 },
  async ({ growth }) => {
    const all = await growth.client.request('GET', '/services/health', { user: '' });
    expect(all).toMatchObject({ status: 200, body: { services: { interview: UP, agent: UP, git: UP, llm: UP } } });
    const stranger = await fetch(`${growth.client.apiUrl}/services/health`);
    expect(stranger.status).toBe(401);

    const troubled = async (trouble: GivenTrouble, kind: string): Promise<unknown> => {
      await growth.client.trouble('interview', trouble);
      const health = await healthOf(growth, 'interview', kind);
      await growth.client.trouble('interview');
      await healthOf(growth, 'interview', 'up');
      return health;
    };
    expect(await troubled({ kind: 'status', status: 503 }, 'retryable')).toMatchObject({ status: 503 });
    expect(await troubled({ kind: 'status', status: 401 }, 'unavailable')).toMatchObject({ status: 401 });
    expect(await troubled({ kind: 'status', status: 404 }, 'unavailable')).toMatchObject({ status: 404 });
    expect(await troubled({ kind: 'hang' }, 'retryable')).toEqual({ kind: 'retryable', reason: 'ATTEMPT_TIMEOUT' });
    expect(await troubled({ kind: 'slow', ms: 60_000 }, 'retryable')).toEqual({
      kind: 'retryable',
      reason: 'ATTEMPT_TIMEOUT',
    });
    // Slow, but in time.
    await growth.client.trouble('llm', { kind: 'slow', ms: 200 });
    expect(await healthOf(growth, 'llm', 'up')).toEqual(UP);

    growth.freeze('git');
    expect(await healthOf(growth, 'git', 'retryable')).toEqual({ kind: 'retryable', reason: 'ATTEMPT_TIMEOUT' });
    growth.thaw('git');
    await growth.kill('agent');
    expect(await healthOf(growth, 'agent', 'retryable')).toEqual({ kind: 'retryable', reason: 'ECONNREFUSED' });
    await growth.revive('agent');
    expect(await healthOf(growth, 'agent', 'up')).toEqual(UP);
    // Nobody was asked to do anything.
    expect(await growth.client.ledger('interview')).toMatchObject({ asked: 0, requests: [] });
  },
);

test('the page of the growth backend shows how each service is', { timeout: 240_000 }, async ({ growth }) => {
  const pool = new Pool({ connectionString: growth.settings.databaseUrl, max: 2 });
  // The database may go while connections still close.
  pool.on('error', () => undefined);
  onTestFinished(() => pool.end());
  const shown = async (): Promise<unknown> => {
    const board = await readBoard({ growth, operator: postgresOperator({ pool }), commands: [] });
    const services = board.tables.find(({ title }) => title === 'Services it calls') as BoardTable;
    return services.rows.map((row) => row.slice(0, 2).map(textOf).join(' '));
  };
  await growth.client.trouble('llm', { kind: 'status', status: 401 });
  await growth.kill('git');
  await expect.poll(shown, { interval: 100 }).toEqual(['interview up', 'agent up', 'git retryable', 'llm unavailable']);
  await growth.client.trouble('llm');
  await growth.revive('git');
  await expect.poll(shown, { interval: 100 }).toEqual(['interview up', 'agent up', 'git up', 'llm up']);
});
