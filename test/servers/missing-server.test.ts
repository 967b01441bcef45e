import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { RunOutcome } from '../../scripts/judge-run.ts';
import { OUTCOME_FILE } from '../../scripts/outcome-reporter.ts';
import { runTool } from '../../scripts/run-tool.ts';
import { planted } from '../support/planted.ts';

/** Runs the Redis tests with an address at which nobody answers. */
async function withoutRedis(ci: string | undefined): Promise<RunOutcome> {
  const file = join(planted({}), 'outcome.json');
  await runTool(['vitest', 'run', '--reporter=./scripts/outcome-reporter.ts', 'test/servers/redis.test.ts'], {
    env: { CI: ci, HOLDFAST_REDIS_URL: 'redis://127.0.0.1:1', [OUTCOME_FILE]: file },
  });
  return JSON.parse(readFileSync(file, 'utf8')) as RunOutcome;
}

describe('a server that cannot be had', () => {
  test('is a skip that says how to start it', async () => {
    const { tests } = await withoutRedis(undefined);
    expect(tests.length).toBeGreaterThan(0);
    for (const { state, note } of tests) {
      expect(state).toBe('skipped');
      expect(note).toMatch(/^needs redis: .*HOLDFAST_REDIS_URL.*start a Redis/);
    }
  });

  test('is a failure in CI', async () => {
    const { tests } = await withoutRedis('true');
    expect(tests.length).toBeGreaterThan(0);
    expect(tests.filter((one) => one.state !== 'failed')).toEqual([]);
  });
});
