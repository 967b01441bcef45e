import { describe, expect } from 'vitest';
import { needs } from '../support/needs.ts';
import { ANN, OperatorDatabase, SMTP_ERROR } from './operator-database.ts';

const test = needs('postgres');

async function twoHandlers(server: Parameters<typeof OperatorDatabase.open>[0]): Promise<OperatorDatabase> {
  const database = await OperatorDatabase.open(server);
  await database.handler(1, 'mail', 'welcome');
  await database.handler(2, 'growth', 'score');
  return database;
}

describe('the list of dead letters', () => {
  test('comes in pages, the newest first, none twice and none left out while others fail and are replayed [S1.8]', async ({
    postgres,
  }) => {
    const database = await twoHandlers(postgres);
    const ids: string[] = [];
    for (let ago = 0; ago < 7; ago++) ids.push(await database.dead({ failedSecondsAgo: 100 + ago }));
    // Several of the very same moment, as after one settled batch.
    await database.sql(
      `update $S.delivery set failed_at = (select max(failed_at) from $S.delivery) where id = any ($1)`,
      [ids.slice(0, 4)],
    );
    const { operator } = database;
    const first = await operator.deadLetters({ limit: 3 });
    const newcomer = await database.dead();
    await operator.replay(first.items[0]?.messageId ?? '', ANN);
    const second = await operator.deadLetters({ limit: 3, cursor: first.next });
    const third = await operator.deadLetters({ limit: 3, cursor: second.next });
    expect([first, second, third].map(({ items }) => items.length)).toEqual([3, 3, 1]);
    expect(third.next).toBeUndefined();
    const seen = [first, second, third].flatMap(({ items }) => items.map(({ messageId }) => messageId));
    expect(seen.toSorted()).toEqual(ids.toSorted());
    expect((await operator.deadLetters()).items[0]?.messageId).toBe(newcomer);
  });

  test('can be narrowed by service, handler, type, key, time, error code and text [S1.8]', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const a = await database.dead({ key: 'ord_1', payload: { city: 'Zürich', note: '100%' }, failedSecondsAgo: 3600 });
    const b = await database.dead({
      handler: 2,
      type: 'order.paid',
      error: { ...SMTP_ERROR, code: 'E_OTHER', message: 'Boom' },
    });
    const found = async (filter: object): Promise<string[]> =>
      (await database.operator.deadLetters(filter)).items.map(({ messageId }) => messageId);
    const hourAgo = new Date(Date.now() - 1_800_000);
    expect(await found({})).toEqual([b, a]);
    expect(await found({ service: 'mail' })).toEqual([a]);
    expect(await found({ handler: 'score' })).toEqual([b]);
    expect(await found({ handler: 'growth/score' })).toEqual([b]);
    expect(await found({ type: 'order.paid' })).toEqual([b]);
    expect(await found({ key: 'ord_1' })).toEqual([a]);
    expect(await found({ since: hourAgo })).toEqual([b]);
    expect(await found({ until: hourAgo })).toEqual([a]);
    expect(await found({ errorCode: 'E_OTHER' })).toEqual([b]);
    expect(await found({ search: 'zürich' })).toEqual([a]);
    expect(await found({ search: '0%' })).toEqual([a]);
    expect(await found({ search: 'boom' })).toEqual([b]);
    expect(await found({ search: a.slice(0, 20) })).toEqual([a]);
    expect(await found({ service: 'nobody' })).toEqual([]);
    await database.operator.discard(b, ANN);
    expect(await found({ status: 'discarded' })).toEqual([b]);
  });

  test('shows what is needed to decide: error, attempts, times, whether it holds its key [S1.8]', async ({
    postgres,
  }) => {
    const database = await twoHandlers(postgres);
    const id = await database.dead({ key: 'k', generation: 7 });
    const { items } = await database.operator.deadLetters();
    expect(items).toEqual([
      {
        id: `${id}:1`,
        messageId: id,
        service: 'mail',
        handler: 'welcome',
        type: 'order.placed',
        key: 'k',
        source: 'orders',
        target: undefined,
        generation: 7,
        status: 'pending',
        attempts: 5,
        error: SMTP_ERROR,
        cycle: 0,
        firstFailedAt: expect.any(Date),
        lastAttemptAt: expect.any(Date),
        createdAt: expect.any(Date),
        updatedAt: expect.any(Date),
        holds: true,
      },
    ]);
  });

  test('refuses a filter that is not one, with all that is wrong', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const bad = { servise: 'mail', since: new Date('x'), limit: 0, status: 'dead', key: 'a\u0000' };
    await expect(database.operator.deadLetters(bad as never)).rejects.toThrow(
      /servise is not an option; did you mean service\?.*key is.*since is.*status is "dead".*limit is 0/,
    );
    await expect(database.operator.deadLetters({ cursor: "x'; drop" })).rejects.toThrow('cursor');
    await expect(database.operator.audit({ cursor: 'x' })).rejects.toThrow('cursor');
    await expect(database.operator.heldKeys({ cursor: 'x' })).rejects.toThrow('cursor');
  });
});

