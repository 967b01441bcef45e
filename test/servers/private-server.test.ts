import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { findServer, type ServerSearch } from '../support/find-server.ts';
import { planted } from '../support/planted.ts';
import { freePort, freshFolder, isListening, startPrivate, type PrivateServer } from '../support/private-server.ts';
import type { TestRun } from '../support/service.ts';

async function answers(port: number): Promise<void> {
  if (!(await isListening(port))) throw new Error(`nobody listens on ${port}`);
}

function listener(port: number): [string, ...string[]] {
  return [process.execPath, '--eval', `require('net').createServer().listen(${port}, '127.0.0.1')`];
}

async function listenHere(): Promise<number> {
  const port = await freePort();
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return port;
}

describe('a server of our own', () => {
  test('runs until it is stopped, and takes its folder with it', async () => {
    const port = await freePort();
    const folder = freshFolder('echo');
    const running = await startPrivate({ name: 'echo', folder, server: listener(port), probe: () => answers(port) });
    expect(await isListening(port)).toBe(true);
    await running.stop();
    expect(await isListening(port)).toBe(false);
    expect(existsSync(folder)).toBe(false);
  });

  test('ends with the process that started it, even if that was killed', async () => {
    const port = await freePort();
    const folder = freshFolder('echo');
    const starter = fileURLToPath(new URL('start-and-hang.ts', import.meta.url));
    const child = spawn(process.execPath, [starter, String(port), folder], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    expect(await isListening(port)).toBe(true);
    child.kill('SIGKILL');
    await expect.poll(() => isListening(port)).toBe(false);
    await expect.poll(() => existsSync(folder)).toBe(false);
  });

  test('that cannot start says why, and leaves nothing behind', async () => {
    const folder = freshFolder('echo');
    const broken: PrivateServer = {
      name: 'echo',
      folder,
      before: [['sh', '-c', 'echo the disk is full; exit 3']],
      server: listener(1),
      probe: () => Promise.reject(new Error('not yet')),
    };
    await expect(startPrivate(broken)).rejects.toThrow(/echo did not start: sh ended with code 3\nthe disk is full/);
    expect(existsSync(folder)).toBe(false);
  });
});

describe('looking for a server', () => {
  const started: PrivateServer[] = [];
  const run: TestRun = {
    env: {},
    announce: () => {},
    start: async (server) => {
      started.push(server);
      const running = await startPrivate(server);
      onTestFinished(() => running.stop());
    },
  };

  function search(changes: Partial<ServerSearch> = {}): ServerSearch {
    return {
      name: 'echo',
      variable: 'HOLDFAST_ECHO_URL',
      port: 1,
      localUrls: [],
      probe: (url) => answers(Number(new URL(url).port)),
      compose: { service: 'echo', portVariable: 'HOLDFAST_ECHO_PORT', url: echoUrl },
      own: {
        findProgram: () => 'node',
        install: 'no-such-package',
        plan: (_program, _folder, port) => ({ server: listener(port) }),
        url: echoUrl,
      },
      ...changes,
    };
  }

  const echoUrl = (port: number): string => `echo://127.0.0.1:${port}`;

  test('takes the one named in the environment, and says so if it cannot be used', async () => {
    const given = echoUrl(await listenHere());
    expect(await findServer({ ...run, env: { HOLDFAST_ECHO_URL: given } }, search())).toBe(given);
    await expect(findServer({ ...run, env: { HOLDFAST_ECHO_URL: echoUrl(1) } }, search())).rejects.toThrow(
      'the server named in HOLDFAST_ECHO_URL cannot be used: nobody listens on 1',
    );
  });

  test('takes one that listens on its usual port, unless it cannot be used', async () => {
    const port = await listenHere();
    expect(await findServer(run, search({ port, localUrls: [echoUrl(1), echoUrl(port)] }))).toBe(echoUrl(port));
    started.length = 0;
    vi.stubEnv('PATH', planted({}));
    await findServer(run, search({ port, localUrls: [echoUrl(1)] }));
    expect(started).toHaveLength(1);
  });

  test('starts one with docker compose where an engine runs, and takes it down again', async () => {
    // No engine runs on every machine, so this one only keeps books: what is proven is what we ask docker for.
    const bin = planted({ docker: '#!/bin/sh\necho "$HOLDFAST_ECHO_PORT $*" >> "$0.log"\n' });
    chmodSync(join(bin, 'docker'), 0o755);
    vi.stubEnv('PATH', `${bin}${delimiter}${process.env['PATH']}`);
    const calls = (): string[] => readFileSync(join(bin, 'docker.log'), 'utf8').trimEnd().split('\n');
    const compose = { service: 'echo', portVariable: 'HOLDFAST_ECHO_PORT', url: echoUrl };
    const probe = async (): Promise<void> => {
      if (calls().length < 3) throw new Error('not up yet');
    };
    let stop = async (): Promise<void> => {};
    const start: TestRun['start'] = async (server) => {
      const running = await startPrivate(server);
      stop = () => running.stop();
    };
    expect(await findServer({ ...run, start }, search({ compose, probe }))).toMatch(/^echo:\/\/127\.0\.0\.1:\d+$/);
    await stop();
    expect(calls()).toEqual([
      ' compose version',
      ' info',
      expect.stringMatching(/^\d+ compose -f .*compose\.yaml -p holdfast-echo-\d+ up --detach --wait echo$/),
      expect.stringMatching(/^\d+ compose -f .*compose\.yaml -p holdfast-echo-\d+ down --volumes --timeout 5$/),
    ]);
  });

  test('goes on without docker when its engine cannot start the server', async () => {
    const bin = planted({ docker: '#!/bin/sh\ncase "$*" in *up*) echo no such image; exit 1;; esac\n' });
    chmodSync(join(bin, 'docker'), 0o755);
    vi.stubEnv('PATH', `${bin}${delimiter}${process.env['PATH']}`);
    const said: string[] = [];
    const url = await findServer({ ...run, announce: (line) => said.push(line) }, search());
    expect(await isListening(Number(new URL(url).port))).toBe(true);
    expect(said).toEqual(['Starting echo with docker compose …', expect.stringContaining('no such image')]);
  });

  test('starts one of our own from the program on the machine', async () => {
    vi.stubEnv('PATH', planted({}));
    const url = await findServer(run, search());
    expect(await isListening(Number(new URL(url).port))).toBe(true);
  });
});
