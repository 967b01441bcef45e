import { Client, Pool, type PoolClient } from 'pg';
import { describe, expect, onTestFinished } from 'vitest';
import { command, durableCommands } from '../../src/commands/index.ts';
import { idempotency } from '../../src/idempotency/index.ts';
import { event, holdfast } from '../../src/index.ts';
import {
  type DatabaseRole,
  factRecorder,
  grantsScript,
  postgres,
  postgresCommands,
  postgresDelivery,
  postgresIdempotency,
  postgresOperator,
} from '../../src/postgres/index.ts';
import { PRIVILEGES, SEQUENCE } from '../../src/postgres/grants.ts';
import { needs, type TestServer } from '../support/needs.ts';
import { connect, freshSchema } from './support/fresh-schema.ts';
import { handler, message, own } from './support/worker.ts';

const test = needs('postgres');
const ANN = { actor: 'ann', reason: 'the mail server is back' };
const DAY_MS = 86_400_000;

interface Stage {
  readonly schema: string;
  /** The owner of the schema. */
  readonly owner: Client;
  /** A pool whose user has exactly what these roles are granted. */
  as(...roles: readonly DatabaseRole[]): Promise<Pool>;
}

async function stage(server: TestServer): Promise<Stage> {
  const schema = await freshSchema(server);
  const owner = await connect(server);
  let made = 0;
  return {
    schema,
    owner,
    as: async (...roles) => {
      const user = `${schema}_role_${(made += 1)}`;
      await owner.query(`create role ${user} login`);
      const url = new URL(server.url);
      url.username = user;
      const pool = new Pool({ connectionString: url.href, max: 4 });
      pool.on('error', () => undefined);
      onTestFinished(async () => {
        await pool.end();
        const cleaner = new Client({ connectionString: server.url });
        await cleaner.connect();
        await cleaner.query(`drop owned by ${user}`);
        await cleaner.query(`drop role ${user}`);
        await cleaner.end();
      });
      await owner.query(grantsScript({ schema, to: Object.fromEntries(roles.map((role) => [role, user])) }));
      return pool;
    },
  };
}

/** In a transaction of its own. */
async function within(pool: Pool, work: (tx: PoolClient) => Promise<unknown>): Promise<void> {
  const tx = await pool.connect();
  try {
    await tx.query('begin');
    await work(tx);
    await tx.query('commit');
  } finally {
    tx.release();
  }
}

/** Dead letters that a worker has made, as the owner of the schema. */
async function deadLetters(on: Stage, server: TestServer, count: number): Promise<readonly string[]> {
  const pool = new Pool({ connectionString: server.url, max: 2 });
  onTestFinished(() => pool.end());
  const store = postgres({ pool, schema: on.schema });
  const worker = await own(store, {
    handlers: [handler('first', { isRepeatable: true, breaker: { name: 'mail', failures: 5 } })],
  });
  const sent = Array.from({ length: count }, (_, n) => message({ key: `k${n}` }));
  await within(pool, (tx) => store.append(tx, sent));
  const { ready } = await worker.read();
  await worker.session.settle(
    worker.id,
    ready.map((one) =>
      Object.assign(worker.target(one), { kind: 'dead' as const, attempts: 5, holds: true, error: ERROR }),
    ),
  );
  await worker.session.leave(worker.id);
  return sent.map(({ id }) => id);
}

const ERROR = { name: 'Error', code: 'SMTP_DOWN', kind: 'network', message: 'no answer' };

const KEEP = { historyMs: DAY_MS, maxPending: undefined };

