import { describe, expect } from 'vitest';
import { needs } from '../support/needs.ts';
import { OperatorDatabase } from './operator-database.ts';

const test = needs('postgres');
const NOBODY = '00000000-0000-4000-8000-000000000000';

async function twoHandlers(server: Parameters<typeof OperatorDatabase.open>[0]): Promise<OperatorDatabase> {
  const database = await OperatorDatabase.open(server);
  await database.handler(1, 'mail', 'welcome');
  await database.handler(2, 'growth', 'score', { repeatable: true });
  return database;
}

describe('outbox_replay, from psql', () => {
  test('answers replayed with the count, not_found, and not_failed with the status [S4.4]', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const id = await database.dead({ handler: 1 });
    await database.dead({ id, handler: 2 });
    const ask = async (event: string, generation: number | null): Promise<unknown> =>
      (await database.sql(`select $S.outbox_replay($1, $2, 'sql-direct') as answer`, [event, generation]))[0]?.[
        'answer'
      ];
    expect(await ask(id, 9)).toEqual({ answer: 'replayed', count: 2 });
    expect(await ask(id, 9)).toEqual({ answer: 'not_failed', status: 'waiting' });
    expect(await ask(NOBODY, null)).toEqual({ answer: 'not_found' });
    expect(await database.rows(id)).toMatchObject([
      { generation: '9', failure_history: [{ replayedBy: 'sql-direct' }] },
      { generation: '9', failure_history: [{ handler: 'score', generation: null }] },
    ]);
    expect((await database.operator.audit()).items).toMatchObject([{ actor: 'sql-direct' }, { actor: 'sql-direct' }]);
    expect(await database.pokes()).toBe(2);
  });

  test('wakes a worker that sleeps, and names the database user where no name is given [S4.4] [S4.6]', async ({
    postgres,
  }) => {
    const database = await twoHandlers(postgres);
    const id = await database.dead();
    const listener = await database.connect();
    const woken = new Promise((resolve) => listener.on('notification', resolve));
    await listener.query(`listen "${database.schema}_ready"`);
    await database.sql(`insert into $S.waiter values ($1)`, [NOBODY]);
    await database.sql(`select $S.outbox_replay($1, null, null)`, [id]);
    expect(await woken).toMatchObject({ payload: '' });
    const [user] = await database.sql(`select session_user::text as actor`);
    expect((await database.operator.audit()).items).toMatchObject([{ ...user }]);
  });
});
