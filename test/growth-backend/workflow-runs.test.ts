import { expect } from 'vitest';
import { PROJECTORS } from '../../examples/growth-backend/events/projectors.ts';
import type { Growth, GrowthLine } from '../../examples/growth-backend/start-growth.ts';
import { runHoldfast } from '../cli/holdfast-process.ts';
import { needs } from '../support/needs.ts';
import { ARun } from './a-run.ts';
import { sharedGrowth } from './shared-growth.ts';

/** The example runs once for all of them. */
const theGrowth = sharedGrowth();
const test = needs('postgres', 'redis').extend<{ growth: Growth }>({
  growth: async ({ postgres, redis }, use) => use(await theGrowth({ postgres, redis })),
});

/** What the command line says to an operator. */
async function said({ env }: Growth, ...args: string[]): Promise<string> {
  const { code, out, err } = await runHoldfast(args, { env: { DATABASE_URL: env['DATABASE_URL'] } });
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out;
}

test(
  'the growth backend: the route only stores a command, and a module that is asked for many times calls its service once, with the command’s key on the wire [S0.5] [S0.6b] [S0.7]',
  // The first of them starts everything.
  { timeout: 240_000 },
  async ({ growth }) => {
    const run = await ARun.create(growth, 'user_twice');
    expect(await run.states()).toEqual({ interview: 'idle', plan: 'idle', document: 'idle' });
    growth.freeze('worker');
    const answers = await Promise.all([1, 2, 3].map((n) => run.ask('interview', { requestId: `twice-${n}` })));
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
    expect(await run.states()).toMatchObject({ interview: 'queued' });
    expect(await run.askedOf('interview', 'interview')).toEqual([]);
    growth.thaw('worker');
    await run.until('interview', 'done');
    const late = await run.ask('interview');

    expect(new Set([...answers, late].map(({ body }) => body['commandId'])).size).toBe(1);
    const [first, ...others] = answers.toSorted((a, b) => Number(b.body['isNew']) - Number(a.body['isNew']));
    expect([first, ...others].map((answer) => answer?.body['isNew'])).toEqual([true, false, false]);
    expect(late.body).toMatchObject({ isNew: false, state: 'done' });
    const asked = await run.askedOf('interview', 'interview');
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({
      outcome: 'did',
      status: 201,
      headers: {
        'idempotency-key': run.keyOf('interview'),
        'x-request-id': first?.requestId,
        'x-growqr-user': 'user_twice',
        authorization: 'as agreed',
        'x-attempt': '1',
      },
    });
    expect(await run.steps('interview')).toEqual([
      'idle 0',
      'idle > queued 0',
      'queued > running 1',
      'running > done 1',
    ]);
  },
);

test('the growth backend: a run that is asked for again under its Idempotency-Key is the same run [S0.4] [S0.7]', async ({
  growth: { client },
}) => {
  const request = { user: 'user_again', idempotencyKey: 'again-1' };
  const first = await client.request('POST', '/workflow-runs', request);
  const second = await client.request('POST', '/workflow-runs', request);
  expect([first.status, second.status]).toEqual([201, 201]);
  expect(second.body).toEqual(first.body);
  expect(second.headers.get('idempotent-replayed')).toBe('true');
  expect(second.headers.get('x-request-id')).toBe(second.requestId);
  const other = await client.request('POST', '/workflow-runs', { ...request, body: { missionId: 'another' } });
  expect(other.status).toBe(422);
});

test('the growth backend: without the key, without a user, and for somebody else’s run nothing is told [S0.6b]', async ({
  growth,
}) => {
  const run = await ARun.create(growth, 'user_owner');
  const path = `/workflow-runs/${run.runId}`;
  const statusFor = async (request: object): Promise<number> =>
    (await growth.client.request('GET', path, request)).status;
  expect(await statusFor({ user: 'user_owner' })).toBe(200);
  expect(await statusFor({ user: 'user_other' })).toBe(404);
  expect(await statusFor({ user: '' })).toBe(400);
  expect(await statusFor({ headers: { authorization: 'Bearer another' } })).toBe(401);
  expect((await run.ask('interview', { user: 'user_other' })).status).toBe(404);
});

