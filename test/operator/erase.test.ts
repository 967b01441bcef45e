import { randomUUID } from 'node:crypto';
import { describe, expect } from 'vitest';
import { command, durableCommands } from '../../src/commands/index.ts';
import { event, type SendOptions } from '../../src/index.ts';
import { idempotency } from '../../src/idempotency/index.ts';
import { factRecorder, postgresCommands, postgresIdempotency, postgresOperator } from '../../src/postgres/index.ts';
import { runHere } from '../cli/run-here.ts';
import { type TestService, testService } from '../relay/service.ts';
import { needs, type TestServer } from '../support/needs.ts';

const test = needs('postgres');

const ANN = { actor: 'ann', reason: 'request of 3 May' };
/** What must be nowhere afterwards. */
const NAME = 'Grace Murray Hopper';
const PERSON = 'usr_grace';
interface SignedUp {
  readonly name: string;
  readonly user: string;
  readonly fails?: boolean;
}

const signedUp = event<SignedUp>('user.signed-up', {
  key: ({ user }) => `user ${user}`,
  person: ({ user }) => user,
});
const TABLES = `select table_name::text from information_schema.tables where table_schema = $1 and table_type = 'BASE TABLE'`;

/**
 * Tables in a row of which a text stands. Not that of error groups: nobody can tell whom the text of one is about, and it is forgotten
 * thirty days after it was seen last.
 */
async function tablesWith({ pool, schema }: TestService, text: string): Promise<readonly string[]> {
  const { rows } = await pool.query<{ table_name: string }>(TABLES, [schema]);
  const found: string[] = [];
  for (const { table_name: name } of rows) {
    if (/^delivered_|^error_group$/.test(name)) continue;
    const hits = await pool.query(`select 1 from "${schema}"."${name}" t where t::text like $1 limit 1`, [`%${text}%`]);
    if (hits.rowCount) found.push(name);
  }
  return found.sort();
}

/** A service in whose every table there is something about Grace, and about somebody else. */
async function knowing(server: TestServer): Promise<TestService & { readonly ids: Readonly<Record<string, string>> }> {
  const here = await testService(server);
  const { hf, pool, schema } = here;
  hf.on(
    signedUp,
    'mail',
    ({ name, fails }) => {
      if (fails) throw new Error(`no mailbox for ${name}`);
    },
    { onDead: 'pass', policy: { maxAttempts: 1 } },
  );
  const greet = command<{ name: string; user: string }>('greet', {
    target: ({ user }) => user.slice(0, 3),
    key: ({ user }) => `greet:${user.slice(0, 3)}`,
  });
  const commands = durableCommands({ holdfast: hf, store: postgresCommands({ pool, schema }) });
  commands.handle(greet, async ({ name }) => ({ said: `Hello ${name}` }));
  const relay = await here.start();
  const send = (payload: SignedUp, options: SendOptions = {}): Promise<string> =>
    here.inTransaction(async (tx) => (await hf.send(tx, signedUp, payload, options)).id);
  const ids = {
    done: await send({ name: NAME, user: PERSON }, { correlationId: 'req_1', headers: { note: NAME } }),
    dead: await send({ name: NAME, user: PERSON, fails: true }),
    other: await send({ name: 'Ada Lovelace', user: 'usr_ada', fails: true }),
  };
  await here.inTransaction((tx) => commands.send(tx, greet, { name: NAME, user: PERSON }, { userId: PERSON }));
  await expect.poll(() => here.column(`select count(*)::int from $.delivery where state <> 2`)).toEqual([0]);
  const operator = postgresOperator({ pool, schema });
  await operator.edit(ids.dead, { name: `${NAME}!`, user: PERSON, fails: true }, ANN);
  await expect.poll(() => here.column(`select count(*)::int from $.delivery where state = 2`)).toEqual([2]);
  await relay.stop();
  const facts = factRecorder({ pool, schema, service: 'orders' });
  facts.note(`seen ${NAME}`, { userId: PERSON });
  facts.note('seen Ada', { userId: 'usr_ada' });
  await facts.stop();
  const guard = idempotency({ service: 'orders', store: postgresIdempotency({ pool, schema }) });
  const entry = await guard.enter({ domain: 'POST /x', key: 'k', person: PERSON, fingerprint: 'f' });
  if (entry.kind !== 'run') throw new Error(entry.kind);
  await entry.run.end({ kind: 'finish', status: 'completed', reply: { head: JSON.stringify(NAME), body: undefined } });
  return { ...here, ids: { ...ids, open: await send({ name: NAME, user: PERSON }) } };
}

