import { execFileSync } from 'node:child_process';
import { describe, expect } from 'vitest';
import { completionScript } from '../../src/cli/completion-script.ts';
import { COMMANDS } from '../../src/cli/all-commands.ts';
import { needs } from '../support/needs.ts';
import { openExpenses } from './expenses.ts';
import { runHoldfast, startOnTerminal } from './holdfast-process.ts';

const test = needs('postgres');

interface Listed {
  readonly items: readonly { readonly id: string; readonly tab: string }[];
}

describe('what an operator sees on the command line', () => {
  test('messages are searched by the query language, and nothing is cut in a pipe [X.5]', async ({ postgres }) => {
    const { env, file, drain, run, ask } = await openExpenses(postgres);
    const employee = `a person with a name that is longer than any terminal would like ${'x'.repeat(80)}`;
    const [failed = '', waits = ''] = await file(
      { employee, ledger: 'refuses' },
      { employee: 'bob', ledger: 'fails' },
      { employee: 'cy', ledger: 'takes' },
    );
    await drain();
    const found = async (...words: readonly string[]): Promise<readonly string[]> =>
      ((await ask('messages', ...words)) as Listed).items.map((one) => one.id);
    expect(await found('status:failed')).toEqual([failed]);
    expect(await found('status:retrying', 'handler:ledger', 'type:expense.*')).toEqual([waits]);
    expect(await found(`key:${employee}`, 'error:NO ACCOUNT', 'since:1h')).toEqual([failed]);
    expect(await found('payload.ledger:refuses', 'payload.amount:12')).toEqual([failed]);
    expect(await found('payload.amount:"12"')).toEqual([]);
    expect(await found()).toHaveLength(3);
    expect(await found(failed)).toEqual([failed]);
    expect(await ask('messages', '--limit', '1')).toMatchObject({ next: expect.any(String) });
    expect(await ask('messages', '--tabs')).toMatchObject({
      tabs: expect.arrayContaining([{ tab: 'failed', count: 1, precision: 'exact' }]),
    });
    expect((await run('messages', 'status:cancelled')).out).toContain('No message fits status:cancelled.');
    expect(await run('messages', 'typ:x')).toMatchObject({
      code: 2,
      err: expect.stringContaining('did you mean type:?'),
    });

    const piped = await runHoldfast(['messages', 'status:failed'], { env });
    expect(piped.out).toContain(employee);
    expect(Math.max(...piped.out.split('\n').map((line) => line.length))).toBeGreaterThan(200);
    expect(piped.out).not.toContain('…');
  });

  test('the overview, the breakers, the kept lists and the system are shown, and limits are set [X.10]', async ({
    postgres,
  }) => {
    const { file, drain, run, ask } = await openExpenses(postgres);
    await file({ employee: 'ann', ledger: 'refuses' }, { employee: 'bob', ledger: 'takes' });
    await drain();
    const overview = await run('overview');
    expect(overview).toMatchObject({ code: 0, out: expect.stringMatching(/things? needs? you/) });
    expect(overview.out).toMatch(/^expenses\/ledger +0 +– +0 +1 /m);
    expect(await ask('overview', '--range', 'day')).toMatchObject({ range: 'day', handlers: [{}, {}] });
    expect(await run('overview', '--range', 'dya')).toMatchObject({
      code: 2,
      err: expect.stringContaining('did you mean day?'),
    });

    expect((await run('breakers')).out).toMatch(/^expenses\/ledger +closed/m);
    expect((await run('breakers', 'open', 'ledger', '--reason', 'bank is down')).out).toContain(
      'expenses/ledger is open.',
    );
    expect((await run('breakers', 'open', 'ledger')).out).toContain('is open already');
    expect(await ask('breakers', 'close', 'expenses/ledger')).toMatchObject({
      kind: 'changed',
      breaker: { state: 'closed' },
    });
    expect(await run('breakers', 'open', 'lodger')).toMatchObject({
      code: 1,
      err: expect.stringContaining('known are'),
    });
    expect(await run('breakers', 'opne', 'x')).toMatchObject({
      code: 2,
      err: expect.stringContaining('did you mean open?'),
    });

    expect((await run('handlers', 'limit', 'ledger', '2', '--reason', 'gently')).out).toBe(
      'ledger runs at most 2 at once in each process.\n',
    );
    expect(await ask('handlers')).toMatchObject({ handlers: [{ handler: 'ledger', limit: 2 }, { limit: null }] });
    expect((await run('handlers', 'limit', 'ledger', 'off')).out).toContain('as its code says');
    expect(await run('handlers', 'limit', 'ledger', 'two')).toMatchObject({ code: 2 });
    expect(await run('handlers', 'pause', 'ledger', '2')).toMatchObject({ code: 2 });

    for (const list of ['idempotency', 'commands', 'calls']) {
      expect(await ask(list)).toMatchObject({ items: [] });
      expect(await run(list), list).toMatchObject({ code: 0, out: expect.stringMatching(/^No .*\n$/) });
    }
    expect(await run('calls', '--failed', '--ok')).toMatchObject({ code: 2 });
    const system = await run('system');
    expect(system.out).toMatch(/^holdfast +0\.0\.0$/m);
    expect(system.out).toMatch(/^delivery +/m);
    expect(await ask('system')).toMatchObject({ isPaused: false, workers: [], tables: expect.any(Array) });
    expect(await ask('audit')).toMatchObject({
      items: [
        { verb: 'limit' },
        { verb: 'limit', reason: 'gently' },
        { verb: 'close-breaker' },
        { verb: 'open-breaker', reason: 'bank is down' },
      ],
    });
  });
});

