import type { Client } from 'pg';
import { describe, expect, onTestFinished } from 'vitest';
import type { Claim, RunEnd } from '../../src/idempotency/idempotency-store.ts';
import { postgresIdempotency } from '../../src/postgres/index.ts';
import { endParams } from '../../src/postgres/idempotency/record-steps.ts';
import { idempotencyStatements } from '../../src/postgres/idempotency/statements.ts';
import { connect, freshSchema, pooled } from '../postgres/support/fresh-schema.ts';
import { needs } from '../support/needs.ts';
import { newClaim } from './new-claim.ts';
import { openPg, withSetting } from './postgres-stores.ts';

const test = needs('postgres');

const RECORDS = 200_000;
/** What a step may read of them: its own, those of one person, or as many as are to be cleared away, and a few in between. */
const FEW = 400;
/** Filling the table takes long on a busy machine. */
const FILLING = { timeout: 300_000 };

const DONE: RunEnd = { kind: 'finish', status: 'completed', reply: { head: '{}', body: new Uint8Array(300) } };

/** Of a hundred records: ten have expired, one has been renewed past that, one runs, one was lost; each person has twenty. */
async function fill(client: Client, schema: string): Promise<void> {
  await client.query(`insert into ${schema}.idempotency
      (id, domain, person, status, fingerprint, owner, run, lease_until, head, body, created_at, updated_at, expires_at, reap_at)
    select 'id ' || n, 'POST /orders', 'person ' || n % ${RECORDS / 20}, case when n % 100 in (1, 2) then 'processing' else 'completed' end,
      'f', 'o', 1, now() + case when n % 100 = 1 then interval '1 hour' else interval '0' end,
      case when n % 100 not in (1, 2) then '{"status":201}' end, case when n % 100 not in (1, 2) then '\\x00'::bytea end,
      now() - interval '1 day', now(), now() + case when n % 100 > 89 then - interval '1 hour' else n * interval '1 second' end,
      now() + case when n % 100 > 88 then - n * interval '1 second' else n * interval '1 second' end
    from generate_series(1, ${RECORDS}) n`);
  await client.query(`analyze ${schema}.idempotency`);
}

/** How many records the statement has read, in the transaction that is then rolled back. */
async function readBy(client: Client, schema: string, statement: string, params: readonly unknown[]): Promise<number> {
  const count = async (): Promise<number> => {
    const { rows } = await client.query<{ n: string }>(`select seq_tup_read + idx_tup_fetch as n
      from pg_stat_xact_user_tables where schemaname = '${schema}' and relname = 'idempotency'`);
    return Number(rows[0]?.n ?? 0);
  };
  await client.query('begin');
  const before = await count();
  await client.query(statement, [...params]);
  const read = (await count()) - before;
  await client.query('rollback');
  return read;
}

function claimParams(about: Partial<Claim>): readonly unknown[] {
  const { id, domain, person, fingerprint, owner, leaseMs, keepMs, takeUnknown } = newClaim({
    fingerprint: 'f',
    ...about,
  });
  return [id, domain, person, fingerprint, owner, leaseMs, keepMs, takeUnknown].map(String);
}

function hotSteps(schema: string): Record<string, [statement: string, params: readonly unknown[]]> {
  const { claim, renew, end, endInside, settled, find, erase, reap } = idempotencyStatements(`"${schema}"`);
  const run = newClaim({ id: 'id 101', owner: 'o', fingerprint: 'f' });
  return {
    'a first claim': [claim, claimParams({})],
    'a claim of what runs': [claim, claimParams({ id: 'id 101' })],
    'a claim of what is finished': [claim, claimParams({ id: 'id 150' })],
    'a claim of what was lost': [claim, claimParams({ id: 'id 102', takeUnknown: true })],
    'a claim of what has expired': [claim, claimParams({ id: 'id 199' })],
    'a claim that is said again': [claim, claimParams({ id: 'id 101', owner: 'o' })],
    'a renewal': [renew, ['id 101', 'o', '1000', '1000']],
    'an end': [end, endParams(run, DONE)],
    'an end in a commit': [endInside, endParams(run, DONE)],
    'a release': [end, endParams(run, { kind: 'release' })],
    'a late end': [end, endParams({ ...run, owner: 'x' }, DONE)],
    'an end of what is gone': [end, endParams({ ...run, id: 'gone' }, DONE)],
    'an end of what has expired': [end, endParams({ ...run, id: 'id 199' }, DONE)],
    'the question after a commit': [settled, ['id 101']],
    'a look': [find, ['id 101']],
    'an erasure': [erase, ['person 77']],
    'clearing a hundred away': [reap, ['100']],
  };
}

