import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { TestServer } from '../support/needs.ts';
import type { QstashHere } from './qstash-here.ts';

/** A QStash client in another language, in a process of its own. */
export interface ForeignClient {
  /** The result of one call. Rejects with the error that the client gave. */
  call(name: string, ...args: readonly unknown[]): Promise<unknown>;
}

/** The Python client: a call has one argument, an object of those by name. */
export function pythonClient({ url: packages }: TestServer, here: QstashHere): Promise<ForeignClient> {
  const script = fileURLToPath(new URL('python/call.py', import.meta.url));
  return start('python3', [script], { PYTHONPATH: packages, PYTHONDONTWRITEBYTECODE: '1' }, here);
}

/** The Go client. */
export function goClient({ url: program }: TestServer, here: QstashHere): Promise<ForeignClient> {
  return start(program, [], {}, here);
}

async function start(
  program: string,
  args: readonly string[],
  own: Readonly<Record<string, string>>,
  { url, token, deliveries }: QstashHere,
): Promise<ForeignClient> {
  const { current, next } = await deliveries.signingKeys.get();
  const child = spawn(program, args, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: {
      PATH: process.env['PATH'],
      ...own,
      QSTASH_URL: url,
      QSTASH_TOKEN: token,
      QSTASH_CURRENT_SIGNING_KEY: current,
      QSTASH_NEXT_SIGNING_KEY: next,
    },
  });
  onTestFinished(() => void child.kill());
  const results = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    call: async (...call) => {
      child.stdin.write(`${JSON.stringify(call)}\n`);
      const { value: line, done } = await results.next();
      if (done) throw new Error(`${program} ended before it gave a result of ${call[0]}`);
      const { value, error } = JSON.parse(line) as { value?: unknown; error?: string };
      if (error !== undefined) throw new Error(error);
      return value;
    },
  };
}