describe('dead letters by cause', () => {
  test('are resolved, planned, replayed and watched; Ctrl-C leaves them running and says so [X.5]', async ({
    postgres,
  }) => {
    const { env, file, drain, run, ask } = await openExpenses(postgres);
    await file(
      { employee: 'ann', ledger: 'refuses' },
      { employee: 'bob', ledger: 'refuses' },
      { employee: 'cy', ledger: 'refuses' },
    );
    await drain();
    const { items } = (await ask('groups', '--pending')) as { items: { id: string; pending: number; state: string }[] };
    expect(items).toMatchObject([{ pending: 3, state: 'open' }]);
    const group = items[0]?.id ?? '';
    expect((await run('groups', 'show', group)).out).toMatch(/^wait +3 dead letters of 3 in all$/m);
    expect((await run('groups', 'ignore', group)).out).toContain('is ignored.');
    expect((await run('groups', 'reopen', group)).out).toContain('is open.');
    expect((await run('groups', 'resolve', group, '--reason', 'account opened')).out).toContain(
      '3 dead letters of it still wait',
    );
    expect(await run('groups', 'show', '1-none')).toMatchObject({
      code: 1,
      err: expect.stringContaining('holdfast groups lists them'),
    });
    expect((await run('groups', '--state', 'open')).out).toContain('No error groups.');

    expect(await run('bulk', 'plan', 'replay')).toMatchObject({ code: 2, err: expect.stringContaining('say which') });
    expect(await run('bulk', 'plan', 'replya', '--group', group)).toMatchObject({
      code: 2,
      err: expect.stringContaining('did you mean replay?'),
    });
    const planned = (await ask('bulk', 'plan', 'replay', '--group', group, '--canary', '1', '--rate', '100')) as {
      bulk: { id: string };
    };
    expect(planned).toMatchObject({
      bulk: { total: 3, canary: 1, perSecond: 100, state: 'planned' },
      sample: [{}, {}, {}],
    });
    const { id } = planned.bulk;
    expect(await run('bulk', 'watch', id)).toMatchObject({ code: 1, out: expect.stringContaining('It has not begun') });
    expect(await run('bulk', 'start', id, '--group', group)).toMatchObject({
      code: 2,
      err: expect.stringContaining('is frozen'),
    });

    // A person says yes, sees a bar, and has seen enough.
    const watching = startOnTerminal(['bulk', 'start', id, '--watch', '--reason', 'account opened'], { env });
    await watching.until(/Replay 3 dead letters\? \[y\/N\]/);
    watching.child.stdin?.write('y\n');
    await watching.until(/░.* 0 % {2}canary, 0 of 3 ended/);
    watching.child.stdin?.write('\u0003');
    const left = await watching.ended;
    expect(left.code).toBe(130);
    expect(left.out).toContain(`No longer watching; ${id} goes on (0 of 3 ended).`);
    expect(await ask('bulk', 'show', id)).toMatchObject({
      bulk: { state: 'canary', counts: { selected: 2, started: 1 } },
    });

    // Each run of the service handles what was started so far; the watcher carries it on.
    await drain({ isMended: true });
    expect((await run('bulk', 'pause', id)).out).toContain('is paused');
    expect(await run('bulk', 'watch', id)).toMatchObject({
      code: 1,
      out: expect.stringContaining(`holdfast bulk resume ${id}`),
    });
    expect(await run('bulk', 'start', id, '--yes')).toMatchObject({ code: 1 });
    let isOver = false;
    const watched = run('bulk', 'resume', id, '--watch', '--interval', '50ms').finally(() => (isOver = true));
    while (!isOver) await drain({ isMended: true });
    expect(await watched).toMatchObject({ code: 0, out: expect.stringContaining('3 of 3 ended: 3 succeeded') });
    expect((await run('bulk')).out).toContain('done');
    expect(await ask('audit', '--verb', 'start-bulk')).toMatchObject({ items: [{ reason: 'account opened' }] });
  });

  test('are given up in bulk only when that is meant, and keys go on by hand [X.4] [X.5]', async ({ postgres }) => {
    const { file, drain, run, ask } = await openExpenses(postgres);
    const [ann = '', , bob = '', , cy = ''] = await file(
      { employee: 'ann', ledger: 'refuses' },
      { employee: 'ann', ledger: 'takes' },
      { employee: 'bob', ledger: 'refuses' },
      { employee: 'bob', ledger: 'takes' },
      { employee: 'cy', ledger: 'refuses' },
      { employee: 'di', ledger: 'refuses' },
    );
    await drain();
    expect(await run('keys', 'release', 'ann')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--handler is missing'),
    });
    expect(await ask('keys', 'release', 'ann', '--handler', 'ledger')).toMatchObject({ kind: 'released' });
    expect(await run('keys', 'skip', 'bob', '--handler', 'ledger', '--reason', 'x')).toMatchObject({
      code: 1,
      err: expect.stringContaining('pass --yes'),
    });
    expect(await ask('keys', 'skip', 'bob', '--handler', 'ledger', '--reason', 'by hand', '--yes')).toMatchObject({
      kind: 'skipped',
      messageId: bob,
    });
    expect(await run('keys', 'skip', 'bob', '--handler', 'ledger', '--reason', 'x', '--yes')).toMatchObject({
      code: 1,
      err: expect.stringContaining('nothing of the key "bob" has failed'),
    });
    expect((await run('keys', 'replay', 'cy', '--handler', 'ledger')).out).toContain(
      '1 delivery of the key will run again',
    );
    expect(await run('keys', 'relase', 'cy')).toMatchObject({
      code: 2,
      err: expect.stringContaining('did you mean release?'),
    });
    const { items } = (await ask('keys')) as { items: { key: string }[] };
    expect(items.map((one) => one.key)).toContain('di');
    expect(items.map((one) => one.key)).not.toContain('bob');

    const planned = (await ask('bulk', 'plan', 'discard', '--handler', 'ledger')) as {
      bulk: { id: string; total: number };
    };
    const { id, total } = planned.bulk;
    expect(total).toBe(2);
    expect(await run('bulk', 'start', id, '--reason', 'x')).toMatchObject({
      code: 1,
      err: expect.stringContaining('pass --yes'),
    });
    expect(await run('bulk', 'start', id, '--yes')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--reason is missing'),
    });
    expect(await run('bulk', 'start', id, '--reason', 'test data', '--yes', '--watch')).toMatchObject({
      code: 0,
      out: expect.stringContaining('2 of 2 ended: 2 discarded'),
    });
    expect(await ask('bulk', 'show', id, '--outcome', 'discarded')).toMatchObject({ items: [{ messageId: ann }, {}] });
    expect(await ask('messages', 'status:discarded')).toMatchObject({ items: [{}, {}, {}] });
    expect(await run('bulk', 'show', cy)).toMatchObject({
      code: 1,
      err: expect.stringContaining('holdfast bulk lists them'),
    });

    // Whatever is left, through the short way.
    expect(
      (await run('dlq:replay', '--handler', 'ledger', '--canary', '1', '--rate', '50/s', '--dry-run')).out,
    ).toContain('No dead letter fits.');
    expect(await run('dlq:replay', '--id', cy, '--rate', '5')).toMatchObject({ code: 2 });
  });
});

describe('completion', () => {
  test('of bash knows commands with a colon, verbs and options', async () => {
    const script = completionScript('bash', COMMANDS);
    const complete = (line: string): string =>
      execFileSync(
        'bash',
        [
          '-c',
          `${script}\nCOMP_LINE="$1"; COMP_POINT=\${#1}; _holdfast; printf '%s ' "\${COMPREPLY[@]}"`,
          'bash',
          line,
        ],
        {
          encoding: 'utf8',
        },
      ).trim();
    expect(complete('holdfast dlq:re')).toBe('replay');
    expect(complete('holdfast tr')).toBe('trace');
    expect(complete('holdfast handlers re')).toBe('resume retire');
    expect(complete('holdfast --json bulk plan --can')).toBe('--canary');
    expect(complete('holdfast dlq:list --sch')).toBe('--schema');
  });
});
