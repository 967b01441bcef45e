import { describe, expect } from 'vitest';
import { aesSealing, event, holdfast } from '../../src/index.ts';
import { postgres as postgresStore } from '../../src/postgres/index.ts';
import { needs } from '../support/needs.ts';
import { openExpenses } from './expenses.ts';
import { runHere } from './run-here.ts';

const test = needs('postgres');

const SECRET = 'a secret of more than 32 characters=';

describe('care for data on the command line', () => {
  test('the audit is verified, by an anchor too; grants are printed for roles that exist in name [X.17]', async ({
    postgres,
  }) => {
    const { client, schema, run, ask } = await openExpenses(postgres);
    expect((await run('audit', 'verify')).out).toBe('The audit is empty.\n');
    await run('pause', '--reason', 'payday');
    await run('resume', '--reason', 'over');
    const whole = await run('audit', 'verify');
    const [, anchor = ''] =
      /: 2 records\. Keep this elsewhere, for --anchor:\n(2:[0-9a-f]{64})\n$/.exec(whole.out) ?? [];
    expect(await run('audit', 'verify', '--anchor', anchor)).toMatchObject({ code: 0 });
    expect(await run('audit', 'verify', '--anchor', anchor.replace(/.$/, 'x'))).toMatchObject({ code: 2 });
    await client.query(`update "${schema}".audit set reason = 'nothing' where id = 1`);
    expect(await run('audit', 'verify')).toMatchObject({
      code: 1,
      out: 'The audit is broken: record 1 (place 1) is not what was written, or not in its place. 0 records before it are whole.\n',
    });

    const { script } = (await ask('migrate', '--grants', 'idempotency=app,sender=app')) as { readonly script: string };
    expect(script).toBe((await run('migrate', '--grants', 'sender=app, idempotency=app')).out);
    expect(script).toContain(`grant select, insert, update, delete on "${schema}".idempotency to "app";`);
    expect(script).not.toMatch(/ on "\w+"\.audit/);
    expect(await run('migrate', '--grants', 'wrker=app')).toMatchObject({
      code: 2,
      err: expect.stringContaining('the roles are sender, commands, worker'),
    });
  });

  test('a sealed payload is shown by whoever has its key, and said to be sealed to others [X.17]', async ({
    postgres,
  }) => {
    const { client, schema, env, run } = await openExpenses(postgres);
    const sealing = aesSealing({ current: '2026', keys: { '2026': SECRET } });
    const hf = holdfast({ service: 'expenses', store: postgresStore({ schema }), sealing });
    await client.query('begin');
    const { id } = await hf.send(client, event<object>('expense.filed'), { employee: 'ann' });
    await client.query('commit');
    expect((await run('dlq:show', id)).out).toContain(
      'sealed under the key "2026"; HOLDFAST_SEALING_KEYS opens it here',
    );
    expect((await run('messages', 'payload.employee:ann')).out).toMatch(
      /^No message fits.*\n\nSome payloads are sealed/,
    );
    const keys = `2027=${SECRET}x,2026=${SECRET}`;
    const shown = await runHere(['dlq:show', id], { env: { ...env, HOLDFAST_SEALING_KEYS: keys } });
    expect(shown.out).toContain('"employee": "ann"');
    expect(await runHere(['dlq:show', id], { env: { ...env, HOLDFAST_SEALING_KEYS: '2026' } })).toMatchObject({
      code: 2,
      err: expect.stringContaining('write name=secret,name=secret'),
    });
  });
});
