import { CHECKS, runSteps } from './steps.ts';

const { failed } = await runSteps(CHECKS, process.argv.includes('--verbose'));
if (failed > 0) console.log('npm run fix mends formatting, generated files and part of the lint errors.');
process.exitCode = failed === 0 ? 0 : 1;
