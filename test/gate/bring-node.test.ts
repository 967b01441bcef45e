import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ROOT, runProgram, type ToolResult } from '../../scripts/run-tool.ts';
import { planted } from '../support/planted.ts';

const SCRIPT = readFileSync(join(ROOT, 'scripts', 'run.mjs'), 'utf8');
const VERSION = /NODE_TO_BRING = '([\d.]+)'/.exec(SCRIPT)?.[1] ?? '';
const PLATFORM = `${process.platform}-${process.arch}`;
const NAME = `node-${PLATFORM}`;

/** The package as it would be fetched; its `node` writes down that it ran. */
function nodePackage(): { readonly tarball: Buffer; readonly integrity: string; readonly ran: string } {
  const folder = planted({ 'package/package.json': JSON.stringify({ name: NAME, version: VERSION }) });
  const ran = join(folder, 'ran');
  mkdirSync(join(folder, 'package', 'bin'));
  const script = `#!/bin/sh\necho ran >> ${ran}\nexec ${process.execPath} "$@"\n`;
  writeFileSync(join(folder, 'package', 'bin', 'node'), script);
  chmodSync(join(folder, 'package', 'bin', 'node'), 0o755);
  execFileSync('tar', ['-czf', 'node.tgz', 'package'], { cwd: folder });
  const tarball = readFileSync(join(folder, 'node.tgz'));
  return { tarball, integrity: `sha512-${createHash('sha512').update(tarball).digest('base64')}`, ran };
}

/** A registry with this package alone, whose own checksum of it is right: it is what it says, but not what we know. */
async function registry(tarball: Buffer, integrity: string): Promise<string> {
  const server = createServer((request, response) => {
    if (request.url?.endsWith('.tgz')) return void response.end(tarball);
    if (request.url !== `/${NAME}`) return void response.writeHead(404).end('{}');
    const dist = { integrity, tarball: `http://${request.headers.host}/${NAME}/-/${NAME}-${VERSION}.tgz` };
    const versions = { [VERSION]: { name: NAME, version: VERSION, dist } };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ name: NAME, 'dist-tags': { latest: VERSION }, versions }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** `npm start` in a clone whose Node is too old. */
function startWithOldNode(url: string, root: string): Promise<ToolResult> {
  const env = { XDG_CACHE_HOME: join(root, 'cache'), npm_config_cache: join(root, 'npm'), npm_config_registry: url };
  const old = [process.execPath, '--require', join(root, 'old.cjs'), join(root, 'scripts', 'run.mjs'), 'start'];
  return runProgram(old, { cwd: root, env });
}

function clone(script: string): string {
  const dependencies = { x: 'file:x' };
  const packages = { '': { dependencies }, 'node_modules/x': { resolved: 'x', link: true }, x: { version: '1.0.0' } };
  const root = planted({
    'package.json': JSON.stringify({ private: true, type: 'module', dependencies }),
    'package-lock.json': JSON.stringify({ lockfileVersion: 3, requires: true, packages }),
    'x/package.json': '{ "name": "x", "version": "1.0.0" }',
    'scripts/start.ts': 'console.log("started");',
    'old.cjs': `Object.defineProperty(process, 'version', { value: 'v20.0.0' });`,
  });
  writeFileSync(join(root, 'scripts', 'run.mjs'), script);
  return root;
}

describe.runIf(process.platform === 'linux')('the Node that scripts/run.mjs brings', () => {
  test('is run when it has the checksum that the script knows, and fetched once', async () => {
    const { tarball, integrity, ran } = nodePackage();
    const url = await registry(tarball, integrity);
    const root = clone(SCRIPT.replace(new RegExp(`('${PLATFORM}': )'sha512-[^']+'`), `$1'${integrity}'`));
    const first = await startWithOldNode(url, root);
    expect(first.output).toMatch(/^Node v20.0.0 is too old here: fetching Node [^]*\nstarted\n$/);
    expect(readFileSync(ran, 'utf8')).toMatch(/^(ran\n)+$/);
    expect((await startWithOldNode('http://127.0.0.1:1/', root)).output).toBe('started\n');
  });

  test('is not run and not kept when it is another one than the script knows, even if the registry vouches for it', async () => {
    const { tarball, integrity, ran } = nodePackage();
    const url = await registry(tarball, integrity);
    const root = clone(SCRIPT);
    const { ok, output } = await startWithOldNode(url, root);
    expect(ok).toBe(false);
    expect(output).toContain(`${NAME}@${VERSION} that npm fetched does not have the checksum in scripts/run.mjs`);
    expect(output).not.toContain('127.0.0.1');
    expect([existsSync(ran), readdirSync(join(root, 'cache', 'holdfast'))]).toEqual([false, []]);
  });

  test('has a checksum for each platform that it is brought for', () => {
    const pinned = [...SCRIPT.matchAll(/^ {2}'(linux-\w+)': 'sha512-([\w+/]{86}==)',$/gm)];
    expect(pinned.map(([, platform]) => platform)).toEqual(['linux-x64', 'linux-arm64']);
    expect(new Set(pinned.map(([, , hash]) => hash)).size).toBe(2);
  });
});
