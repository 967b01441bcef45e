import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';

/** The repository's root folder. */
export const ROOT: string = fileURLToPath(new URL('..', import.meta.url));

export interface ToolResult {
  readonly ok: boolean;
  /** Both streams in the order they came; empty when `live`. */
  readonly output: string;
  readonly ms: number;
  /** A figure worth showing although all is well. */
  readonly note?: string;
}

export interface ToolOptions {
  /** Give the tool our own terminal instead of keeping what it prints. */
  readonly live?: boolean;
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
}

let interrupted = false;

/** True once somebody has asked us to end while a tool was running. */
export function wasInterrupted(): boolean {
  return interrupted;
}

/** Runs a program that a development dependency brings, e.g. `['tsc', '-p', 'tsconfig.json']`. A failing one is an answer, not an error. */
export function runTool([tool = '', ...args]: readonly string[], options: ToolOptions = {}): Promise<ToolResult> {
  return runProgram([process.execPath, programOf(tool), ...args], options);
}

/** Runs any program to its end and hands on the signals we get meanwhile; one that cannot be started is a failed one. */
export function runProgram([command = '', ...args]: readonly string[], options: ToolOptions = {}): Promise<ToolResult> {
  const started = performance.now();
  const showsColour = options.live === true && process.stdout.isTTY;
  const child = spawn(command, args, {
    cwd: options.cwd ?? ROOT,
    env: { ...process.env, ...(showsColour ? {} : { NO_COLOR: '1', FORCE_COLOR: undefined }), ...options.env },
    stdio: options.live ? 'inherit' : ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const handOn = (signal: NodeJS.Signals): void => {
    interrupted = true;
    // A terminal sends Ctrl-C to the whole group: the child has it already.
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
  };
  process.on('SIGINT', handOn).on('SIGTERM', handOn);
  return new Promise((resolve) => {
    const end = (ok: boolean): void => {
      process.off('SIGINT', handOn).off('SIGTERM', handOn);
      resolve({ ok, output: stripVTControlCharacters(output), ms: performance.now() - started });
    };
    child.on('error', (error) => {
      output += error.message;
      end(false);
    });
    child.on('close', (code) => end(code === 0));
  });
}

/** The tool's JavaScript file: it is run by the Node that runs us, whatever `node` means on the PATH. */
function programOf(tool: string): string {
  const packageName = PACKAGE_OF[tool] ?? tool;
  const folder = join(ROOT, 'node_modules', packageName);
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    bin: string | Record<string, string>;
  };
  const file = typeof manifest.bin === 'string' ? manifest.bin : manifest.bin[tool];
  if (file === undefined) throw new Error(`${packageName} has no program named ${tool}`);
  return join(folder, file);
}

const PACKAGE_OF: Record<string, string> = { attw: '@arethetypeswrong/cli', tsc: 'typescript' };
