import { build } from './build.ts';
import { runProgram, runTool } from './run-tool.ts';
import { runSteps } from './steps.ts';

// Lint needs the types in dist/, and may change lines that must then be formatted again.
const { failed } = await runSteps(
  [
    { name: 'build', run: build },
    { name: 'lint --fix', run: () => runTool(['oxlint', '--type-aware', '--fix']) },
    { name: 'format', run: () => runTool(['oxfmt']) },
    { name: 'generated files', run: () => runProgram([process.execPath, 'scripts/requirements.ts']) },
    { name: 'API reference', run: () => runProgram([process.execPath, 'scripts/reference.ts']) },
  ],
  process.argv.includes('--verbose'),
);
process.exitCode = failed === 0 ? 0 : 1;
