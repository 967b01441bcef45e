import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';

// Inherited by workers and by the programs that tests start again and again: each is compiled once.
process.env['NODE_COMPILE_CACHE'] ??= join(tmpdir(), 'holdfast-tests-compiled');

// No test is retried and none may be focused: a run that is green proves every test that is there.
const always = {
  retry: 0,
  allowOnly: false,
  restoreMocks: true,
  unstubEnvs: true,
  // Node strips types by itself: transformed by vite, files took longer to load than many of their tests to run.
  experimental: { viteModuleRunner: false, nodeLoader: false },
} as const;

// What takes longer to bring than all else takes to run is for the full amounts alone.
const onlyInFull = process.env['HOLDFAST_TEST_AMOUNT'] === 'full' ? [] : ['test/http/real-gitea.test.ts'];

export default defineConfig({
  test: {
    // Most tests wait for sockets and processes; vitest's own choice leaves one of two cores idle.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          ...always,
          name: 'unit',
          include: ['src/**/*.test.ts'],
          pool: 'threads',
          isolate: false,
          // As below: what takes a second here may take ten on a busy machine.
          testTimeout: 60_000,
        },
      },
      {
        test: {
          ...always,
          name: 'real',
          include: ['test/**/*.test.ts', 'examples/**/*.test.ts', 'bench/**/*.test.ts'],
          exclude: onlyInFull,
          pool: 'forks',
          globalSetup: ['test/support/global-setup.ts'],
          // Sockets, browsers and processes on a busy machine: the limit only ends what hangs, it judges nothing.
          testTimeout: 240_000,
          expect: { poll: { timeout: 180_000 } },
          // The first test that needs a server may have to install it.
          hookTimeout: process.env['HOLDFAST_TEST_AMOUNT'] === 'full' ? 3_600_000 : 300_000,
        },
      },
    ],
  },
});
