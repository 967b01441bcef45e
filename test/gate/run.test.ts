import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT, runProgram, type ToolResult } from '../../scripts/run-tool.ts';
import { planted } from '../support/planted.ts';

// One dependency, in a folder of the clone, so that npm needs no registry.
const DEPENDENCIES = { dependencies: { x: 'file:x' } };
const LOCK = {
  name: 'small',
  lockfileVersion: 3,
  requires: true,
  packages: {
    '': { name: 'small', ...DEPENDENCIES },
    'node_modules/x': { resolved: 'x', link: true },
    x: { version: '1.0.0' },
  },
};

/** A clone in which nothing is installed yet, with a task of our own. */
function freshClone(task: string): string {
  const root = planted({
    'package.json': JSON.stringify({ name: 'small', private: true, type: 'module', ...DEPENDENCIES }),
    'package-lock.json': JSON.stringify(LOCK),
    'x/package.json': '{ "name": "x", "version": "1.0.0" }',
    'scripts/start.ts': task,
  });
  cpSync(join(ROOT, 'scripts', 'run.mjs'), join(root, 'scripts', 'run.mjs'));
  return root;
}

function run(root: string, ...args: string[]): Promise<ToolResult> {
  const env = { XDG_CACHE_HOME: join(root, 'cache') };
  return runProgram([process.execPath, join(root, 'scripts', 'run.mjs'), ...args], { cwd: root, env });
}

describe('scripts/run.mjs', () => {
  test('installs what the lock file says, once, and hands arguments and exit code on', async () => {
    const root = freshClone('console.log(process.argv.slice(2).join()); process.exitCode = 7;');
    const code = async (): Promise<[number | null, string]> => {
      const child = spawn(process.execPath, [join(root, 'scripts', 'run.mjs'), 'start', 'a', '--b'], {
        env: { ...process.env, XDG_CACHE_HOME: join(root, 'cache') },
      });
      let output = '';
      child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
      child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
      const [status] = (await once(child, 'close')) as [number | null];
      return [status, output];
    };
    expect(await code()).toEqual([7, expect.stringMatching(/^Installing the development dependencies.*\na,--b\n$/)]);
    expect(await code()).toEqual([7, 'a,--b\n']);
  });

  test('two at once install once', async () => {
    const root = freshClone('console.log("ran");');
    const both = await Promise.all([run(root, 'start'), run(root, 'start')]);
    expect(both.map((one) => one.ok)).toEqual([true, true]);
    const said = both.map((one) => one.output).join('');
    expect(said.match(/Installing/g)).toHaveLength(1);
    expect(said.match(/ran/g)).toHaveLength(2);
  });

  test('installs again when the lock file has changed, and says what to do when that fails', async () => {
    const root = freshClone('console.log("ran");');
    expect((await run(root, 'start')).output).toContain('ran');
    const packages = { ...LOCK.packages, x: { version: '1.0.1' } };
    writeFileSync(join(root, 'package-lock.json'), JSON.stringify({ ...LOCK, packages }));
    writeFileSync(join(root, 'package.json'), 'not JSON');
    const { ok, output } = await run(root, 'start');
    expect(output).toMatch(/^Installing[^]*npm install failed: [^]*JSON[^]*then run the same command again/);
    expect(ok).toBe(false);
  });

  test('an interrupt reaches the task, whose exit code counts', async () => {
    const root = freshClone(
      `process.on('SIGINT', () => { console.log('bye'); process.exit(0); }); console.log('up'); setInterval(() => {}, 1e6);`,
    );
    const child = spawn(process.execPath, [join(root, 'scripts', 'run.mjs'), 'start'], {
      env: { ...process.env, XDG_CACHE_HOME: join(root, 'cache') },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [first] = (await once(child.stdout, 'data')) as [Buffer];
    expect(first.toString()).toBe('up\n');
    child.kill('SIGINT');
    const [second] = (await once(child.stdout, 'data')) as [Buffer];
    expect(second.toString()).toBe('bye\n');
    expect((await once(child, 'close'))[0]).toBe(0);
  });

  test('an unknown task is answered with the known ones', async () => {
    const root = freshClone('');
    const { ok, output } = await run(root, 'strat');
    expect(ok).toBe(false);
    expect(output).toBe('There is no task "strat". Known tasks: bench, build, check, docs, drill, fix, start, test.\n');
    expect(existsSync(join(root, 'node_modules'))).toBe(false);
  });
});
