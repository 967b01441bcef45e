import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { expect, onTestFinished } from 'vitest';
import type { Growth } from '../../examples/growth-backend/start-growth.ts';
import { runHoldfast } from '../cli/holdfast-process.ts';
import { needs } from '../support/needs.ts';
import { growEvent, projectionsOf, streamState } from './stream.ts';
import { ARun } from './a-run.ts';
import { sharedGrowth } from './shared-growth.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The example runs once for all of them. */
const theGrowth = sharedGrowth();
const test = needs('postgres', 'redis').extend<{ growth: Growth }>({
  growth: async ({ postgres, redis }, use) => use(await theGrowth({ postgres, redis })),
});

interface RunRow {
  readonly projector: string;
  readonly status: string;
  readonly attempt: number;
}

/** What became of an event, for each projector. */
async function runsOf({ query }: Growth, eventId: string): Promise<Readonly<Record<string, string>>> {
  const rows = await query<RunRow>(
    `select projector, status, attempt from holdfast.run_log where event_id = $1 and service = 'projections'`,
    [eventId],
  );
  return Object.fromEntries(rows.map(({ projector, status, attempt }) => [projector, `${status} ${attempt}`]));
}

/** The id under which an event is stored; nothing before it is. */
async function eventIdOf({ query }: Growth, dedupeKey: string): Promise<string | undefined> {
  const [row] = await query<{ event_id: string }>('select event_id from growth.grow_event where dedupe_key = $1', [
    dedupeKey,
  ]);
  return row?.event_id;
}

/** `npm run events:replay -- …`, as an operator of the example types it. */
async function npmReplay({ env }: Growth, ...args: string[]): Promise<string> {
  const line = ['run', '--silent', 'events:replay', '--', ...args];
  return (await promisify(execFile)('npm', line, { cwd: ROOT, env })).stdout.trim();
}

/** What that script runs, without npm, which takes longer than all of it. */
async function replay({ env }: Growth, ...args: string[]): Promise<string> {
  const { code, out, err } = await runHoldfast(['events:replay', ...args], {
    env: { DATABASE_URL: env['DATABASE_URL'] },
  });
  if (code !== 0) throw new Error(err);
  return out.trim();
}

test(
  'the growth backend: an event that comes again under its dedupe key is one row, and nothing of the projections is written anew [S0.8] [S0.11] [X.7]',
  // The first of them starts everything.
  { timeout: 240_000 },
  async ({ growth }) => {
    const event = growEvent('duplicate');
    await growth.emit(event);
    await growth.emit({ ...event, eventId: 'another-id-of-the-same' });
    await expect
      .poll(() => projectionsOf(growth, 'user_duplicate'))
      .toMatchObject({
        events: [{ dedupe_key: event.dedupeKey, request_id: 'request-duplicate', source: 'interview-service' }],
        scores: [{ signal_id: 'speaking', points: 35 }],
        sessions: [{ service_id: 'interview', external_id: 'session_duplicate', status: 'completed' }],
        missions: [{ progress: 30 }],
        stages: [{ stage_id: 'interview', status: 'done' }],
        suggestions: [{ suggestion: 'Draft a plan' }],
        artifacts: [{ external_id: 'recording_duplicate', type: 'recording' }],
      });
    const before = await projectionsOf(growth, 'user_duplicate');
    // From another service, in another place of the stream and under another id: still the same event to who keeps a record of them.
    await growth.emit({ ...event, source: 'a-second-service' });
    await growth.emit(event);
    await expect.poll(() => streamState(growth)).toEqual({ pending: 0, isRead: true });
    const open = `select 1 from holdfast.delivery where type = 'grow.interview-completed'`;
    await expect.poll(() => growth.query(open)).toEqual([]);
    expect(await projectionsOf(growth, 'user_duplicate')).toEqual(before);
    const eventId = (await eventIdOf(growth, event.dedupeKey)) ?? '';
    // What came over the stream alone is found by its user all the same.
    const env = { DATABASE_URL: growth.env['DATABASE_URL'] };
    const traced = async (): Promise<string> => (await runHoldfast(['trace', 'user_duplicate', '--json'], { env })).out;
    await expect.poll(traced).toContain(eventId);
    const once = 'delivered 1';
    expect(await runsOf(growth, eventId)).toEqual({
      record: once,
      qscore: once,
      'service-session': once,
      artifact: once,
      'mission-stage': once,
    });
  },
);

