import { expect } from 'vitest';
import { needs } from '../support/needs.ts';
import { ANN, OperatorDatabase } from '../operator/operator-database.ts';
import { serveHere, TOKENS } from '../server/serving.ts';
import { runHoldfast, startHoldfast } from './holdfast-process.ts';
import { runHere } from './run-here.ts';

const test = needs('postgres');

test('serve needs a token or --local, answers whoever has the key of the start then, and drains at a signal [X.9]', async ({
  postgres,
}) => {
  const { schema } = await OperatorDatabase.open(postgres);
  const env = { DATABASE_URL: postgres.url, HOLDFAST_SCHEMA: schema };
  const open = await runHoldfast(['serve', '--host', '0.0.0.0'], { env });
  expect([open.code, open.err]).toEqual([2, expect.stringContaining('no token is set')]);
  const forgotten = await runHoldfast(['serve', '--port', '0'], { env });
  expect([forgotten.code, forgotten.err]).toEqual([
    2,
    expect.stringMatching(/no token is set.*HOLDFAST_TOKENS.*--local/),
  ]);
  const both = await runHoldfast(['serve', '--local', '--token', `admin:ann=${'x'.repeat(16)}`], { env });
  expect([both.code, both.err]).toEqual([2, expect.stringContaining('--local is for a server without tokens')]);
  const running = startHoldfast(['serve', '--local', '--port', '0', '--base-path', '/ops'], { env });
  await running.until(/Serving http:\S+\/ops\/\?key=\S{43}/);
  const [, url = '', HOLDFAST_TOKEN = ''] = /Serving (\S+)\?key=(\S+)/.exec(running.output()) ?? [];
  expect(await (await fetch(`${url}readyz`)).json()).toEqual({ status: 'ready' });
  const here = await runHere(['pause', '--server', url, '--reason', 'by wire', '--json'], {
    env: { HOLDFAST_TOKEN },
  });
  expect(here).toMatchObject({ code: 0, out: expect.stringContaining('"paused"') });
  const nobody = await runHere(['pause', '--server', url, '--reason', 'by wire'], { env: {} });
  expect(nobody).toMatchObject({ code: 1, err: expect.stringContaining('401 UNAUTHENTICATED') });
  running.child.kill('SIGTERM');
  expect(await running.ended).toMatchObject({ code: 0 });
});

test('commands do the same through a server as on its database, and say what is wrong with it [X.10]', async ({
  postgres,
}) => {
  const database = await OperatorDatabase.open(postgres);
  await database.handler(1, 'mail', 'welcome');
  const id = await database.dead({ key: 'k' });
  const { url } = await serveHere({ operator: database.operator, tokens: TOKENS });
  const remote = { HOLDFAST_SERVER: url, HOLDFAST_TOKEN: TOKENS[1].token };
  const local = { DATABASE_URL: postgres.url, HOLDFAST_SCHEMA: database.schema };
  for (const line of [['dlq:list'], ['dlq:show', id], ['handlers'], ['why', id]]) {
    const [there, here] = [
      await runHere([...line, '--json'], { env: remote }),
      await runHere([...line, '--json'], { env: local }),
    ];
    expect(JSON.parse(there.out), line[0]).toEqual(JSON.parse(here.out));
  }
  expect(await runHere(['dlq:replay', '--id', id, '--reason', ANN.reason], { env: remote })).toMatchObject({ code: 0 });
  expect((await database.operator.audit()).items).toMatchObject([
    { actor: 'otto', verb: 'replay', reason: ANN.reason },
  ]);
  const failures: readonly (readonly [string[], Record<string, string>, number, string])[] = [
    [['pause'], remote, 1, 'pauseAll needs the role admin; yours is operator'],
    [['pause', '--actor', 'eve'], remote, 2, 'leave --actor out'],
    [['handlers'], { ...remote, HOLDFAST_TOKEN: 'some-other-secret' }, 1, 'refused (401 WRONG_TOKEN)'],
    [['handlers', '--server', 'http://127.0.0.1:2'], {}, 1, 'cannot be reached (ECONNREFUSED)'],
    [
      ['handlers', '--server', `${url}/elsewhere`],
      { HOLDFAST_TOKEN: TOKENS[1].token },
      1,
      'does not answer as an operator server',
    ],
    [['handlers', '--server', 'here'], {}, 2, 'an address such as http://localhost:4747/'],
    [['handlers', '--server', url, '--url', 'postgres://a/b'], {}, 2, 'write one of them'],
    [['migrate', '--server', url], {}, 2, 'migrate works on a database'],
  ];
  for (const [line, env, code, text] of failures) {
    expect(await runHere(line, { env }), line.join(' ')).toMatchObject({ code, err: expect.stringContaining(text) });
  }
});
