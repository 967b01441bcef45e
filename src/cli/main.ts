#!/usr/bin/env node
/// <reference types="node" />
import { readFileSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';
import { createInterface } from 'node:readline/promises';
import { systemEffects } from '../system/effects.ts';
import type { Io } from './io.ts';
import { tooOldNode } from './node-version.ts';
import { runCli } from './run-cli.ts';

const { stdin, stdout, stderr, env } = process;

const io: Io = {
  out: (text) => stdout.write(text),
  err: (text) => stderr.write(text),
  isTty: stdout.isTTY,
  canAsk: stdin.isTTY && stderr.isTTY,
  // A pipe or a file has no width: nothing is cut there.
  width: stdout.isTTY ? stdout.columns : Infinity,
  env,
  cwd: process.cwd(),
  user: `${userName()}@${hostname()}`,
  processName: `${hostname()}:${process.pid}`,
  effects: systemEffects,
  ask: async (question) => {
    const reader = createInterface({ input: stdin, output: stderr });
    // Closed without an answer (Ctrl-D) is no answer.
    const closed = new Promise<string>((resolve) => reader.once('close', () => resolve('')));
    try {
      return await Promise.race([reader.question(question), closed]);
    } finally {
      reader.close();
    }
  },
  inputEnd: () => new Promise((resolve) => void stdin.once('end', resolve).once('close', resolve)),
  onSignal: (heard) => {
    process.on('SIGINT', heard).on('SIGTERM', heard);
    return () => void process.off('SIGINT', heard).off('SIGTERM', heard);
  },
  exit: (code) => process.exit(code),
};

// A reader that has seen enough (head, less) closes the pipe; that is no failure of ours.
stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

const tooOld = tooOldNode(process.version);
if (tooOld !== undefined) {
  stderr.write(`error: ${tooOld}\n`);
  process.exit(1);
}
const code = await runCli(process.argv.slice(2), io, versionOfPackage());
// What a user's own module has open would keep the process; what was written goes out first.
stdout.write('', () => process.exit(code));

function versionOfPackage(): string {
  const file = new URL('../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string }).version;
}

/** A process in a container may run as a user that has no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return env['USER'] ?? String(process.getuid?.() ?? 'unknown');
  }
}
