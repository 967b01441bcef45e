import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Said, startHoldfast } from '../cli/holdfast-process.ts';
import { runHere } from '../cli/run-here.ts';

const CONFIG = fileURLToPath(new URL('small.config.ts', import.meta.url));

/** `holdfast drill …` in this process, without a terminal. */
function drill(...args: string[]): Promise<Said> {
  return runHere(['drill', ...args, '--config', CONFIG], { env: {} });
}

describe('holdfast drill', () => {
  test('without a name lists the built-in drills and those of a module, and runs none [S0.13]', async () => {
    const { code, out } = await drill();
    expect(code).toBe(0);
    const [head, chaos, load, soak, ...rest] = out.split('\n');
    expect([head, chaos, load, soak].map((line) => line?.split(' ')[0])).toEqual(['DRILL', 'chaos', 'load', 'soak']);
    expect(rest.join('\n')).toBe(`held     Something breaks, and all is well.
missed   Something is meant to break, and does not.
endless  It waits for what never comes.

holdfast drill <name> runs one, holdfast drill --all runs all of the module.
`);
    const listed = JSON.parse((await drill('--json')).out) as { drills: object[] };
    expect(listed.drills[3]).toEqual({ name: 'held', about: 'Something breaks, and all is well.', isBuiltIn: false });
  });

  test('prints a ledger: what was injected and how often it hit, what was expected, what was seen, whether it held [S0.13] [X.11]', async () => {
    const { code, out } = await drill('held');
    expect(code).toBe(0);
    expect(out.replace(/after \d+ m?s/, 'after 1 ms')).toBe(`held  Something breaks, and all is well.

INJECTED              HITS
a service is stopped     3

CHECKED  EXPECTED  SEEN     HELD
state    blocked   blocked  yes
rows     1         1        yes

Held, after 1 ms.

`);
  });

  test('ends with exit code 1 where it does not hold, or where what it injected never hit [S0.13] [X.11]', async () => {
    const { code, out } = await drill('missed');
    expect(code).toBe(1);
    expect(out).toMatch(/^state +blocked +done +no$/m);
    expect(out).toMatch(/^state:\n {2}expected {2}blocked\n {2}seen {6}done$/m);
    expect(out).toContain('Did not hold: one thing is not as expected, after');
    const all = await drill('--all', '--json', '--wait', '1s');
    const { held, drills } = JSON.parse(all.out) as { held: boolean; drills: { name: string; held: boolean }[] };
    expect([all.code, held, drills.map((one) => one.held)]).toEqual([1, false, [true, false, false]]);
  });

  test.each([
    [['helt'], 2, 'there is no drill "helt"; did you mean held?'],
    [['held', '--all'], 2, 'drill takes a name or --all, not both'],
    [['held', '--wait', 'long'], 2, '--wait is "long"; write a time such as 30s, 15m, 2h or 7d'],
  ])('called as %j ends with exit code %i and says why [S0.13]', async (args, code, said) => {
    expect(await drill(...args)).toMatchObject({ code, out: '', err: `error: ${said}\n` });
  });

  test('names the built-in ones to who misspells one where there is no module [S0.13]', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-drill-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const { code, err } = await startHoldfast(['drill', 'sok'], { cwd: folder }).ended;
    expect([code, err]).toEqual([2, 'error: there is no drill "sok"; did you mean soak?\n']);
  });

  test('says where a module has none [S0.13]', async () => {
    const none = fileURLToPath(new URL('../../examples/growth-backend/holdfast.config.ts', import.meta.url));
    const env = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none', REDIS_URL: 'redis://127.0.0.1:1' };
    const running = startHoldfast(['drill', '--config', none], { env });
    const { code, err } = await running.ended;
    expect(code).toBe(1);
    expect(err).toContain('exports no drills; write export const drills');
  });

  test('puts right what it broke and closes what it opened when it is stopped [S0.13]', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-drill-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const told = join(folder, 'told');
    const running = startHoldfast(['drill', 'endless', '--config', CONFIG], { env: { TOLD: told } });
    await running.until(/waiting/);
    running.child.kill('SIGINT');
    const { code, out, err } = await running.ended;
    expect(await readFile(told, 'utf8')).toBe('opened\nput right\nclosed\n');
    expect(code).toBe(1);
    expect(err).toContain('SIGINT: stopping');
    expect(out).toContain('Did not hold: it was stopped');
  });
});
