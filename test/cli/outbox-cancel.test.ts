import { describe, expect } from 'vitest';
import { needs } from '../support/needs.ts';
import { openExpenses } from './expenses.ts';

const test = needs('postgres');

function inAnHour(): Date {
  return new Date(Date.now() + 3_600_000);
}

describe('holdfast outbox:cancel', () => {
  test('takes back scheduled messages, with who and why in the audit [S4.1]', async ({ postgres }) => {
    const { file, run, ask } = await openExpenses(postgres);
    const [first = '', second = '', third = ''] = await file(
      { employee: 'ann', ledger: 'takes', deliverAt: inAnHour() },
      { employee: 'bob', ledger: 'takes', deliverAt: inAnHour() },
      { employee: 'cy', ledger: 'takes', deliverAt: inAnHour() },
    );
    const why = ['--reason', 'withdrawn', '--actor', 'ann'];
    expect(await run('outbox:cancel', '--id', first, ...why)).toEqual({
      code: 0,
      out: '1 message taken back; no handler gets it.\n',
      err: '',
    });
    expect(await ask('outbox:cancel', '--id', `${second},${third}`, ...why)).toEqual({
      cancelled: 2,
      results: [
        { id: second, kind: 'cancelled' },
        { id: third, kind: 'cancelled' },
      ],
    });
    expect(await ask('dlq:show', first)).toMatchObject({ deliveries: [{ status: 'cancelled', actor: 'ann' }] });
    expect(await ask('audit', '--message', first)).toMatchObject({
      items: [{ actor: 'ann', verb: 'cancel', reason: 'withdrawn', messageId: first }],
    });
  });

  test('says what to do instead where it is too late, and changes nothing', async ({ postgres }) => {
    const { file, run, client, schema } = await openExpenses(postgres);
    const [ready = '', failed = '', scheduled = ''] = await file(
      { employee: 'ann', ledger: 'takes' },
      { employee: 'bob', ledger: 'takes' },
      { employee: 'cy', ledger: 'takes', deliverAt: inAnHour() },
    );
    await client.query(`update ${schema}.delivery set state = 2, failed_at = now() where id = $1`, [failed]);
    const cancel = async (id: string): Promise<string> => {
      const { code, out, err } = await run('outbox:cancel', '--id', id, '--reason', 'withdrawn');
      expect([code, out]).toEqual([1, '']);
      return err;
    };
    expect(await cancel(ready)).toBe(
      `error: ${ready} is due or was never scheduled, so a worker may have begun it; holdfast dlq:discard --id ${ready} --open --reason <text> gives up what is left of it\n`,
    );
    expect(await cancel(failed)).toBe(
      `error: ${failed} has run and failed; holdfast dlq:discard --id ${failed} --reason <text> gives it up\n`,
    );
    expect(await cancel(`${scheduled}:1`)).toContain('cancelled for all its handlers');
    expect(await cancel('nonsense')).toMatch(/^error: "nonsense" cannot be cancelled: an id is 36 characters/);
    expect(await cancel('0199f2d6-7c1e-7b33-a4a8-2f1f0c9d5b11')).toContain('there is no message 0199f2d6');
    const both = await run('outbox:cancel', '--id', scheduled, '--id', ready, '--reason', 'withdrawn');
    expect(both).toMatchObject({
      code: 1,
      out: expect.stringContaining('1 message'),
      err: expect.stringContaining(ready),
    });
    expect(await cancel(scheduled)).toBe(
      `error: ${scheduled} was cancelled already; holdfast audit --message ${scheduled} tells by whom\n`,
    );
    const left = await client.query<{ id: string }>(`select id from ${schema}.delivery order by id`);
    expect(left.rows.map(({ id }) => id)).toEqual([ready, failed].toSorted());
  });

  test('needs to be told which and why', async ({ postgres }) => {
    const { file, run, ask } = await openExpenses(postgres);
    const [id = ''] = await file({ employee: 'ann', ledger: 'takes', deliverAt: inAnHour() });
    const refused = async (...args: readonly string[]): Promise<string> => {
      const { code, err } = await run('outbox:cancel', ...args);
      expect(code).toBe(2);
      return err;
    };
    expect(await refused()).toBe('error: say which: --id <id>\n');
    expect(await refused('--id', id)).toContain('--reason is missing');
    expect(await refused('--id', id, '--reason', ' ')).toContain('--reason is a string of 1 character; write why');
    expect(await refused(id, '--reason', 'x')).toContain(`did you mean --id ${id}?`);
    expect(await ask('audit')).toEqual({ items: [], next: null });
  });
});
