import { type Client } from 'pg';
import { describe, expect, onTestFinished } from 'vitest';
import { needs, type TestServer } from '../support/needs.ts';
import { runHoldfast } from './holdfast-process.ts';
import { connect, ownSchema } from './own-schema.ts';

const test = needs('postgres');

// Other tests share the server; their sessions are not what these tests are about.
const OTHERS_IDLE = '1h';

interface Finding {
  readonly check: string;
  readonly status: string;
  readonly found: string;
  readonly next?: string;
}

interface Report {
  readonly code: unknown;
  readonly isWell: boolean;
  readonly findings: readonly Finding[];
  readonly defaults: readonly { readonly setting: string; readonly value: string }[];
}

async function examine(env: NodeJS.ProcessEnv, stuckAfter = OTHERS_IDLE): Promise<Report> {
  const { code, out, err } = await runHoldfast(['doctor', '--json', '--stuck-after', stuckAfter], { env });
  expect(err).toBe('');
  return { code, ...(JSON.parse(out) as Omit<Report, 'code'>) };
}

async function migrated(server: TestServer): Promise<{ schema: string; env: NodeJS.ProcessEnv; client: Client }> {
  const { schema, env } = ownSchema(server);
  const client = await connect(server);
  expect((await runHoldfast(['migrate'], { env })).code).toBe(0);
  return { schema, env, client };
}

let roles = 0;

/** A role that may log in and nothing else, and the URL with which it does. */
async function plainRole(server: TestServer, client: Client): Promise<{ role: string; url: string }> {
  const role = `${server.namespace}_role_${(roles += 1)}`;
  await client.query(`create role ${role} login password 'geheim'`);
  onTestFinished(async () => {
    const cleaner = await connect(server);
    await cleaner.query(`drop owned by ${role}`);
    await cleaner.query(`drop role ${role}`);
  });
  const url = new URL(server.url);
  url.username = role;
  url.password = 'geheim';
  return { role, url: url.href };
}

function of(report: Report, check: string): Finding | undefined {
  return report.findings.find((one) => one.check === check);
}

