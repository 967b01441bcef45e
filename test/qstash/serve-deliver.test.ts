import { Client } from '@upstash/qstash';
import { expect } from 'vitest';
import { runHoldfast, startHoldfast } from '../cli/holdfast-process.ts';
import { runHere } from '../cli/run-here.ts';
import { freshSchema } from '../support/fresh-schema.ts';
import { needs } from '../support/needs.ts';
import { Sink } from './sink.ts';

const test = needs('postgres');

test('serve --deliver takes in and delivers beside the console, with tokens and keys made on the command line [X.8]', async ({
  postgres,
}) => {
  const HOLDFAST_SECRET = 'a secret of thirty-two characters or more';
  const env = { DATABASE_URL: postgres.url, HOLDFAST_SCHEMA: await freshSchema(postgres), HOLDFAST_SECRET };
  for (const [line, secret, code, text] of [
    [['serve', '--local', '--deliver'], '', 1, 'HOLDFAST_SECRET is not set'],
    [['serve', '--local', '--deliver'], 'short', 1, 'HOLDFAST_SECRET has 5 characters'],
    [['serve', '--local', '--max-body', '10'], '', 2, 'pass --deliver too'],
    [['token', 'create'], '', 2, 'name whose it is'],
    [['token', 'create', 'x', '--scope', 'all'], '', 2, 'write publish, operate, admin'],
    [['token', 'revoke', 'x'], '', 1, 'there is no token x'],
    [['signing-keys'], '', 1, 'HOLDFAST_SECRET is not set'],
    [['dev', '--qstash-dev', '--host', '0.0.0.0', '--token', 'admin:ann=1234567890123456'], '', 2, 'everybody knows'],
  ] as const) {
    const said = await runHere(line, { env: { ...env, HOLDFAST_SECRET: secret } });
    expect(said, line.join(' ')).toMatchObject({ code, err: expect.stringContaining(text) as string });
  }
  const made = await runHere(['token', 'create', 'app', '--scope', 'operate', '--json'], { env });
  const { id, token } = JSON.parse(made.out) as { id: string; token: string };
  expect((await runHere(['token', 'list'], { env })).out).toMatch(/app\s+default\s+operate\s+\S.*never/);
  const hidden = await runHere(['signing-keys', 'show'], { env });
  expect(hidden.out).toMatch(/QSTASH_CURRENT_SIGNING_KEY=sig_.{4}…\n/);
  const keys = JSON.parse((await runHere(['signing-keys', '--reveal', '--json'], { env })).out) as {
    current: string;
    next: string;
  };
  const sink = new Sink();
  await sink.listen(keys);

  const line = [
    'serve',
    '--local',
    '--port',
    '0',
    '--base-path',
    '/ops',
    '--deliver',
    '--allow-private',
    '127.0.0.0/8',
  ];
  const running = startHoldfast(line, { env });
  await running.until(/Serving http:\S+\/ops\//);
  const url = /Serving (\S+)\/\?key=/.exec(running.output())?.[1] ?? '';
  const client = new Client({ baseUrl: url, token, retry: false });
  await client.publish({ url: `${sink.url}/here`, body: 'x' });
  await expect.poll(() => sink.at('/here')).toMatchObject([{ body: 'x', verified: true }]);
  expect((await client.flowControl.getGlobalParallelism()).parallelismMax).toBe(512);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  // A destination that leads out of /v2 altogether.
  const out = client.publish({ url: `${sink.url}/../../../../../api/pause-all` });
  await expect(out).rejects.toMatchObject({ status: 400, message: expect.stringContaining('/v2/ alone') as string });
  await expect(client.publish({ url: 'http://10.0.0.1/' })).rejects.toMatchObject({ status: 400 });
  running.child.kill('SIGTERM');
  expect(await running.ended).toMatchObject({ code: 0 });
  sink.close();

  expect(await runHere(['token', 'revoke', id], { env })).toMatchObject({
    code: 1,
    err: expect.stringContaining('--yes') as string,
  });
  expect(await runHere(['token', 'revoke', id, '--yes'], { env })).toMatchObject({ code: 0 });
  const turned = await runHere(['signing-keys', 'rotate', '--yes', '--reveal', '--json'], { env });
  expect(JSON.parse(turned.out)).toMatchObject({ current: keys.next });
  const wrong = await runHoldfast(['serve', '--local', '--deliver'], {
    env: { ...env, HOLDFAST_SECRET: 'x'.repeat(40) },
  });
  expect(wrong).toMatchObject({ code: 1, err: expect.stringContaining('HOLDFAST_SECRET') as string });
});
