import { expect } from 'vitest';
import { run } from '../agent-chat/process.ts';
import { freshDatabase } from '../order-service/fresh-database.ts';
import { needs } from '../support/needs.ts';

const test = needs('postgres');

test('the example of signed jobs does each thing once, and puts aside what can never work [S3.1] [S3.3] [S3.5] [X.8]', async ({
  postgres,
}) => {
  const program = run('../signed-jobs/main.ts', [], { DATABASE_URL: await freshDatabase(postgres) });
  expect(await program.ended, program.output()).toBe(0);
  const lines = program.output().split('\n');
  expect(lines.filter((line) => line.startsWith('mail '))).toEqual(['mail    to ada@example.org']);
  expect(lines).toContain('publish send-reminder about r-7: dropped, it is the same as before');
  // The reminder fails once; the memory job is delivered twice, and the reminder is published anew: both are known to be done.
  expect(lines).toContain('answers 200 200 200 200 489 500 lost');
  expect(lines).toContain('dead    /api/jobs/file (489)');
  expect(lines).toContain('effects {"reminders":1,"memories":2,"files":1}');
  expect(program.output()).toContain('the job cannot be done and is not tried again');
});
