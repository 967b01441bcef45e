import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { describe, expect, onTestFinished } from 'vitest';
import { idempotency } from '../../src/idempotency/index.ts';
import { migrate } from '../../src/postgres/index.ts';
import type { SqlTransaction } from '../../src/postgres/sql-runner.ts';
import { openPg, type StoreUnderTest } from '../idempotency-stores/postgres-stores.ts';
import { needs } from '../support/needs.ts';
import { type Adapter, ADAPTERS, type CommonOptions, type Reply, type Work } from './adapters.ts';
import { call } from './call.ts';

const test = needs('postgres');

interface Shop {
  readonly url: string;
  readonly under: StoreUnderTest;
}

async function shop(
  adapter: Adapter,
  { url, namespace: schema }: { url: string; namespace: string },
  handle: (work: Work<SqlTransaction>, under: StoreUnderTest) => Promise<Reply | undefined>,
  options: CommonOptions = {},
): Promise<Shop> {
  const admin = new Client({ connectionString: url });
  await admin.connect();
  await migrate(admin, { schema });
  await admin.query(`create table if not exists ${schema}.effect (line text)`);
  await admin.end();
  const under = await openPg({ url, schema });
  const idem = idempotency({ service: 'shop', store: under.store });
  const server = await adapter.serve(idem, { atomic: true, ...options }, async (work) => handle(work, under));
  onTestFinished(async () => {
    await server.close();
    await under.close();
  });
  return { url: server.url, under };
}

async function* pieces(): AsyncIterable<Uint8Array> {
  for (const text of ['never', ' ', 'seen']) yield new TextEncoder().encode(text);
}

/** From now on the database refuses lines that begin with `late`, when all is done but for the commit. */
async function refuseLate(under: StoreUnderTest): Promise<void> {
  await under.column(
    `create or replace function $.refuse() returns trigger language plpgsql as 'begin raise ''late''; end'`,
  );
  await under.column(`drop trigger if exists late on $.effect`);
  await under.column(
    `create constraint trigger late after insert on $.effect deferrable initially deferred for each row when (new.line like 'late%') execute function $.refuse()`,
  );
}

describe.each(ADAPTERS)('$name in atomic mode', (adapter) => {
  test(`${adapter.name}, atomic: effect and reply are committed together, and replayed [X.15]`, async ({
    postgres,
  }) => {
    const line = randomUUID();
    const { url, under } = await shop(adapter, postgres, async (work, store) =>
      work.commit(async (tx) => {
        await store.effect(tx, line);
        return { status: 201, headers: { 'content-type': 'application/json', 'x-own': 'a' }, body: '{"done":true}' };
      }),
    );
    const key = randomUUID();
    const [first, second] = [await call(url, 'x', { key }), await call(url, 'x', { key })];
    expect(first).toMatchObject({ status: 201, text: '{"done":true}', isReplay: false });
    expect(second).toMatchObject({ status: 201, text: '{"done":true}', isReplay: true });
    expect([first.headers.get('x-own'), second.headers.get('x-own')]).toEqual(['a', 'a']);
    expect(await under.effects(line)).toBe(1);
  });

  test(`${adapter.name}, atomic: what fails inside leaves neither effect nor reply, and runs again [X.15]`, async ({
    postgres,
  }) => {
    const line = randomUUID();
    let time = 0;
    const { url, under } = await shop(adapter, postgres, async (work, store) =>
      work.commit(async (tx) => {
        await store.effect(tx, line);
        if (++time === 1) throw new Error('no stock');
        return { status: 200, body: 'ok' };
      }),
    );
    const key = randomUUID();
    expect((await call(url, 'x', { key })).status).toBe(500);
    expect(await under.effects(line)).toBe(0);
    expect(await call(url, 'x', { key })).toMatchObject({ status: 200, text: 'ok', isReplay: false });
    expect(await under.effects(line)).toBe(1);
  });

  test(`${adapter.name}, atomic: a commit that fails at its very end takes its reply back [X.15]`, async ({
    postgres,
  }) => {
    const { url, under } = await shop(adapter, postgres, async (work, store) =>
      work.commit(async (tx) => {
        await store.effect(tx, (work.body as { line: string }).line);
        return { status: 200, headers: { 'x-own': 'never seen' }, body: 'ok' };
      }),
    );
    await refuseLate(under);
    const key = randomUUID();
    const refused = await call(url, 'x', { key, body: { line: `late ${key}` } });
    expect([refused.status, refused.headers.get('x-own')]).toEqual([500, null]);
    expect(await under.effects(`late ${key}`)).toBe(0);
    await under.column(`drop trigger late on $.effect`);
    expect(await call(url, 'x', { key, body: { line: `late ${key}` } })).toMatchObject({ status: 200, text: 'ok' });
    expect(await under.effects(`late ${key}`)).toBe(1);
  });

  test(`${adapter.name}, atomic: without a key too, a reply is not sent before its commit, and not if that fails [X.15]`, async ({
    postgres,
  }) => {
    const { url, under } = await shop(
      adapter,
      postgres,
      async (work, store) =>
        work.commit(async (tx) => {
          await store.effect(tx, (work.body as { line: string }).line);
          return { status: 201, headers: { 'x-own': 'a' }, body: 'ok' };
        }),
      { required: false },
    );
    const line = randomUUID();
    const made = await call(url, 'x', { key: null, body: { line } });
    expect(await under.effects(line)).toBe(1);
    expect(made).toMatchObject({ status: 201, text: 'ok' });
    expect([made.headers.get('x-own'), made.headers.get('idempotent-replayed')]).toEqual(['a', null]);
    await refuseLate(under);
    const refused = await call(url, 'x', { key: null, body: { line: `late ${line}` } });
    expect([refused.status, refused.headers.get('x-own')]).toEqual([500, null]);
    expect(await under.effects(`late ${line}`)).toBe(0);
    await under.column(`drop trigger late on $.effect`);
  });

  test.for([
    ['at once', { body: 'never seen' }],
    ['in pieces', { pieces }],
  ] as const)(
    `${adapter.name}, atomic: a reply %s is taken back with its commit; the next is as if it had not been tried [X.15]`,
    async ([_how, reply], { postgres }) => {
      const line = `late ${randomUUID()}`;
      const { url, under } = await shop(adapter, postgres, async (work, store) => {
        const failing = async (tx: SqlTransaction): Promise<Reply> => {
          await store.effect(tx, line);
          return { status: 202, headers: { 'x-own': 'never seen' }, ...reply };
        };
        await expect(work.commit(failing)).rejects.toThrow('late');
        return { headers: { 'content-type': 'text/plain' }, body: 'another time' };
      });
      await refuseLate(under);
      const key = randomUUID();
      for (const isReplay of [false, true]) {
        const answer = await call(url, 'x', { key });
        expect(answer).toMatchObject({ status: 200, text: 'another time', isReplay });
        expect(answer.headers.get('x-own')).toBeNull();
      }
      expect(await under.effects(line)).toBe(0);
    },
  );
});