test('the growth backend: a prompt whose answer was lost and a model that was away lead to a second attempt and to one artifact [S0.6] [S0.7] [S0.11]', async ({
  growth,
}) => {
  const run = await ARun.create(growth, 'user_plan');
  await growth.client.trouble('agent', { kind: 'lost', times: 1, operations: ['send-message'] });
  await growth.client.trouble('llm', { kind: 'status', status: 503, times: 4 });
  await run.ask('plan');
  await run.until('plan', 'done');

  expect(await run.steps('plan')).toEqual([
    'idle 0',
    'idle > queued 0',
    'queued > running 1',
    'running > retry_wait 1',
    'retry_wait > running 2',
    'running > done 2',
  ]);
  const outcomes = async (partner: 'agent' | 'llm'): Promise<readonly string[]> =>
    (await run.askedOf(partner, 'plan')).map(({ operation, outcome }) => `${operation} ${outcome}`);
  expect(await outcomes('agent')).toEqual([
    'create-session did',
    'send-message lost',
    'send-message repeated',
    'create-session repeated',
    'send-message repeated',
  ]);
  expect(await outcomes('llm')).toEqual(['chat trouble', 'chat trouble', 'chat trouble', 'chat trouble', 'chat did']);
  const prompts = (await run.askedOf('agent', 'plan')).flatMap(({ headers }) => headers['x-command-id'] ?? []);
  expect(new Set(prompts).size).toBe(1);
  const artifacts = (): Promise<unknown> =>
    growth.query('select service_id, external_id, type from growth.artifact where mission_instance_id = $1', [
      run.missionInstanceId,
    ]);
  await expect.poll(artifacts).toEqual([{ service_id: 'coding-agent', external_id: prompts[0], type: 'plan' }]);
  expect(await growth.query('select 1 from growth.grow_event where user_id = $1', ['user_plan'])).toHaveLength(1);
});

test('the growth backend: a token that breaks in the middle is one attempt, everything made is on record, and a replay goes on from there [S0.2] [S0.6] [S0.7]', async ({
  growth,
}) => {
  const run = await ARun.create(growth, 'user_git');
  await growth.client.trouble('git', { kind: 'token', after: 2 });
  const { body } = await run.ask('document');
  await run.until('document', 'dlq');

  const made = (): Promise<unknown> =>
    growth.query('select kind, state from growth.git_resource where run_id = $1 order by kind', [run.runId]);
  const outcomes = async (): Promise<readonly string[]> =>
    (await run.askedOf('git', 'document')).map(({ operation, status }) => `${operation} ${status}`);
  expect(await outcomes()).toEqual(['create-user 201', 'create-repo 201', 'create-file 401']);
  expect(await made()).toEqual([
    { kind: 'file', state: 'wanted' },
    { kind: 'repo', state: 'there' },
    { kind: 'user', state: 'there' },
  ]);
  expect(await run.steps('document')).toEqual(['idle 0', 'idle > queued 0', 'queued > running 1', 'running > dlq 1']);
  const commandId = String(body['commandId']);
  const failed = (): readonly GrowthLine[] => growth.lines().filter((line) => line['eventId'] === commandId);
  await expect.poll(() => failed().length).toBe(1);
  expect(failed()[0]).toMatchObject({
    retryable: false,
    httpStatus: 401,
    attempt: 1,
    runId: run.runId,
    level: 'error',
  });
  expect(failed()[0]?.['dlqId']).toMatch(new RegExp(`^${commandId}`));
  const call = growth.lines().find((line) => line['commandId'] === commandId && line['httpStatus'] === 401);
  expect(call).toMatchObject({ retryable: false, operation: 'git.ensure-file', attempt: 1 });

  await growth.client.trouble('git');
  expect(await said(growth, 'dlq:replay', '--id', commandId, '--reason', 'new token')).toContain(
    '1 delivery will run again',
  );
  await run.until('document', 'done');
  expect((await run.steps('document')).slice(-3)).toEqual([
    'dlq > replaying 0',
    'replaying > running 1',
    'running > done 1',
  ]);
  expect(await made()).toEqual([
    { kind: 'file', state: 'there' },
    { kind: 'repo', state: 'there' },
    { kind: 'user', state: 'there' },
  ]);
  const did = (await run.askedOf('git', 'document')).filter(({ outcome }) => outcome === 'did');
  expect(did.map(({ operation }) => operation)).toEqual(['create-user', 'create-repo', 'create-file']);
});

test('the growth backend: an interview service that is killed blocks the run, and what waits behind goes on after the replay [S0.7]', async ({
  growth,
}) => {
  const run = await ARun.create(growth, 'user_blocked');
  await growth.kill('interview');
  const { body } = await run.ask('interview');
  await run.ask('document');
  await run.until('interview', 'blocked');
  expect(await run.states()).toEqual({ interview: 'blocked', plan: 'idle', document: 'queued' });
  expect((await run.steps('interview')).filter((step) => step.endsWith('> retry_wait 1'))).toHaveLength(1);
  const dead = `select attempts, status from holdfast.dead_letters where message_id = $1`;
  expect(await growth.query(dead, [body['commandId']])).toEqual([{ attempts: 3, status: 'pending' }]);

  await growth.revive('interview');
  await said(growth, 'dlq:replay', '--id', String(body['commandId']));
  await run.until('document', 'done');
  expect(await run.states()).toEqual({ interview: 'done', plan: 'idle', document: 'done' });
  expect((await run.askedOf('interview', 'interview')).map(({ outcome }) => outcome)).toEqual(['did']);
});