describe('one message', () => {
  test('show has all of it: deliveries, errors, history, edits and audit', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    await database.worker('host:7', [2]);
    const id = await database.dead({ handler: 1, key: 'k' });
    await database.delivery({ id, handler: 2, key: 'k', state: 'waiting', attempts: 1, error: SMTP_ERROR });
    await database.sql(
      `insert into $S.running select d.id, d.unit, w.id, 2, now() from $S.delivery d, $S.worker w where d.handler = 2`,
    );
    await database.sql(
      `update $S.delivery set headers = '{"tenant": "acme"}', correlation_id = 'c', aggregate_type = 'order'`,
    );
    await database.operator.replay(`${id}:1`, ANN);
    expect(await database.operator.show(id.toUpperCase())).toMatchObject({
      kind: 'found',
      message: {
        id,
        status: 'in_flight',
        payload: { total: 5 },
        headers: { tenant: 'acme' },
        correlationId: 'c',
        causationId: undefined,
        aggregateType: 'order',
        version: 0,
        idempotencyKey: `key-of-${id}`,
        deliveries: [
          {
            id: `${id}:1`,
            handler: 'welcome',
            status: 'waiting',
            cycle: 1,
            dueAt: expect.any(Date),
            running: undefined,
            failureHistory: [{ attempts: 5, handler: 'welcome' }],
          },
          {
            id: `${id}:2`,
            service: 'growth',
            attempts: 1,
            error: SMTP_ERROR,
            holds: true,
            running: { worker: 'host:7', attempt: 2, startedAt: expect.any(Date) },
          },
        ],
        edits: [],
        audit: [{ verb: 'replay', at: expect.any(Date), ...ANN }],
      },
    });
  });

  test('show and find of what is over and of what is not there', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const id = await database.delivery({ state: 'delivered', attempts: 1 });
    expect(await database.operator.show(id)).toMatchObject({
      message: {
        status: 'delivered',
        publishedAt: expect.any(Date),
        deliveries: [{ status: 'delivered', durationMs: 7 }],
      },
    });
    expect(await database.operator.find(`${id}:1`)).toMatchObject({ message: { id, status: 'delivered' } });
    const nobody = '00000000-0000-4000-8000-000000000000';
    for (const ask of [database.operator.find, database.operator.show, database.operator.forecast]) {
      expect(await ask(nobody)).toEqual({ kind: 'not-found' });
      expect(await ask(`${id}:x`)).toMatchObject({ kind: 'bad-id' });
    }
  });

  test('forecast goes on from the stored state, by the policy that is given [X.6]', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const state = {
      v: 1,
      attempts: 3,
      waitedMs: 7_000,
      lastDelayMs: 4_000,
      startedAt: { wallMs: Date.now(), monoMs: 1 },
    };
    const id = await database.delivery({
      state: 'waiting',
      attempts: 3,
      error: SMTP_ERROR,
      retry: state,
      dueInSeconds: 30,
    });
    await database.dead({ id, handler: 2 });
    const forecast = await database.operator.forecast(id);
    expect(forecast).toMatchObject({
      kind: 'forecast',
      deliveries: [
        { handler: 'welcome', attempts: [{ attempt: 4 }, { attempt: 5 }], end: 'attempts' },
        { handler: 'score', status: 'failed', attempts: [], end: 'not-open' },
      ],
    });
    if (forecast.kind !== 'forecast') throw new Error(forecast.kind);
    const [fourth, fifth] = forecast.deliveries[0]?.attempts ?? [];
    expect(fourth?.earliest).toEqual(fourth?.latest);
    // Full jitter: at once, or up to eight seconds after the fourth attempt.
    expect(fifth?.earliest).toEqual(fourth?.earliest);
    expect((fifth?.latest?.getTime() ?? 0) - (fourth?.latest?.getTime() ?? 0)).toBe(8_000);
  });
});

