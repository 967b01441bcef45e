import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished } from 'vitest';
import type { StepServerLine, StepServerOptions } from './steps.ts';

const MINUTE_MS = 60_000;
const CLOCK = new URL('skewed-clock.ts', import.meta.url).href;

/** A server in a process of its own, whose requests stop where they ask for it. */
export interface StepProcess {
  /** Of each of its routes. */
  readonly urls: Readonly<Record<string, string>>;
  /** Resolves when that many requests are held. */
  held(count: number): Promise<void>;
  /** Lets all of them go on, and holds no others. */
  go(): void;
  /** Ends it as a crash does. */
  kill(): Promise<void>;
}

/** Starts one from that program, with a clock that goes wrong by `skewMs`. It ends with the test. */
export async function stepProcess(program: URL, options: StepServerOptions, skewMs = 0): Promise<StepProcess> {
  const clock = skewMs === 0 ? [] : ['--import', CLOCK];
  const child = spawn(process.execPath, [...clock, fileURLToPath(program), JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, SKEW_MS: String(skewMs) },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let isHeld = 0;
  const { promise: urls, resolve, reject } = Promise.withResolvers<Readonly<Record<string, string>>>();
  child.once('exit', () => reject(new Error('the server has ended')));
  createInterface({ input: child.stdout }).on('line', (text) => {
    const line = JSON.parse(text) as StepServerLine;
    if ('step' in line) isHeld++;
    else if (Math.abs(line.clock - Date.now() - skewMs) < MINUTE_MS) resolve(line.urls);
    else reject(new Error('its clock is not that wrong'));
  });
  return {
    urls: await urls,
    held: async (count) => {
      await expect.poll(() => isHeld).toBe(count);
    },
    go: () => void child.stdin.write('go\n'),
    kill: () => killed(child),
  };
}

async function killed(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