test('the growth backend: what happens to a run is streamed, and a connection that broke goes on where it was [S0.7]', async ({
  growth,
}) => {
  const run = await ARun.create(growth, 'user_stream');
  const follow = async (last: string | undefined, until: RegExp): Promise<string> => {
    const response = await fetch(`${growth.client.apiUrl}/workflow-runs/${run.runId}/events`, {
      headers: {
        authorization: `Bearer ${growth.settings.a2aKey}`,
        'x-growqr-user': 'user_stream',
        ...(last === undefined ? {} : { 'last-event-id': last }),
      },
    });
    let text = '';
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString();
      if (until.test(text)) break;
    }
    return text;
  };
  const eventsIn = (text: string): readonly string[] =>
    [...text.matchAll(/^event: (.*)\ndata: (.*)$/gm)].map(
      ([, name = '', data = '']) => `${(JSON.parse(data) as { module: string }).module} ${name}`,
    );
  const planned = await follow(undefined, /document[^\n]*\n\n/);
  expect(eventsIn(planned)).toEqual(['interview idle', 'plan idle', 'document idle']);
  const last = [...planned.matchAll(/^id: (.*)$/gm)].at(-1)?.[1];
  await run.ask('interview');
  expect(eventsIn(await follow(last, /event: done\n.*\n\n/))).toEqual([
    'interview queued',
    'interview running',
    'interview done',
  ]);
});

test('the growth backend: one action is found by its request id in the lines of all processes, with every field where it belongs [S0.12] [X.7]', async ({
  growth,
}) => {
  const requestId = 'one-action';
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  const headers = { 'x-growqr-org': 'org_7', traceparent: `00-${traceId}-00f067aa0ba902b7-01` };
  const { body } = await growth.client.request('POST', '/workflow-runs', { user: 'user_action', headers });
  const run = new ARun(growth, 'user_action', body as never);
  const asked = await run.ask('interview', { requestId, headers });
  const lines = (): readonly GrowthLine[] => growth.lines().filter((line) => line['requestId'] === requestId);
  const found = (process: string, operation: string): GrowthLine | undefined =>
    lines().find((line) => line.process === process && line['operation'] === operation);
  const route = 'POST /workflow-runs/:runId/modules/:moduleId/run';
  // Five processes write their lines, each when it comes to it.
  const awaited = [
    ['api', route],
    ['interview', 'hold-session'],
    ...['interview.hold-session', 'commands', 'to-redis'].map((name) => ['worker', name] as const),
    ...['record', ...PROJECTORS].map((name) => ['events', name] as const),
  ] as const;
  await expect
    .poll(() => awaited.filter(([process, operation]) => found(process, operation) === undefined))
    .toEqual([]);

  const commandId = String(asked.body['commandId']);
  const action = {
    requestId,
    traceId,
    userId: 'user_action',
    orgId: 'org_7',
    actorType: 'workflow-run',
    actorKey: run.runId,
    runId: run.runId,
    moduleId: 'interview',
    missionId: 'career',
    missionInstanceId: run.missionInstanceId,
    stageId: 'interview',
  };
  const key = run.keyOf('interview');
  const ms = expect.any(Number) as number;
  expect(found('api', route)).toMatchObject({
    ...action,
    idempotencyKey: key,
    httpStatus: 202,
    latencyMs: ms,
    commandId,
  });
  const call = { idempotencyKey: key, attempt: 1, httpStatus: 201, latencyMs: ms };
  expect(found('worker', 'interview.hold-session')).toMatchObject({ ...action, ...call, maxAttempts: 3, commandId });
  expect(found('interview', 'hold-session')).toMatchObject({ requestId, userId: 'user_action', ...call });
  const command = { eventId: commandId, eventType: 'command:module.run', source: 'workflows', idempotencyKey: key };
  expect(found('worker', 'commands')).toMatchObject({ ...action, ...command, attempt: 1, latencyMs: ms });

  const dedupeKey = `event:user_action:${run.runId}:interview-completed:v1`;
  const [recorded] = await growth.query<{ event_id: string }>(
    'select event_id from growth.grow_event where dedupe_key = $1 and request_id = $2',
    [dedupeKey, requestId],
  );
  const event = {
    eventId: recorded?.event_id,
    eventType: 'grow.interview-completed',
    source: 'workflows',
    idempotencyKey: dedupeKey,
    attempt: 1,
    latencyMs: ms,
    causationId: commandId,
  };
  expect(found('worker', 'to-redis')).toMatchObject({ ...action, ...event });
  for (const name of ['record', ...PROJECTORS]) expect(found('events', name)).toMatchObject({ ...action, ...event });
  expect(new Set(lines().map((line) => line.process))).toEqual(new Set(['api', 'worker', 'interview', 'events']));

  // Facts are written in the background.
  const traced = async (): Promise<readonly string[]> => {
    const { entries } = JSON.parse(await said(growth, 'trace', requestId, '--json')) as {
      readonly entries: readonly { readonly step: string; readonly what: string }[];
    };
    return entries.map(({ step, what }) => `${step} ${what}`);
  };
  const handled = ['to-redis', 'record', ...PROJECTORS].map((name) => `handled grow.interview-completed → ${name}`);
  const chain = [`request ${route}`, 'call interview.hold-session', 'sent grow.interview-completed'];
  await expect
    .poll(traced)
    .toEqual(expect.arrayContaining([...chain, 'received grow.interview-completed', ...handled]));
});