describe('held keys', () => {
  test('are listed with their holder and how many stand behind it, in pages [X.4]', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const head = await database.dead({ key: 'k' });
    await database.dead({ key: 'k', error: { ...SMTP_ERROR, code: 'PARKED' }, attempts: 0 });
    for (let n = 0; n < 3; n++) await database.delivery({ key: 'k' });
    await database.delivery({ key: 'free' });
    const retrying = await database.delivery({
      key: 'r',
      handler: 2,
      state: 'waiting',
      attempts: 1,
      error: SMTP_ERROR,
    });
    const { operator } = database;
    expect((await operator.heldKeys({ service: 'mail' })).items).toEqual([
      {
        key: 'k',
        service: 'mail',
        handler: 'welcome',
        holder: {
          messageId: head,
          status: 'failed',
          attempts: 5,
          dueAt: undefined,
          error: SMTP_ERROR,
          since: expect.any(Date),
          createdAt: expect.any(Date),
        },
        behind: 4,
        failed: 2,
      },
    ]);
    const first = await operator.heldKeys({ limit: 1 });
    const second = await operator.heldKeys({ limit: 1, cursor: first.next });
    expect([...first.items, ...second.items]).toMatchObject([
      { key: 'k' },
      { key: 'r', holder: { messageId: retrying, status: 'waiting', dueAt: expect.any(Date) }, behind: 0, failed: 0 },
    ]);
    expect(second.next).toBeUndefined();
    expect((await operator.heldKeys({ handler: 'nobody' })).items).toEqual([]);
  });
});

describe('stats', () => {
  test('count by handler what is in line, waits, failed and was delivered [S1.8]', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    await database.worker('host:7', [1]);
    await database.delivery();
    await database.sql(`update $S.delivery set created_at = now() - interval '10 s'`);
    await database.delivery({ state: 'waiting' });
    await database.dead({ key: 'k' });
    await database.delivery({ state: 'delivered' });
    await database.delivery({ handler: 0 });
    await database.operator.pause('score', ANN);
    const stats = await database.operator.stats({ countDelivered: true });
    expect(stats).toMatchObject({
      isPaused: false,
      workers: 1,
      withoutHandler: 1,
      handlers: [
        {
          service: 'growth',
          handler: 'score',
          pausedAt: expect.any(Date),
          pending: 0,
          failed: 0,
          delivered: 0,
          workers: 0,
        },
        {
          handler: 'welcome',
          pausedAt: undefined,
          pending: 1,
          waiting: 1,
          failed: 1,
          delivered: 1,
          heldKeys: 1,
          workers: 1,
        },
      ],
    });
    expect(stats.handlers[0]?.oldestMs).toBeUndefined();
    expect(stats.handlers[1]?.oldestMs).toBeGreaterThanOrEqual(10_000);
    expect((await database.operator.stats({ countDelivered: false })).handlers[1]?.delivered).toBeUndefined();
  });
});