describe('a database role with exactly what it is granted', () => {
  test('as a sender sends, with keys and ids of its own, notes facts, and reads no message [X.17]', async ({
    postgres: server,
  }) => {
    const on = await stage(server);
    const pool = await on.as('sender');
    const hf = holdfast({ service: 'orders', store: postgres({ schema: on.schema }) });
    const placed = event<{ id: string }>('order.placed', { key: ({ id }) => id, order: 'strict', person: () => 'ann' });
    const later = new Date(Date.now() + DAY_MS);
    await within(pool, async (tx) => {
      await hf.send(tx, placed, { id: '1' });
      await hf.send(tx, placed, { id: '1' }, { idempotencyKey: 'k', correlationId: 'c', deliverAt: later });
      expect(await hf.send(tx, placed, { id: '1' }, { idempotencyKey: 'k' })).toMatchObject({ kind: 'duplicate' });
    });
    const facts = factRecorder({ pool, schema: on.schema, service: 'orders' });
    facts.note('seen', { requestId: 'r1' });
    await facts.stop();
    expect((await on.owner.query(`select from ${on.schema}.fact`)).rowCount).toBe(1);
    await expect(pool.query(`select payload from ${on.schema}.delivery`)).rejects.toMatchObject({ code: '42501' });
  });

  test('as a worker and for commands does all that a relay, its housekeeper and a bulk operation do [X.17]', async ({
    postgres: server,
  }) => {
    const on = await stage(server);
    const dead = await deadLetters(on, server, 4);
    const owner = new Pool({ connectionString: server.url, max: 2 });
    onTestFinished(() => owner.end());
    const operator = postgresOperator({ pool: owner, schema: on.schema });
    const pool = await on.as('worker');
    const store = postgres({ pool, schema: on.schema });
    const worker = await own(store, {
      handlers: [handler('first', { isRepeatable: true, breaker: { name: 'mail', failures: 5 } }), handler('second')],
    });
    const { session } = worker;
    const change = { name: 'mail', epoch: 0, kind: 'open', probeInMs: 1, error: ERROR } as const;
    expect(await session.changeBreaker(worker.id, change)).toMatchObject({ isChanged: true });
    const sent = [1, 2, 3, 4].map((n) => message({ key: `w${n}`, correlationId: 'c' }));
    await within(owner, (tx) => postgres({ schema: on.schema }).append(tx, sent));
    const found = { ...message({ key: 'r' }), sourceId: 'kafka:t@0@1', correlationId: 'c' };
    for (const times of [1, 2]) expect(await session.receive([found], 60_000), String(times)).toHaveLength(1);
    const { ready } = await worker.read();
    expect(ready.length).toBeGreaterThanOrEqual(5);
    const [done, retried, died, postponed, committed] = ready;
    if (!done || !retried || !died || !postponed || !committed) throw new Error('too few');
    await session.mark(worker.id, [{ ...worker.target(done), starts: 1 }]);
    await session.unmark(done.unit, [done.seq]);
    const retry = { attempts: 1, waitedMs: 0, firstAttemptAtMs: 0 } as never;
    const settled = await session.settle(worker.id, [
      worker.done(done),
      { ...worker.target(retried), kind: 'retry', delayMs: 1, holds: true, retry, attempts: 1, error: ERROR },
      { ...worker.target(died), kind: 'dead', attempts: 5, holds: true, error: ERROR },
      { ...worker.target(postponed), kind: 'postpone', delayMs: 1, holds: true, error: ERROR },
    ]);
    expect(settled.settled.size).toBe(4);
    expect(await session.commit(worker.id, [worker.done(committed)], async () => undefined)).toBe('committed');
    const mirrored = await session.unmirrored(worker.units, { limit: 10 });
    await session.mirrored(mirrored.map(({ delivery }) => delivery));
    await session.takeBack?.('test', [{ id: dead[3] ?? '', cycle: 0 }]);
    await session.taken?.(['thing.done']);
    await session.beat(worker.id, 60_000, [{ id: done.id, unit: done.unit, attempt: 1, startedMsAgo: 1 }]);
    await session.doze(worker.id);
    await session.rouse(worker.id);
    expect(await session.listen(() => undefined)).toBe(true);
    const { bulk } = await operator.planBulk({ verb: 'replay', filter: { group: undefined } }, ANN);
    await operator.startBulk(bulk.id, ANN);
    const { bulk: discards } = await operator.planBulk({ verb: 'discard', filter: {} }, ANN);
    await operator.startBulk(discards.id, ANN);
    for (let step = 0; step < 4; step += 1) await session.carryOn?.();
    await old(on);
    // Twice: the ring turns and is counted, then what is left of both rounds.
    for (let round = 0; round < 3; round += 1) {
      await on.owner.query(`update ${on.schema}.meta set slot_since = now() - interval '1 day'`);
      await session.tidy(KEEP);
    }
    expect((await on.owner.query(`select from ${on.schema}.sample`)).rowCount).toBeGreaterThan(0);
    await session.leave(worker.id);
    // What a process counts is lost in silence where it cannot be written.
    expect((await on.owner.query(`select from ${on.schema}.tally where suppressed > 0`)).rowCount).toBe(1);
    expect((await operator.verifyAudit()).kind).toBe('whole');
  });

  test('as a worker is refused at the start by name when any one of them is taken away [X.17]', async ({
    postgres: server,
  }) => {
    const on = await stage(server);
    const pool = await on.as('worker');
    const store = postgres({ pool, schema: on.schema });
    await (await store.openRelay()).close();
    const role = `${on.schema}_role_1`;
    for (const [relation, privilege] of [
      ['tally', 'insert'],
      ['error_tally', 'update'],
      ['bulk_item', 'insert'],
      ['audit_chain', 'insert'],
      [SEQUENCE, 'usage'],
    ] as const) {
      expect(PRIVILEGES.worker[relation]).toContain(privilege);
      const kind = relation === SEQUENCE ? 'sequence ' : '';
      await on.owner.query(`revoke ${privilege} on ${kind}${on.schema}.${relation} from ${role}`);
      await expect(store.openRelay()).rejects.toMatchObject({
        code: 'PRIVILEGE_MISSING',
        details: { privilege, relation: `"${on.schema}".${relation}` },
      });
      await on.owner.query(`grant ${privilege} on ${kind}${on.schema}.${relation} to ${role}`);
    }
  });

  test('as an observer sees everything and changes nothing; as an operator does every verb [X.17]', async ({
    postgres: server,
  }) => {
    const on = await stage(server);
    const [first = '', second = '', third = '', fourth = ''] = await deadLetters(on, server, 6);
    const observer = postgresOperator({ pool: await on.as('observer'), schema: on.schema });
    const reads = (operator: typeof observer): Promise<readonly unknown[]> =>
      Promise.all([
        operator.deadLetters({ search: 'x' }),
        operator.deadLetters({ status: 'discarded' }),
        operator.messages({ payload: [{ path: ['a'], value: 1 }] }),
        operator.messageTabs(),
        operator.find(first),
        operator.show(first),
        operator.why(first),
        operator.forecast(first),
        operator.trace(first),
        operator.stats({ countDelivered: true }),
        operator.handlers(),
        operator.heldKeys(),
        operator.overview(),
        operator.system(),
        operator.audit(),
        operator.verifyAudit(),
        operator.previewErase({ person: 'ann' }),
        operator.erasures(),
        operator.groups(),
        operator.bulks(),
        operator.breakers(),
        operator.idempotencyRecords(),
        operator.commands(),
        operator.outgoingCalls(),
      ]);
    await reads(observer);
    for (const act of [
      () => observer.replay(first, ANN),
      () => observer.pause('first', ANN),
      () => observer.erase({ person: 'ann' }, ANN),
    ])
      await expect(act()).rejects.toMatchObject({ code: '42501' });
    await expect((await on.as('observer')).query(`select hash from ${on.schema}.http_token`)).rejects.toMatchObject({
      code: '42501',
    });
    // What was answered under an idempotency key is somebody's, and the secrets of endpoints sign in our name.
    for (const [column, relation] of [
      ['head', 'idempotency'],
      ['body', 'idempotency'],
      ['*', 'idempotency'],
      ['secrets', 'http_endpoint'],
    ] as const) {
      const asked = (await on.as('observer')).query(`select ${column} from ${on.schema}.${relation}`);
      await expect(asked, `${relation}.${column}`).rejects.toMatchObject({ code: '42501' });
    }
    const operator = postgresOperator({ pool: await on.as('operator'), schema: on.schema });
    const [group] = (await operator.groups()).items;
    const kinds = [
      await operator.pause('first', ANN),
      await operator.resume('first', ANN),
      await operator.pauseAll(ANN),
      await operator.resumeAll(ANN),
      await operator.limit('first', 2, ANN),
      await operator.openBreaker('mail', ANN),
      await operator.closeBreaker('mail', ANN),
      await operator.resolveGroup(group?.id ?? '', ANN),
      await operator.replay(first, ANN),
      await operator.edit(second, { n: 1 }, ANN),
      await operator.discard(third, ANN),
      await operator.replay(third, ANN, { handlers: ['first'] }),
      await operator.skipKey('first', 'k3', ANN),
      await operator.releaseKey('first', 'k4', ANN),
      await operator.replayKey('first', 'k5', ANN),
      await operator.erase({ payload: [{ path: ['n'], value: 1 }] }, ANN, { open: true }),
      await operator.erase({ person: 'ann' }, ANN),
      await operator.retire('first', ANN, { discardOpen: true }),
    ].map(({ kind }) => kind);
    expect(kinds.filter((kind) => /not|unknown|has-/.test(kind))).toEqual([]);
    const { bulk } = await operator.planBulk({ verb: 'discard', filter: {} }, ANN);
    await operator.startBulk(bulk.id, ANN);
    await operator.stepBulks();
    expect(await operator.find(fourth)).toMatchObject({ kind: 'found' });
    await reads(operator);
  });

  test('keeps idempotency records, asks for commands, and delivers, each with its own [X.17]', async ({
    postgres: server,
  }) => {
    const on = await stage(server);
    const guard = idempotency({
      service: 'orders',
      store: postgresIdempotency({ pool: await on.as('idempotency'), schema: on.schema }),
    });
    const entry = await guard.enter({ domain: 'POST /x', key: 'k', person: 'ann', fingerprint: 'f' });
    if (entry.kind !== 'run') throw new Error(entry.kind);
    expect(await entry.run.end({ kind: 'release' })).toBe('ended');
    expect(await guard.erase('ann')).toBe(0);

    const asking = await on.as('commands');
    const hf = holdfast({ service: 'orders', store: postgres({ schema: on.schema }) });
    const commands = durableCommands({ holdfast: hf, store: postgresCommands({ pool: asking, schema: on.schema }) });
    const greet = command<{ id: string }>('greet', { target: ({ id }) => id, key: ({ id }) => id });
    await within(asking, (tx) => commands.send(tx, greet, { id: 'c1' }, { userId: 'ann' }));
    expect(await commands.run('c1')).toBeDefined();

    const delivering = await on.as('delivery');
    const deliveries = postgresDelivery({ pool: delivering, schema: on.schema, secret: 's'.repeat(40) });
    onTestFinished(() => deliveries.sender.close());
    await (await postgres({ pool: delivering, schema: on.schema }).openRelay()).close();
    await deliveries.signingKeys.get();
    await deliveries.tokens.create('ci', ['publish']);
    await deliveries.queues.upsert('q', { parallelism: 2 });
    const [published] = await deliveries.publishing.publish([
      { to: { kind: 'url', url: 'https://shop.example/x' }, delivery: { method: 'POST', retries: 3, headers: {} } },
    ]);
    expect(published?.kind).toBe('published');
    expect(await deliveries.queues.list()).toHaveLength(1);
  });
});