test('the growth backend: an event that fails is acknowledged at Redis only when it is on record, and ends as a dead letter in Redis and in PostgreSQL [S0.8] [S0.9]', async ({
  growth,
}) => {
  // Nothing that comes from the stream can be stored.
  const lock = new Client({ connectionString: growth.settings.databaseUrl });
  await lock.connect();
  onTestFinished(() => lock.end());
  await lock.query('begin; lock table holdfast.inbox in share mode');
  const event = growEvent('poison', { signal: { signalId: 'charisma', points: 50 } });
  const entry = await growth.emit(event);
  await expect.poll(() => streamState(growth)).toEqual({ pending: 1, isRead: true });
  const stored = (): Promise<readonly { id: string }[]> =>
    growth.query<{ id: string }>('select id from holdfast.inbox where source_id like $1', [`%@${entry}`]);
  expect(await stored()).toEqual([]);
  await lock.query('commit');
  await expect.poll(async () => (await streamState(growth)).pending).toBe(0);
  const [row] = await stored();
  expect(row).toBeDefined();

  const failed = `select handler, status, attempts, error ->> 'name' as error, payload ->> 'dedupeKey' as "dedupeKey",
      source_stream, source_message_id
    from holdfast.dead_letters where message_id = $1`;
  const letter = { handler: 'qscore', status: 'pending', attempts: 4, error: 'UnknownSignalError' };
  const source = { source_stream: growth.streams.events, source_message_id: entry, dedupeKey: event.dedupeKey };
  await expect.poll(() => growth.query(failed, [row?.id])).toEqual([{ ...letter, ...source }]);
  const entries = async (): Promise<readonly Readonly<Record<string, string>>[]> =>
    (await growth.redis.xrange(growth.streams.dead, '-', '+')).map(([, fields]) =>
      Object.fromEntries(fields.flatMap((name, n) => (n % 2 === 0 ? [[name, fields[n + 1] ?? '']] : []))),
    );
  await expect
    .poll(async () => (await entries()).filter((one) => one['ce_id'] === row?.id))
    .toMatchObject([{ 'dlq-reason': 'UnknownSignalError', 'dlq-attempts': '4', 'dlq-service': 'projections' }]);
  // The others are done with it.
  expect(await runsOf(growth, row?.id ?? '')).toMatchObject({ qscore: 'failed 4', 'mission-stage': 'delivered 1' });
  const told = (): readonly unknown[] =>
    growth
      .lines()
      .filter((line) => line['eventId'] === row?.id && line['operation'] === 'qscore')
      .map(({ attempt, dlqId, level }) => [attempt, level, dlqId !== undefined]);
  await expect.poll(told).toEqual([
    [1, 'warn', false],
    [2, 'warn', false],
    [3, 'warn', false],
    [4, 'error', true],
  ]);
});

test('the growth backend: events:replay with each of its flags runs what was chosen again, and mission and score follow [S0.10] [S0.11]', async ({
  growth,
}) => {
  const poison = (name: string): ReturnType<typeof growEvent> =>
    growEvent(name, { stageId: 'portfolio', signal: { signalId: 'craft', points: 60 } });
  const events = [poison('one'), poison('two'), poison('three')];
  for (const event of events) await growth.emit(event);
  const dead = `select message_id, id from holdfast.dead_letters where payload ->> 'stageId' = 'portfolio' and status = 'pending'
    and ($1::text is null or payload ->> 'dedupeKey' = $1) and ($2::text is null or handler = $2)`;
  const deadIds = async (key?: string, handler?: string): Promise<readonly string[]> =>
    (await growth.query<{ id: string }>(dead, [key ?? null, handler ?? null])).map(({ id }) => id);
  await expect.poll(async () => (await deadIds()).length).toBe(6);
  await growth.query(`insert into growth.signal values ('craft', 0.1)`);
  await growth.query(`insert into growth.mission_stage values ('career', 'portfolio', 80, 'Show it')`);

  const [one = '', two = ''] = await Promise.all(events.map(async ({ dedupeKey }) => eventIdOf(growth, dedupeKey)));
  const storedKeys = `select id::text, idempotency_key as key, payload ->> 'dedupeKey' as dedupe from holdfast.outbox
    where id = any ($1::uuid[]) order by dedupe`;
  const keysBefore = await growth.query(storedKeys, [[one, two]]);
  // Their id is made from the key that they bring, and is the key they are stored under.
  expect(keysBefore).toEqual([
    { id: one, key: one, dedupe: events[0]?.dedupeKey },
    { id: two, key: two, dedupe: events[1]?.dedupeKey },
  ]);
  const [qscoreOfOne = ''] = await deadIds(events[0]?.dedupeKey, 'qscore');
  expect(await npmReplay(growth, '--dlq', '--id', qscoreOfOne)).toBe('1 delivery will run again.');
  await expect.poll(() => runsOf(growth, one)).toMatchObject({ qscore: 'delivered 1', 'mission-stage': 'failed 4' });

  expect(await replay(growth, '--event-id', two, '--projectors', 'mission-stage')).toBe('1 delivery will run again.');
  await expect.poll(() => runsOf(growth, two)).toMatchObject({ 'mission-stage': 'delivered 1', qscore: 'failed 4' });

  const chosen = ['--status', 'failed', '--service', 'projections', '--type', 'grow.interview-completed'];
  expect(await replay(growth, ...chosen, '--since', '1h', '--limit', '100', '--dry-run')).toMatch(/^Would replay \d/);
  await replay(growth, ...chosen, '--since', '1h', '--limit', '100', '--reason', 'catalogue mended');
  await expect.poll(() => deadIds()).toEqual([]);
  for (const name of ['one', 'two', 'three']) {
    await expect
      .poll(() => projectionsOf(growth, `user_${name}`))
      .toMatchObject({
        scores: [{ points: 6 }],
        missions: [{ progress: 80 }],
        suggestions: [{ suggestion: 'Show it' }],
      });
  }
  // What succeeded runs again only when that is asked for.
  const before = await projectionsOf(growth, 'user_one');
  const both = ['--event-id', one, '--projectors', 'qscore,service-session'];
  expect(await replay(growth, ...both)).toBe('2 deliveries will run again.');
  const reruns = `select projector from holdfast.run_log where event_id = $1 and rerun = 1 and status = 'delivered' order by 1`;
  await expect
    .poll(() => growth.query(reruns, [one]))
    .toEqual([{ projector: 'qscore' }, { projector: 'service-session' }]);
  expect(await projectionsOf(growth, 'user_one')).toEqual(before);
  const statuses = `select distinct status from holdfast.dead_letters where payload ->> 'stageId' = 'portfolio'`;
  expect(await growth.query(statuses)).toEqual([{ status: 'replayed' }]);
  // Replayed, and run again: under the keys they came with.
  expect(await growth.query(storedKeys, [[one, two]])).toEqual(keysBefore);
});

