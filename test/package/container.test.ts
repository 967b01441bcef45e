import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { pack } from '../../scripts/pack.ts';
import { ROOT, runProgram } from '../../scripts/run-tool.ts';
import { freshSchema } from '../support/fresh-schema.ts';
import { needs } from '../support/needs.ts';

/** The last stage of the Dockerfile, by its words. There is no engine here: what it says is done without one. */
function lastStage(): (word: string) => string {
  const text = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
  const stage = text.slice(text.lastIndexOf('\nFROM ')).split('\n');
  return (word) => {
    const lines = stage.filter((line) => line.startsWith(`${word} `));
    expect(lines, `one ${word} in the last stage`).toHaveLength(1);
    return (lines[0] ?? '').slice(word.length + 1);
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

function sizeOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => statSync(join(folder, name)));
  return files.reduce((sum, file) => sum + (file.isFile() ? file.size : 0), 0);
}

const MIB = 1_048_576;
const NOBODY = 65_534;

needs('postgres')(
  'What the container image is made of installs small, serves without root from a folder it cannot write to, is healthy, and ends in order [X.19]',
  async ({ postgres }) => {
    const last = lastStage();
    expect(last('USER')).toBe('node');
    const app = mkdtempSync(join(realpathSync(tmpdir()), 'holdfast-image-'));
    onTestFinished(() => rmSync(app, { recursive: true, force: true }));
    const packages = join(app, 'package');
    mkdirSync(packages);
    expect(await pack(packages)).toMatchObject({ ok: true });
    const install = last('RUN').replaceAll('/package/', `${packages}/`).split(' ');
    const installed = await runProgram(install, { cwd: app });
    expect(installed.ok, installed.output).toBe(true);
    const modules = join(app, 'node_modules');
    // pg and what it needs; no PostgreSQL, no broker's client, no build tool.
    expect(readdirSync(modules).filter((name) => !/^(?:\.|pg|postgres-|split2$|xtend$|holdfast$)/.test(name))).toEqual(
      [],
    );
    expect(sizeOf(modules) / MIB).toBeLessThan(25);

    const port = await freePort();
    const isRoot = process.getuid?.() === 0;
    if (isRoot) chownSync(app, 0, 0);
    // The Node of this run may lie in a home that is closed to others, and files may be made for their owner alone.
    const node = join(app, 'node');
    copyFileSync(process.execPath, node);
    expect(await runProgram(['chmod', '-R', 'a+rX', app], { cwd: app })).toMatchObject({ ok: true });
    chmodSync(app, 0o555);
    const [, program = '', ...rest] = JSON.parse(last('ENTRYPOINT')) as string[];
    const child = spawn(node, [program, ...rest, ...(JSON.parse(last('CMD')) as string[]), '--port', String(port)], {
      cwd: app,
      ...(isRoot && { uid: NOBODY, gid: NOBODY }),
      env: {
        PATH: process.env['PATH'],
        HOME: '/nonexistent',
        NODE_ENV: 'production',
        DATABASE_URL: postgres.url,
        HOLDFAST_SCHEMA: await freshSchema(postgres),
        HOLDFAST_TOKENS: 'admin:ann=a-secret-of-some-length',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const said: string[] = [];
    child.once('error', (error) => said.push(error.message));
    child.once('exit', (...how) => said.push(`\nended: ${how.join(' ')}`));
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => said.push(text));
    await expect.poll(() => said.join('')).toMatch(/Serving |^ended: |^spawn /m);
    expect(said.join('')).toContain(`Serving http://localhost:${port}/`);
    const [, flag = '', code = ''] = JSON.parse(/CMD (\[.*\])$/.exec(last('HEALTHCHECK'))?.[1] ?? '[]') as string[];
    const healthy = await runProgram([process.execPath, flag, code.replace('4747', String(port))], { cwd: app });
    expect(healthy.ok, said.join('') + healthy.output).toBe(true);
    expect((await fetch(`http://127.0.0.1:${port}/api/overview`)).status).toBe(401);
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    chmodSync(app, 0o755);
  },
);
