import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { run } from '../agent-chat/process.ts';
import { freshDatabase } from '../order-service/fresh-database.ts';
import { needs } from '../support/needs.ts';

const test = needs('postgres');
const execute = promisify(execFile);

test('npm start -- jobs does each thing once, puts aside what can never work, and stays up for curl [S3.1] [S3.3] [S3.5] [X.8]', async ({
  postgres,
}) => {
  const env = { DATABASE_URL: await freshDatabase(postgres), PORT: '0' };
  const program = run('../../scripts/start.ts', ['jobs'], env);
  await program.until(/Stop {6}Ctrl-C/);
  const lines = program.output().split('\n');
  expect(lines.filter((line) => line.startsWith('mail '))).toEqual(['mail    to ada@example.org']);
  expect(lines).toContain('publish send-reminder about r-7: dropped, it is the same as before');
  // The reminder fails once; the memory job is delivered twice, and the reminder is published anew: both are known to be done.
  expect(lines).toContain('answers 200 200 200 200 489 500 lost');
  expect(lines).toContain('dead    /api/jobs/file (489)');
  expect(lines).toContain('effects {"reminders":1,"memories":2,"files":1}');
  expect(program.output()).toContain('the job cannot be done and is not tried again');

  const typed = async (word: string): Promise<string> => {
    const line = lines.find((one) => one.startsWith(`  ${word} `))?.slice(`  ${word}`.length) ?? 'false';
    return (await execute('sh', ['-c', line])).stdout;
  };
  expect(JSON.parse(await typed('Publish'))).toMatchObject({ messageId: expect.any(String) });
  await program.until(/mail {4}to bob@example\.org/);
  await expect.poll(() => typed('Effects')).toContain('effects {"reminders":2,"memories":2,"files":1}');
  expect(await typed('Forge')).toMatch(/^HTTP\/1\.1 401 /);
  program.child.kill('SIGINT');
  expect(await program.ended, program.output()).toBe(0);
  expect(program.output().match(/^mail /gm)).toHaveLength(2);
});
