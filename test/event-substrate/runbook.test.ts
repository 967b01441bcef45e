import { execFile } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test as unit } from 'vitest';
import { type Program, run } from '../agent-chat/process.ts';
import { type PageStep, patternOf, stepsOf } from '../docs/page-steps.ts';
import { freshDatabase } from '../order-service/fresh-database.ts';
import { onPath } from '../support/find-server.ts';
import { needs } from '../support/needs.ts';
import { planted } from '../support/planted.ts';

const test = needs('postgres');
const exec = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
// Ends what waits for ever; judges nothing.
const STEP_MS = 60_000;
const PAGE = readFileSync(join(ROOT, 'docs', 'runbooks', 'event-substrate.md'), 'utf8');

/** A shell in which what one block sets is there in the next, and whose terminals stay open. */
class Reader {
  readonly #env: NodeJS.ProcessEnv;
  readonly #kept: string;
  readonly #terminals = new Map<string, Program>();

  constructor(databaseUrl: string) {
    const tools = toolsFolder();
    this.#kept = join(planted({ kept: '' }), 'kept');
    this.#env = {
      DATABASE_URL: databaseUrl,
      PATH: [tools, dirname(process.execPath), process.env['PATH']].join(delimiter),
      NO_COLOR: '1',
    };
  }

  async do(step: PageStep): Promise<void> {
    switch (step.kind) {
      case 'run':
        return this.#type(step.code, step.output);
      case 'start': {
        const [, file = '', ...args] = step.code.trim().split(' ');
        const program = run(join('../..', file), args, this.#env);
        this.#terminals.set(step.terminal, program);
        await program.until(/is at work/);
        return;
      }
      case 'save':
        throw new Error('this runbook saves no file');
      case 'see':
        await expect
          .poll(() => this.#terminal(step.terminal).output(), { timeout: STEP_MS })
          .toMatch(patternOf(step.output));
        return;
      case 'stop': {
        const program = this.#terminal(step.terminal);
        program.child.kill('SIGINT');
        expect(await program.ended).toBe(0);
        return;
      }
      default:
        step satisfies never;
    }
  }

  async #type(code: string, output: string | undefined): Promise<void> {
    const script = `set -euo pipefail\n. '${this.#kept}'\n${code}\ndeclare -p EVENT WAITS JUNK > '${this.#kept}' 2> /dev/null || true\n`;
    const { stdout } = await exec('bash', ['-c', script], {
      cwd: ROOT,
      env: { ...process.env, ...this.#env },
      timeout: STEP_MS,
    });
    if (output !== undefined) expect(stdout).toMatch(patternOf(output));
  }

  #terminal(name: string): Program {
    const program = this.#terminals.get(name);
    if (program === undefined) throw new Error(`nothing was started in ${name}`);
    return program;
  }
}

/** `npx holdfast` as it is where the package is installed, and a `psql` where the machine has none. */
function toolsFolder(): string {
  const folder = planted({
    npx: `#!/bin/sh\nshift\nexec '${process.execPath}' '${join(ROOT, 'dist', 'cli', 'main.js')}' "$@"\n`,
  });
  chmodSync(join(folder, 'npx'), 0o755);
  if (onPath('psql') === undefined) {
    const standIn = fileURLToPath(new URL('psql-stand-in.ts', import.meta.url));
    writeFileSync(join(folder, 'psql'), `#!/bin/sh\nexec '${process.execPath}' '${standIn}' "$@"\n`, { mode: 0o755 });
  }
  return folder;
}

describe('the runbook of the event substrate', () => {
  test('can be followed command by command, and shows what it says [S4.1] [S4.2] [S4.3] [S4.4] [S4.5] [S4.7] [S4.8] [S4.9]', async ({
    postgres,
  }) => {
    const steps = stepsOf(PAGE);
    expect(steps.filter(({ kind }) => kind === 'run').length).toBeGreaterThan(10);
    const reader = new Reader(await freshDatabase(postgres));
    for (const step of steps) {
      await reader.do(step).catch((error: unknown) => {
        throw new Error(`line ${step.line} of the runbook: ${(error as Error).message}`, { cause: error });
      });
    }
  });

  unit('has no block that nobody runs, and a pattern that does not fit is noticed', () => {
    expect(() => stepsOf('```sh\nls\n```')).toThrow('line 1: nobody can say');
    expect(() => stepsOf('```text\nls\n```')).toThrow('line 1: nobody can say');
    expect(stepsOf('\n```sh run\nls\n```\n\n```text\na…\n```\n')).toEqual([
      { kind: 'run', line: 2, code: 'ls\n', output: 'a…\n' },
    ]);
    expect('id,a\nx-y,b').toMatch(patternOf('id,a\n…,b\n'));
    expect('id,a\nx-y,c').not.toMatch(patternOf('id,a\n…,b\n'));
  });
});
