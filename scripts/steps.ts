import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from './build.ts';
import { ROOT_BUDGET_BYTES, rootSize } from './root-size.ts';
import { pack } from './pack.ts';
import { ROOT, runProgram, runTool, wasInterrupted, type ToolResult } from './run-tool.ts';

/** One check of the gate. It counts as one passed or one failed. */
export interface Step {
  readonly name: string;
  readonly run: () => Promise<ToolResult>;
}

/** The one step the later ones stand on: examples, docs and types of tests see the package through dist/. */
export const BUILD: Step = { name: 'build', run: build };

const FORMAT: Step = { name: 'format', run: () => runTool(['oxfmt', '--check']) };

/** What `npm run check` says about the sources, fastest first. */
export const CHECKS: readonly Step[] = [
  FORMAT,
  BUILD,
  {
    name: 'lint',
    run: () => runTool(['oxlint', '--type-aware', '--deny-warnings', '--report-unused-disable-directives']),
  },
  { name: 'types', run: () => runTool(['tsc', '-p', 'tsconfig.json']) },
  { name: 'types of console', run: () => runTool(['tsc', '-p', 'console/tsconfig.json']) },
  { name: 'generated files', run: () => runProgram([process.execPath, 'scripts/requirements.ts', '--check']) },
  { name: 'unused code', run: () => runTool(['knip', '--no-progress', '--treat-config-hints-as-errors']) },
];

const SIZE: Step = {
  name: 'size',
  run: async () => {
    const { gzipBytes } = rootSize(ROOT);
    const note = `import 'holdfast' is ${gzipBytes} of ${ROOT_BUDGET_BYTES} bytes, compressed`;
    return { ok: gzipBytes <= ROOT_BUDGET_BYTES, output: note, note, ms: 0 };
  },
};

/** What is said about the package as a user would install it. */
export const PACKAGE_CHECKS: readonly Step[] = [
  SIZE,
  { name: 'publint', run: () => onPackedFile((file) => runTool(['publint', 'run', file, '--strict'])) },
  { name: 'attw', run: () => onPackedFile((file) => runTool(['attw', file, '--profile', 'esm-only', '--no-emoji'])) },
];

async function onPackedFile(check: (file: string) => Promise<ToolResult>): Promise<ToolResult> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-pack-'));
  try {
    const packed = await pack(folder);
    return packed.ok ? await check(packed.file) : packed;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs the steps one after the other and prints a line for each, with what it said if it failed. Answers how many failed; a failing build or an interrupt ends it. */
export async function runSteps(
  steps: readonly Step[],
  verbose: boolean,
): Promise<{ passed: number; failed: number; built: boolean }> {
  let passed = 0;
  let failed = 0;
  for (const step of steps) {
    if (wasInterrupted()) return { passed, failed, built: false };
    const result = await step.run();
    printStep(result.ok, step.name, result.ms, result.note);
    if (!result.ok || verbose) console.log(result.output.trimEnd());
    if (result.ok) passed += 1;
    else failed += 1;
    if (step === BUILD && !result.ok) {
      console.log('The package did not build, so the later checks were not run.');
      return { passed, failed, built: false };
    }
  }
  return { passed, failed, built: true };
}

/** One line of the gate's table. */
export function printStep(ok: boolean, name: string, ms: number, note = ''): void {
  console.log(`${ok ? 'ok  ' : 'FAIL'}  ${name.padEnd(18)}${(ms / 1000).toFixed(1).padStart(6)} s  ${note}`.trimEnd());
}