describe('handlers', () => {
  test('are listed with their types and live workers', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    await database.worker('host:7', [1]);
    expect(await database.operator.handlers()).toMatchObject([
      {
        service: 'growth',
        handler: 'score',
        types: ['order.placed'],
        isPinned: false,
        isRepeatable: false,
        workers: [],
      },
      { service: 'mail', handler: 'welcome', pausedAt: undefined, registeredAt: expect.any(Date), workers: ['host:7'] },
    ]);
  });

  test('are paused and resumed once, by whoever comes first', async ({ postgres }) => {
    const { operator, ...database } = await twoHandlers(postgres);
    expect(database.schema).toBeDefined();
    expect(await operator.pause('welcome', ANN)).toEqual({ kind: 'paused' });
    expect(await operator.pause('mail/welcome', ANN)).toEqual({ kind: 'already-paused', since: expect.any(Date) });
    expect(await operator.resume('welcome', ANN)).toEqual({ kind: 'resumed' });
    expect(await operator.resume('welcome', ANN)).toEqual({ kind: 'not-paused' });
    expect(await operator.pause('nobody', ANN)).toMatchObject({ kind: 'unknown-handler' });
    expect(await operator.pauseAll(ANN)).toEqual({ kind: 'paused' });
    expect(await operator.pauseAll(ANN)).toEqual({ kind: 'already-paused', since: undefined });
    expect((await operator.stats()).isPaused).toBe(true);
    expect(await operator.resumeAll(ANN)).toEqual({ kind: 'resumed' });
    expect(await operator.resumeAll(ANN)).toEqual({ kind: 'not-paused' });
    const { items } = await operator.audit();
    expect(items.map(({ verb, handler }) => [verb, handler])).toEqual([
      ['resume-all', undefined],
      ['pause-all', undefined],
      ['resume', 'welcome'],
      ['pause', 'welcome'],
    ]);
  });

  test('are retired when nobody serves them and nothing is open, or what is open is given up', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const { operator } = database;
    const worker = await database.worker('host:7', [1]);
    await database.dead();
    const open = await database.delivery();
    expect(await operator.retire('welcome', ANN)).toEqual({ kind: 'has-workers', workers: ['host:7'] });
    await database.sql(`delete from $S.worker where id = $1`, [worker]);
    expect(await operator.retire('welcome', ANN)).toEqual({ kind: 'has-open', open: 1, failed: 1 });
    expect(await operator.retire('welcome', ANN, { discardOpen: true })).toEqual({ kind: 'retired', discarded: 2 });
    expect(await operator.find(open)).toMatchObject({ message: { status: 'failed', deletedAt: expect.any(Date) } });
    expect(await database.sql(`select handler from $S.subscription`)).toEqual([{ handler: 2 }]);
    expect(await operator.handlers()).toMatchObject([{ handler: 'score' }, { handler: 'welcome', types: [] }]);
    expect(await operator.retire('score', ANN)).toEqual({ kind: 'retired', discarded: 0 });
  });
});

describe('the audit', () => {
  test('comes in pages and by message, actor and verb', async ({ postgres }) => {
    const database = await twoHandlers(postgres);
    const { operator } = database;
    const id = await database.dead();
    await operator.pause('score', { actor: 'bob' });
    await operator.replay(id, ANN);
    await operator.resume('score', ANN);
    const first = await operator.audit({ limit: 2 });
    const second = await operator.audit({ limit: 2, cursor: first.next });
    expect([...first.items, ...second.items].map(({ verb }) => verb)).toEqual(['resume', 'replay', 'pause']);
    expect(second.next).toBeUndefined();
    expect((await operator.audit({ messageId: id })).items).toMatchObject([{ verb: 'replay', messageId: id }]);
    expect((await operator.audit({ actor: 'bob' })).items).toMatchObject([{ verb: 'pause', reason: undefined }]);
    expect((await operator.audit({ verb: 'resume' })).items).toHaveLength(1);
    expect((await operator.audit({ handler: 'score' })).items.map(({ verb }) => verb)).toEqual(['resume', 'pause']);
    expect((await operator.audit({ handler: `${first.items[0]?.service}/score` })).items).toHaveLength(2);
    expect((await operator.audit({ handler: 'nobody/score' })).items).toEqual([]);
    const replayedAt = first.items[1]?.at;
    expect((await operator.audit({ since: replayedAt })).items.map(({ verb }) => verb)).toEqual(['resume', 'replay']);
    const wrong = { messageId: 'x', verb: 'kancel' as never, since: new Date(Number.NaN), cursor: 'y', until: 1 };
    await expect(operator.audit(wrong)).rejects.toThrow(/until.*messageId.*verb.*since.*cursor/);
  });
});