test('the growth backend: an event of a type that nobody knows is a dead letter in PostgreSQL and in the stream, like one that cannot be read [S0.8] [S0.9]', async ({
  growth,
}) => {
  const entry = await growth.emit(growEvent('typo', { type: 'interview-complete' }));
  const letters = `select handler, error ->> 'code' as code, error ->> 'message' as message from holdfast.dead_letters
    where source_message_id = $1`;
  await expect
    .poll(() => growth.query(letters, [entry]))
    .toEqual([
      {
        handler: 'from-redis',
        code: 'MESSAGE_UNREADABLE',
        message: expect.stringContaining('nobody knows the type "interview-complete"; known are interview-completed,'),
      },
    ]);
  const garbled = await growth.redis.xadd(growth.streams.events, '*', 'event', '{"type":"interv');
  const copies = async (): Promise<readonly (readonly string[])[]> =>
    (await growth.redis.xrange(growth.streams.dead, '-', '+')).map(([, fields]) => fields);
  for (const [found, text] of [
    [entry, '"interview-complete"'],
    [garbled, '{"type":"interv'],
  ]) {
    const source = `redis:${growth.streams.events}@${found}`;
    const copy = async (): Promise<readonly string[]> => (await copies()).find((one) => one.includes(source)) ?? [];
    await expect.poll(copy).toEqual(expect.arrayContaining(['dlq-reason', 'MESSAGE_UNREADABLE']));
    expect((await copy())[(await copy()).indexOf('event') + 1]).toContain(text);
  }
});

test('the growth backend: the relations of its retry plan have the columns of that plan, and the rows of what happened [S0.4] [S0.9] [S0.11]', async ({
  growth,
}) => {
  const run = await ARun.create(growth, 'user_plan');
  await run.ask('interview');
  await run.until('interview', 'done');
  const keys = `select key, domain, user_id, status, request_hash, response, error, expires_at > now() as "isKept", created_at <= updated_at as "isUpdated"
    from growth.idempotency_keys where key = $1`;
  expect(await growth.query(keys, [run.keyOf('interview')])).toEqual([
    {
      key: run.keyOf('interview'),
      domain: 'workflow',
      user_id: 'user_plan',
      status: 'completed',
      request_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      response: expect.anything(),
      error: null,
      isKept: true,
      isUpdated: true,
    },
  ]);
  const statuses = 'select distinct status from growth.idempotency_keys';
  const allowed = ['processing', 'completed', 'failed'];
  for (const { status } of await growth.query<{ status: string }>(statuses)) expect(allowed).toContain(status);

  const entry = await growth.emit(growEvent('planned', { signal: { signalId: 'nerve', points: 10 } }));
  const letters = `select id, source_stream, source_message_id, payload ->> 'userId' as "userId", error, attempts,
      last_attempt_at is not null as "hasTime", status, created_at <= updated_at as "isUpdated"
    from growth.grow_event_dlq where source_message_id = $1`;
  await expect
    .poll(() => growth.query(letters, [entry]))
    .toEqual([
      {
        id: expect.stringMatching(/:\d+$/),
        source_stream: growth.streams.events,
        source_message_id: entry,
        userId: 'user_planned',
        error: expect.stringContaining('nerve'),
        attempts: 4,
        hasTime: true,
        status: 'pending',
        isUpdated: true,
      },
    ]);
  const runs = `select projector, status, attempt, error is null as "isFine", started_at <= completed_at as "isTimed"
    from growth.grow_event_projector_runs where event_id = (select message_id from holdfast.dead_letters
      where source_message_id = $1) and projector in ('qscore', 'service-session') order by 1`;
  await expect
    .poll(() => growth.query(runs, [entry]))
    .toEqual([
      { projector: 'qscore', status: 'failed', attempt: 4, isFine: false, isTimed: true },
      { projector: 'service-session', status: 'delivered', attempt: 1, isFine: true, isTimed: true },
    ]);
});