describe('the table of idempotency records', () => {
  test(
    `is read by index in every step, with ${RECORDS} records, by custom and generic plans [S1.3]`,
    FILLING,
    async ({ postgres: server }) => {
      const schema = await freshSchema(server);
      const client = await connect(server);
      await fill(client, schema);
      const tooMany: Record<string, number> = {};
      for (const mode of ['force_custom_plan', 'force_generic_plan']) {
        await client.query(`set plan_cache_mode = ${mode}; discard plans`);
        for (const [step, [statement, params]] of Object.entries(hotSteps(schema))) {
          const read = await readBy(client, schema, statement, params);
          if (read > FEW) tooMany[`${step}, ${mode}`] = read;
        }
      }
      expect(tooMany).toEqual({});
      // The check itself: what has no index to follow is seen.
      await client.query(`drop index ${schema}.idempotency_reap, ${schema}.idempotency_person`);
      for (const step of ['clearing a hundred away', 'an erasure']) {
        const [statement, params] = hotSteps(schema)[step] ?? ['', []];
        expect(await readBy(client, schema, statement, params)).toBeGreaterThanOrEqual(RECORDS);
      }
    },
  );

  test('has no index that renewals and ends would have to write to', async ({ postgres: server }) => {
    const schema = await freshSchema(server);
    const { store, close } = await openPg({ url: server.url, schema }, { max: 1 });
    for (let n = 0; n < 100; n += 1) {
      const claim = newClaim();
      await store.claim(claim);
      await store.renew(claim);
      await store.end(claim, DONE);
    }
    // A session tells what it did at the latest when it ends.
    await close();
    const client = await connect(server);
    const updates = async (): Promise<unknown> => {
      const text = `select n_tup_upd::int as all, n_tup_hot_upd::int as hot from pg_stat_user_tables
        where schemaname = '${schema}' and relname = 'idempotency'`;
      const { rows } = await client.query<{ all: number; hot: number }>(text);
      return rows[0] && [rows[0].all, rows[0].hot >= 190];
    };
    await expect.poll(updates).toEqual([200, true]);
  });

  test('takes no record that cannot be, whoever writes it [S0.4]', async ({ postgres: server }) => {
    const schema = await freshSchema(server);
    const client = await connect(server);
    const insert = (about: Record<string, string>): Promise<unknown> => {
      const row = {
        id: `'x'`,
        domain: `'d'`,
        status: `'processing'`,
        fingerprint: `'f'`,
        owner: `'o'`,
        run: '1',
        lease_until: 'now()',
      };
      const times = { created_at: 'now()', updated_at: 'now()', expires_at: 'now()', reap_at: 'now()' };
      const columns = { ...row, ...times, ...about };
      return client.query(
        `insert into ${schema}.idempotency (${Object.keys(columns).join(', ')}) values (${Object.values(columns).join(', ')})`,
      );
    };
    for (const wrong of [
      { status: `'done'` },
      { run: '0' },
      { head: `'{}'` },
      { status: `'unknown'`, head: `'{}'` },
      { status: `'completed'`, head: `'{}'`, forget: 'true' },
      { status: `'completed'`, body: `'\\x00'` },
    ]) {
      await expect(insert(wrong), JSON.stringify(wrong)).rejects.toMatchObject({ code: '23514' });
    }
    await expect(insert({ status: `'failed'`, head: `'{}'`, body: `'\\x00'` })).resolves.toBeDefined();
  });

  test('needs no more of a service’s role than the documented privileges on this one table [S1.3]', async ({
    postgres: server,
  }) => {
    const schema = await freshSchema(server);
    const client = await connect(server);
    const role = `${schema}_service`;
    await client.query(`create role ${role}`);
    onTestFinished(async () => {
      const admin = await connect(server);
      await admin.query(`drop owned by ${role}`);
      await admin.query(`drop role ${role}`);
    });
    await client.query(`grant usage on schema ${schema} to ${role}`);
    await client.query(
      `create table ${schema}.effect (line text); grant select, insert on ${schema}.effect to ${role}`,
    );
    await client.query(`grant select, insert, update on ${schema}.idempotency to ${role}`);
    const pool = pooled({ url: withSetting(server.url, 'role', role) });
    const store = postgresIdempotency({ pool, schema });
    const [claim, other] = [newClaim(), newClaim()];
    await store.claim(claim);
    await expect(store.end(claim, { kind: 'release' })).rejects.toMatchObject({ code: '42501' });
    await client.query(`grant delete on ${schema}.idempotency to ${role}`);
    expect(await store.end(claim, { kind: 'release' })).toBe('ended');
    await store.claim(other);
    expect(await store.renew(other)).toBe(true);
    const committed = await store.commit(other, async () => ({ value: 0, end: DONE }));
    expect(committed.kind).toBe('ended');
    expect((await store.find(other.id))?.status).toBe('completed');
    expect([await store.erase(other.person ?? ''), await store.reap(10)]).toEqual([1, 0]);
  });
});