describe('holdfast doctor', () => {
  test('finds all well on a migrated database, and prints every default', async ({ postgres }) => {
    const { env } = await migrated(postgres);
    const report = await examine(env);
    expect(report.findings.filter((one) => one.status === 'problem')).toEqual([]);
    expect(report).toMatchObject({ code: 0, isWell: true });
    expect(report.findings.map((one) => one.check)).toEqual([
      'connection',
      'server version',
      'writable',
      'durability',
      'connections',
      'idle in transaction',
      'clock',
      'pooler',
      'wake-up',
      'schema version',
      'row security',
      'privileges',
      'autovacuum',
      'workers',
      'handlers',
      'dead letters',
    ]);
    expect(of(report, 'durability')?.found).toBe('fsync on, synchronous_commit on, full_page_writes on');
    expect(report.defaults).toEqual(
      expect.arrayContaining([
        { setting: 'attempts of a handler', value: '5', set: 'on(…, { policy })' },
        { setting: 'idempotency keys kept', value: '7 days', set: 'postgres({ dedupMs })' },
        { setting: 'time to end at a stop', value: '10 s', set: 'stop({ drainMs }), relay --drain' },
        {
          setting: 'migrate waits for a lock',
          value: '5 s',
          set: 'migrate({ lockTimeoutMs }), migrate --lock-timeout',
        },
      ]),
    );
  });

  test('tells people the same, with the next step below each problem', async ({ postgres }) => {
    const { schema, env } = ownSchema(postgres);
    const { code, out } = await runHoldfast(['doctor', '--stuck-after', OTHERS_IDLE], { env });
    expect(code).toBe(1);
    expect(out).toMatch(
      new RegExp(
        `^problem  schema version +no schema "${schema}", or none of ours\\n +→ run holdfast migrate --schema ${schema}$`,
        'm',
      ),
    );
    expect(out).toMatch(/^skipped  privileges +needs the schema$/m);
    expect(out).toMatch(/^1 problem(?: and .*)?\.$/m);
  });

  test('sees a schema that is newer than this release', async ({ postgres }) => {
    const { schema, env, client } = await migrated(postgres);
    const future = (serves: number): Promise<unknown> =>
      client.query(
        `insert into ${schema}.migration (version, name, serves) values (${997 + serves}, 'future', ${serves})`,
      );
    await future(1);
    expect(of(await examine(env), 'schema version')).toMatchObject({
      status: 'ok',
      found: expect.stringContaining('which serves this release (1) too'),
    });
    await future(2);
    const report = await examine(env);
    expect(of(report, 'schema version')).toMatchObject({
      status: 'problem',
      found: expect.stringContaining('is at version 999'),
      next: 'install the newer release',
    });
    // What would fail for the same reason is not told a second time.
    expect(of(report, 'handlers')).toMatchObject({ status: 'skipped' });
    expect(of(report, 'privileges')?.status).toBe('ok');
  });

  test('lists what a role may not do, with the statement that grants it', async ({ postgres }) => {
    const { schema, env, client } = await migrated(postgres);
    const { role, url } = await plainRole(postgres, client);
    const as = { ...env, HOLDFAST_DATABASE_URL: url };
    const before = await examine(as);
    expect(of(before, 'privileges')).toMatchObject({
      status: 'problem',
      found: expect.stringContaining(`${role} lacks usage of the schema`),
    });
    const grants = of(before, 'privileges')?.next ?? '';
    expect(grants).toContain(`grant usage on schema ${schema} to ${role}`);
    await client.query(grants);
    await client.query(`revoke delete on ${schema}.delivery from ${role}`);
    expect(of(await examine(as), 'privileges')?.found).toBe(`${role} lacks delete on delivery`);
    await client.query(`grant delete on ${schema}.delivery to ${role}`);
    await client.query(`revoke insert, update on ${schema}.idempotency from ${role}`);
    await client.query(`revoke execute on all functions in schema ${schema} from public`);
    const lacks = of(await examine(as), 'privileges');
    expect(lacks?.found).toContain('insert/update on idempotency');
    expect(lacks?.found).toMatch(/execute on \w+/);
    await client.query(lacks?.next ?? '');
    const after = await examine(as);
    expect(after.findings.filter((one) => one.status === 'problem')).toEqual([]);
    expect(after.code).toBe(0);
  });

  test('sees that row security hides rows from this user', async ({ postgres }) => {
    const { schema, env, client } = await migrated(postgres);
    const { role, url } = await plainRole(postgres, client);
    await client.query(
      `grant usage on schema ${schema} to ${role}; grant all on all tables in schema ${schema} to ${role}`,
    );
    await client.query(`alter table ${schema}.delivery enable row level security`);
    expect(of(await examine({ ...env, HOLDFAST_DATABASE_URL: url }), 'row security')).toMatchObject({
      status: 'problem',
      found: expect.stringContaining('delivery'),
    });
    expect(of(await examine(env), 'row security')?.status).toBe('ok');
  });

  test('names a session that idles in a transaction', async ({ postgres }) => {
    const { env, client } = await migrated(postgres);
    await client.query('begin');
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const report = await examine(env, '0s');
    await client.query('rollback');
    const found = report.findings.filter((one) => one.check === 'idle in transaction');
    expect(found).toContainEqual(
      expect.objectContaining({
        status: 'problem',
        next: expect.stringContaining(`pg_terminate_backend(${rows[0]?.pid})`),
      }),
    );
  });

  test('sees that autovacuum is off where it matters most', async ({ postgres }) => {
    const { schema, env, client } = await migrated(postgres);
    await client.query(`alter table ${schema}.delivery set (autovacuum_enabled = false)`);
    expect(of(await examine(env), 'autovacuum')).toMatchObject({
      status: 'problem',
      next: expect.stringContaining(`alter table ${schema}.delivery reset (autovacuum_enabled)`),
    });
  });

  test('sees that commits are not waited for', async ({ postgres }) => {
    const { env } = await migrated(postgres);
    const url = new URL(postgres.url);
    url.searchParams.set('options', '-c synchronous_commit=off');
    const report = await examine({ ...env, HOLDFAST_DATABASE_URL: url.href });
    expect(of(report, 'durability')).toMatchObject({
      status: 'problem',
      next: expect.stringContaining('synchronous_commit'),
    });
  });

  test('a database that is away is one problem, without the password', async () => {
    const { code, out, err } = await runHoldfast(['doctor', '--url', 'postgres://me:geheim@127.0.0.1:1/db']);
    expect(code).toBe(1);
    expect(out).toContain('problem  connection  the database at 127.0.0.1:1/db as me cannot be reached');
    expect(out + err).not.toContain('geheim');
  });
});