/** Makes everything so old that the housekeeper has something to forget, count and fold. */
async function old({ owner, schema }: Stage): Promise<void> {
  const ago = `now() - interval '40 days'`;
  await owner.query(`
    insert into ${schema}.tally (at, handler, done, retried, dead, suppressed, refused) values (${ago}, 1, 1, 0, 0, 0, 0), (now() - interval '3 minutes', 1, 1, 0, 0, 0, 0);
    insert into ${schema}.sample values (date_trunc('minute', ${ago}), ${ago}, 1, 1, 1, 1, false, '[]');
    update ${schema}.error_tally set hour = hour - 24 * 40, last_at = ${ago};
    update ${schema}.error_group set last_seen_at = ${ago};
    update ${schema}.bulk set created_at = ${ago}, ended_at = ${ago};
    update ${schema}.trace_link set at = ${ago};
    insert into ${schema}.trace_link (id, message, at) values ('x', gen_random_uuid(), ${ago});
    insert into ${schema}.edit (id, version, payload, edited_at, actor) values (gen_random_uuid(), 0, '{}', ${ago}, 'ann');
    insert into ${schema}.dedup values ('k', gen_random_uuid(), ${ago});
    insert into ${schema}.inbox (taken_as, id, source_id, expires_at) values ('t', gen_random_uuid(), 's', ${ago});
    insert into ${schema}.fact (id, at, service, kind, ids, fields) values ('01000000-0000-7000-8000-000000000000', ${ago}, 's', 'note', '{}', '{}');
  `);
}
