import { describe, expect } from 'vitest';
import { needs } from '../support/needs.ts';
import { openExpenses } from './expenses.ts';
import { startHoldfast, startOnTerminal } from './holdfast-process.ts';

const test = needs('postgres');
// Every sequence a terminal acts upon begins with it.
const ESCAPE = '\u001B';

describe('the outbox on the command line', () => {
  test('tells how much there is to do, once or again and again [S1.8]', async ({ postgres }) => {
    const { env, file, drain, run, ask } = await openExpenses(postgres);
    expect((await run('outbox:stats')).out).toMatch(/^No handler has registered yet\.\n\nNo worker lives/);
    await file({ employee: 'ann', ledger: 'refuses' }, { employee: 'ann', ledger: 'takes' });
    await drain();
    expect(await ask('outbox:stats')).toMatchObject({
      isPaused: false,
      withoutHandler: 0,
      handlers: [
        { service: 'expenses', handler: 'ledger', pending: 1, failed: 1, heldKeys: 1, delivered: 0 },
        { service: 'expenses', handler: 'totals', pending: 0, failed: 0, heldKeys: 0, delivered: 2 },
      ],
    });
    expect(await ask('outbox:stats', '--service', 'payroll')).toMatchObject({ handlers: [] });
    const { out } = await run('outbox:stats');
    expect(out).toMatch(/^expenses\/ledger +1 .* +0 +1 +1 +0 +0 +on$/m);
    expect(out).toContain('1 dead letter; holdfast dlq:list shows them.');

    const watching = startHoldfast(['outbox:stats', '--watch', '--json', '--interval', '10ms'], { env });
    await watching.until(/\n.*\n.*\n/);
    watching.child.kill('SIGINT');
    const said = await watching.ended;
    expect(said.code).toBe(0);
    for (const line of said.out.trimEnd().split('\n')) expect(JSON.parse(line)).toHaveProperty('handlers');
  });

  test('says why a message is not done, and which keys are held', async ({ postgres }) => {
    const { file, drain, run, ask } = await openExpenses(postgres);
    const [failed = '', behind = '', retries = ''] = await file(
      { employee: 'ann', ledger: 'refuses' },
      { employee: 'ann', ledger: 'takes' },
      { employee: 'bob', ledger: 'fails' },
    );
    await drain();
    expect((await run('why', failed)).out).toMatch(/^expenses\/ledger {2}failed\n +It failed for good/);
    // Nobody serves the handler now, which must be dealt with before its place in line.
    expect(await ask('why', behind)).toMatchObject({ deliveries: [{ reason: { kind: 'no-worker' } }, {}] });
    const { out } = await run('why', retries);
    expect(out).toMatch(/^ATTEMPT +EARLIEST +LATEST$/m);
    expect(out).toMatch(/^ +5 /m);
    expect(out).toMatch(/^then it is a dead letter \(attempts\)$/m);
    const keys = await run('keys');
    expect(keys.out).toMatch(new RegExp(`^ann +expenses/ledger +1 +1 +${failed} +failed +TerminalHandlerError`, 'm'));
    expect((await run('keys', '--service', 'payroll')).out).toBe('No key is held. Every key goes on.\n');
    expect(await run('why', 'nonsense')).toMatchObject({ code: 1, err: expect.stringContaining('is not an id') });
  });

  test('pauses, resumes and retires handlers, and everything', async ({ postgres }) => {
    const { file, drain, run, ask } = await openExpenses(postgres);
    await drain();
    expect((await run('handlers', 'pause', 'ledger')).out).toContain('ledger is paused');
    await file({ employee: 'ann', ledger: 'takes' });
    expect((await drain()).out).toContain('drained: 1 handled');
    expect((await run('handlers')).out).toMatch(/^expenses\/ledger +expense\.filed +paused/m);
    expect((await run('handlers', 'retire', 'ledger')).err).toContain('ledger has 1 open and 0 failed deliveries');
    const discard = ['handlers', 'retire', 'ledger', '--discard-open'];
    expect(await run(...discard)).toMatchObject({ code: 1, err: expect.stringContaining('pass --yes') });
    expect((await run(...discard, '--yes')).out).toBe('ledger is retired; 1 delivery given up.\n');
    expect((await run('handlers')).out).toMatch(/^expenses\/ledger +– +retired/m);
    expect((await run('handlers', 'pause', 'lodger')).err).toContain('no handler is named "lodger"');
    expect(await run('handlers', 'stop', 'x')).toMatchObject({
      code: 2,
      err: expect.stringContaining('write pause, resume, retire'),
    });

    expect(await ask('pause', '--reason', 'payday')).toEqual({ kind: 'paused' });
    await file({ employee: 'bob', ledger: 'takes' });
    expect((await drain({ handlers: 'totals' })).out).toContain('drained: 0 handled');
    expect((await run('resume')).out).toBe('Work goes on.\n');
    expect((await drain({ handlers: 'totals' })).out).toContain('drained: 1 handled');
  });
});

describe('a table on a terminal', () => {
  test('is coloured and cut to its width, and nothing a message brought in reaches it', async ({ postgres }) => {
    const { env, file, drain } = await openExpenses(postgres);
    await file({ employee: `${ESCAPE}[2Jann${'x'.repeat(60)}`, ledger: 'refuses' });
    await drain();
    const coloured = startOnTerminal(['dlq:list'], { env }, 90);
    expect((await coloured.ended).code).toBe(0);
    expect(coloured.output()).toContain(`${ESCAPE}[31m`);
    expect(coloured.output()).not.toContain(`${ESCAPE}[2J`);
    const plain = startOnTerminal(['dlq:list'], { env: { ...env, NO_COLOR: '1' } }, 90);
    await plain.ended;
    const lines = plain.output().trimEnd().split(/\r?\n/);
    expect(lines).toHaveLength(2);
    expect(plain.output()).not.toContain(ESCAPE);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(90);
    expect(lines[1]).toContain('…');
  });
});