describe('what is known of a person', () => {
  test('is counted, erased everywhere but where it is open, and audited; of others nothing is lost [X.17]', async ({
    postgres,
  }) => {
    const here = await knowing(postgres);
    const operator = postgresOperator({ pool: here.pool, schema: here.schema });
    const before = await tablesWith(here, NAME);
    expect(before).toEqual(expect.arrayContaining(['delivered', 'delivery', 'edit', 'fact']));
    const ada = await tablesWith(here, 'Ada');
    const counts = { messages: 3, open: 1, commands: 1, facts: 1, idempotencyRecords: 1 };
    expect(await operator.previewErase({ person: PERSON })).toEqual(counts);
    expect(await tablesWith(here, NAME)).toEqual(before);
    const { erasure } = await operator.erase({ person: PERSON }, ANN);
    expect(erasure).toMatchObject({ state: 'done', counts: { ...counts, messages: 2 } });
    // The open message is left as it is, and said to be.
    expect(await tablesWith(here, NAME)).toEqual(['delivery']);
    expect(await operator.erase({ person: PERSON }, ANN, { open: true })).toMatchObject({
      erasure: { state: 'done', counts: { messages: 1, open: 0 } },
    });
    expect(await tablesWith(here, NAME)).toEqual([]);
    expect(await tablesWith(here, PERSON)).toEqual([]);
    expect(await tablesWith(here, 'Ada')).toEqual(ada);
    expect(await operator.previewErase({ person: PERSON })).toEqual({
      messages: 0,
      open: 0,
      commands: 0,
      facts: 0,
      idempotencyRecords: 0,
    });
    const { items } = await operator.audit({ verb: 'erase' });
    expect(items.map(({ actor, reason, details }) => `${actor}, ${reason}: ${String(details['state'])}`)).toEqual(
      ['done', 'running', 'done', 'running'].map((state) => `${ANN.actor}, ${ANN.reason}: ${state}`),
    );
    expect(await operator.verifyAudit()).toMatchObject({ kind: 'whole' });
    // What is left of a message is that it was there and how it ended.
    expect(await operator.show(here.ids['done'] ?? '')).toMatchObject({
      message: { payload: { $erased: true }, key: undefined, deliveries: [{ status: 'delivered' }] },
    });
    expect(await operator.show(here.ids['other'] ?? '')).toMatchObject({
      message: { payload: { name: 'Ada Lovelace' } },
    });
  });

  test('is erased to the end after an interruption, by whoever asks again, on the command line too [X.17]', async ({
    postgres,
  }) => {
    const here = await knowing(postgres);
    const env = { HOLDFAST_DATABASE_URL: postgres.url, HOLDFAST_SCHEMA: here.schema };
    const run = (...args: readonly string[]): ReturnType<typeof runHere> => runHere(['erase', ...args], { env });
    // As a process that died after the first batch left it.
    const id = randomUUID();
    await here.pool.query(
      `insert into "${here.schema}".erasure (id, mark, person, is_open, by_payload, actor, reason) values ($1, 'abcd', $2, true, false, 'bob', 'x')`,
      [id, PERSON],
    );
    await here.pool.query(`select "${here.schema}".erase_step($1, '{}')`, [id]);
    expect((await run()).out).toMatch(/running +person +abcd +3/);
    expect(await run('--person', PERSON, '--dry-run')).toMatchObject({
      code: 0,
      out: expect.stringMatching(
        /^Would erase 0 messages, 1 command, 1 fact, 1 idempotency record\.\nNot reached: copies at brokers/,
      ),
    });
    expect(await run('--person', PERSON, '--open', '--reason', 'x')).toMatchObject({
      code: 1,
      err: expect.stringContaining('--yes'),
    });
    const done = await run('--person', PERSON, '--open', '--reason', 'x', '--yes', '--json');
    expect(JSON.parse(done.out)).toMatchObject({
      erasure: { id, state: 'done', actor: 'bob', counts: { messages: 3, commands: 1 } },
    });
    expect(await tablesWith(here, NAME)).toEqual([]);
    expect(await run('--payload', 'name=Ada Lovelace', '--reason', 'x', '--yes')).toMatchObject({
      code: 0,
      out: expect.stringContaining('Erased 1 message, 0 commands'),
    });
    expect(await tablesWith(here, 'Ada Lovelace')).toEqual([]);
    expect(await run('--payload', 'name', '--dry-run')).toMatchObject({ code: 2 });
  });

  test('that was erased is not handled again: a rerun of it is a dead letter that says so [X.17]', async ({
    postgres,
  }) => {
    const here = await testService(postgres);
    const seen: unknown[] = [];
    here.hf.on(signedUp, 'mail', (user) => void seen.push(user), { repeatable: true });
    await here.start();
    const { id } = await here.inTransaction((tx) => here.hf.send(tx, signedUp, { name: NAME, user: PERSON }));
    await expect.poll(() => here.column('select outcome from $.delivered')).toEqual([0]);
    const operator = postgresOperator({ pool: here.pool, schema: here.schema });
    await operator.erase({ person: PERSON }, ANN);
    expect(await operator.replay(id, ANN, { handlers: ['mail'], rerun: true })).toMatchObject({ kind: 'replayed' });
    await expect
      .poll(() => here.column(`select error ->> 'code' from $.delivery where state = 2`))
      .toEqual(['PAYLOAD_ERASED']);
    expect(seen).toHaveLength(1);
  });
});
