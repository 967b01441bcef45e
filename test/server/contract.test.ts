import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect } from 'vitest';
import type { Operator } from '../../src/operator/operator.ts';
import { remoteOperator } from '../../src/server/index.ts';
import { openApi } from '../../src/server/openapi.ts';
import { ROUTES } from '../../src/server/routes/all-routes.ts';
import { postgresSessions } from '../../src/postgres/operator/ended-sessions.ts';
import { OperatorDatabase } from '../operator/operator-database.ts';
import { needs } from '../support/needs.ts';
import { type ApiDocument, checkedFetch } from './checked-fetch.ts';
import { failedShop } from './failed-shop.ts';
import { as, change, scriptedOperator, serveHere, TOKENS } from './serving.ts';

const test = needs('postgres');
const ADA = { actor: 'ada', reason: 'seen by a person' };

/** Every read, of an operator and of the same over the wire. */
const READS: Record<
  string,
  (operator: Operator, ids: { id: string; group: string; bulk: string }) => Promise<unknown>
> = {
  messages: (operator) =>
    operator.messages({ payload: [{ path: ['customer', 'id'], value: 2 }], since: new Date(0), limit: 5 }),
  messageTabs: (operator) => operator.messageTabs(),
  find: (operator, { id }) => operator.find(id),
  show: (operator, { id }) => operator.show(id),
  why: (operator, { id }) => operator.why(id),
  forecast: (operator, { id }) => operator.forecast(id),
  'a bad id': (operator) => operator.show('..'),
  'no such message': (operator) => operator.find('00000000-0000-7000-8000-000000000000'),
  deadLetters: (operator) => operator.deadLetters({ handler: 'shop/charge', search: 'no card', limit: 2 }),
  groups: (operator) => operator.groups({ isPending: true }),
  group: (operator, { group }) => operator.group(group),
  bulks: (operator) => operator.bulks({ state: 'planned' }),
  bulk: (operator, { bulk }) => operator.bulk(bulk),
  bulkItems: (operator, { bulk }) => operator.bulkItems(bulk, { outcome: 'selected' }),
  handlers: (operator) => operator.handlers(),
  stats: (operator) => operator.stats({ countDelivered: true }),
  heldKeys: (operator) => operator.heldKeys({ limit: 2 }),
  breakers: (operator) => operator.breakers(),
  overview: (operator) => operator.overview({ range: 'day' }),
  system: (operator) => operator.system(),
  audit: (operator) => operator.audit({ actor: 'ada' }),
  verifyAudit: (operator) => operator.verifyAudit(),
  previewErase: (operator) => operator.previewErase({ payload: [{ path: ['n'], value: 1 }] }),
  erasures: (operator) => operator.erasures(),
  trace: (operator, { id }) => operator.trace(id, { limit: 50 }),
  idempotencyRecords: (operator) => operator.idempotencyRecords(),
  commands: (operator) => operator.commands({ target: 'run_1' }),
  outgoingCalls: (operator) => operator.outgoingCalls({ isOk: true }),
};

/** Every change, in an order in which each of them finds something to do; each is tried where it finds nothing, too. */
async function changes(operator: Operator, database: OperatorDatabase): Promise<void> {
  const ids = (await operator.deadLetters()).items.toReversed().map(({ messageId }) => messageId);
  const [one = '', two = '', three = '', four = '', five = '', six = ''] = ids;
  const [group] = (await operator.groups()).items;
  expect(await operator.replay(one, ADA)).toEqual({ kind: 'replayed', count: 1 });
  expect(await operator.replay(one, ADA)).toEqual({ kind: 'not-failed', status: 'waiting' });
  expect(await operator.replay(one, ADA, { handlers: ['nobody'] })).toMatchObject({ kind: 'unknown-handler' });
  expect(await operator.replay(one, ADA, { handlers: ['ledger'] })).toEqual({
    kind: 'already-delivered',
    handlers: ['shop/ledger'],
  });
  expect(await operator.replay(one, ADA, { handlers: ['ledger'], rerun: true })).toEqual({
    kind: 'replayed',
    count: 1,
  });
  expect(await operator.discard(two, ADA)).toEqual({ kind: 'discarded', count: 1 });
  expect(await operator.edit(three, { n: 3, at: '2030-01-31T12:00:00.000Z' }, ADA)).toMatchObject({
    kind: 'already-delivered',
  });
  await database.sql(`delete from $S.delivered where id = $1`, [three]);
  expect(await operator.edit(three, { n: 3, at: '2030-01-31T12:00:00.000Z' }, ADA, { version: 7 })).toEqual({
    kind: 'changed',
    version: 0,
  });
  expect(await operator.edit(three, { n: 3, at: '2030-01-31T12:00:00.000Z' }, ADA, { version: 0 })).toMatchObject({
    kind: 'edited',
    version: 1,
  });
  // A text that looks like a time stays a text: only our own times become dates.
  expect(await operator.show(three)).toMatchObject({
    message: { payload: { at: '2030-01-31T12:00:00.000Z' }, createdAt: expect.any(Date) },
  });
  expect(await operator.cancel(three, ADA)).toMatchObject({ kind: 'not-scheduled' });
  const scheduled = await database.delivery({ state: 'waiting', dueInSeconds: 3_600 });
  expect(await operator.cancel(scheduled, ADA)).toEqual({ kind: 'cancelled' });
  expect(await operator.replayKey('charge', 'c4', ADA)).toEqual({ kind: 'replayed', count: 1 });
  expect(await operator.skipKey('charge', 'c4', ADA)).toEqual({ kind: 'nothing-failed' });
  expect(await operator.skipKey('charge', 'c5', ADA)).toEqual({ kind: 'skipped', messageId: five });
  expect(await operator.releaseKey('charge', 'c6', ADA)).toMatchObject({ kind: 'released' });
  expect(await operator.discardKey('charge', 'c6', ADA)).toMatchObject({ kind: 'discarded' });
  expect(await operator.replayWhere({ type: 'order.placed', limit: 1 }, ADA)).toEqual({ kind: 'replayed', count: 1 });
  expect([four, six]).not.toContain('');
  expect(await operator.pause('charge', ADA)).toEqual({ kind: 'paused' });
  expect(await operator.pause('charge', ADA)).toMatchObject({ kind: 'already-paused', since: expect.any(Date) });
  expect(await operator.resume('charge', ADA)).toEqual({ kind: 'resumed' });
  expect(await operator.limit('charge', 3, ADA)).toEqual({ kind: 'limited', limit: 3 });
  expect(await operator.limit('charge', undefined, ADA)).toMatchObject({ kind: 'limited' });
  expect(await operator.retire('charge', ADA)).toMatchObject({ kind: 'has-open' });
  expect(await operator.pauseAll(ADA)).toEqual({ kind: 'paused' });
  expect(await operator.resumeAll(ADA)).toEqual({ kind: 'resumed' });
  expect(await operator.openBreaker('charge', ADA)).toMatchObject({ kind: 'changed', breaker: { state: 'open' } });
  expect(await operator.closeBreaker('charge', ADA)).toMatchObject({ kind: 'changed', breaker: { state: 'closed' } });
  expect(await operator.closeBreaker('nothing', ADA)).toMatchObject({ kind: 'unknown-breaker' });
  expect(await operator.ignoreGroup(group?.id ?? '', ADA)).toMatchObject({
    kind: 'changed',
    group: { state: 'ignored' },
  });
  expect(await operator.resolveGroup(group?.id ?? '', ADA)).toMatchObject({
    kind: 'changed',
    group: { state: 'resolved' },
  });
  expect(await operator.reopenGroup(group?.id ?? '', ADA)).toMatchObject({ kind: 'changed', group: { state: 'open' } });
  expect(await operator.resolveGroup('1-none', ADA)).toEqual({ kind: 'not-found' });
  await bulkChanges(operator);
  expect(await operator.erase({ person: 'usr_1' }, ADA)).toMatchObject({
    kind: 'erasing',
    erasure: { state: 'done', actor: 'ada', createdAt: expect.any(Date) },
  });
  await expect(operator.erase({}, ADA)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
  expect(await operator.retire('charge', ADA, { discardOpen: true })).toMatchObject({ kind: 'retired' });
  expect((await operator.audit({ verb: 'retire', limit: 1 })).items).toMatchObject([
    { actor: 'ada', verb: 'retire', reason: ADA.reason },
  ]);
  await expect(operator.replay(one, { actor: 'ada', reason: 'x'.repeat(3_000) })).rejects.toMatchObject({
    code: 'INVALID_OPTIONS',
  });
  await expect(operator.deadLetters({ limit: 0 })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
}

async function bulkChanges(operator: Operator): Promise<void> {
  const planned = await operator.planBulk(
    { verb: 'replay', filter: { handler: 'charge', since: new Date(0) }, limit: 1 },
    ADA,
  );
  expect(planned).toMatchObject({ kind: 'planned', bulk: { total: 1, filter: { since: new Date(0) } } });
  const { id } = planned.bulk;
  expect(await operator.pauseBulk(id, ADA)).toMatchObject({ kind: 'refused', bulk: { id } });
  expect(await operator.startBulk(id, ADA)).toMatchObject({ kind: 'changed' });
  expect(await operator.pauseBulk(id, ADA)).toMatchObject({ kind: 'changed', bulk: { state: 'paused' } });
  expect(await operator.resumeBulk(id, ADA)).toMatchObject({ kind: 'changed' });
  expect(await operator.stepBulks()).toMatchObject({ started: expect.any(Number) });
  expect(await operator.cancelBulk(id, ADA)).toMatchObject({ kind: 'changed' });
  expect(await operator.bulk('00000000-0000-7000-8000-000000000000')).toEqual({ kind: 'not-found' });
}

const OF_THE_MOMENT = ['at', 'oldestMs', 'expiresAt', 'trend', 'ageMs', 'oldestSnapshot'];
const OF_THE_SERVER = ['rows', 'deadRows', 'bytes', 'indexBytes', 'vacuumedAt'];

/** Without the moments of asking, which differ, and what others do on the same server meanwhile. */
function timeless(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (name, one: unknown) => {
      if (OF_THE_MOMENT.includes(name) || OF_THE_SERVER.includes(name)) return undefined;
      // "14 of 200 in use"
      return name === 'title' ? String(one).replaceAll(/\d+/g, 'n') : one;
    }),
  );
}

describe('an operator', () => {
  test('answers the same on its database and through a server, and every answer is as the OpenAPI document says [X.9]', async ({
    postgres,
  }) => {
    const database = await failedShop(postgres, 8);
    const { operator } = database;
    const { url } = await serveHere({ operator, tokens: TOKENS, basePath: '/ops' });
    const document = (await (
      await fetch(`${url}/ops/api/openapi.json`, { headers: as('viewer') })
    ).json()) as ApiDocument;
    expect(await new Validator().validate(document as never)).toMatchObject({ valid: true });
    expect(document).toEqual(JSON.parse(JSON.stringify(openApi('0.0.0', '/ops', ROUTES))));
    const answered = new Set<string>();
    const token = TOKENS[2].token;
    const remote = remoteOperator({ url: `${url}/ops`, token, fetch: checkedFetch(document, '/ops', answered) });
    const [dead] = (await operator.deadLetters()).items;
    const [group] = (await operator.groups()).items;
    const { bulk } = await operator.planBulk({ verb: 'replay', filter: { handler: 'charge' } }, ADA);
    const ids = { id: dead?.messageId ?? '', group: group?.id ?? '', bulk: bulk.id };
    for (const [name, read] of Object.entries(READS)) {
      const [here, there] = [await read(operator, ids), await read(remote, ids)];
      if (name === 'a bad id') expect(there).toMatchObject({ kind: 'bad-id' });
      else expect(timeless(there), name).toEqual(timeless(here));
      expect(datesIn(there).toSorted(), name).toEqual(datesIn(here).toSorted());
    }
    await remote.commands({ target: 'run_1' });
    await changes(remote, database);
    const missing = ROUTES.map(({ id }) => id).filter((id) => !answered.has(id));
    expect(missing).toEqual(['showRun']);
  });

  test('makes the same changes on its own database as through a server [X.9]', async ({ postgres }) => {
    const database = await failedShop(postgres, 8);
    await changes(database.operator, database);
  });
});

/** Where a value holds dates. */
function datesIn(value: unknown, at = ''): readonly string[] {
  if (value instanceof Date) return [at];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, one]) =>
    OF_THE_SERVER.includes(name) ? [] : datesIn(one, `${at}.${name}`),
  );
}

test('a logout at one server holds at all that share the database, which keeps no session and forgets old ones [X.9]', async ({
  postgres,
}) => {
  const database = await OperatorDatabase.open(postgres);
  const { operator } = scriptedOperator();
  const endedSessions = postgresSessions({ pool: database.pool, schema: database.schema });
  await database.sql(`insert into $S.ended_session values ('old', now() - interval '1 second')`);
  const { url: here } = await serveHere({ operator, tokens: TOKENS, endedSessions });
  const { url: there } = await serveHere({ operator, tokens: TOKENS, endedSessions });
  const login = await fetch(`${here}/api/session`, change({ token: TOKENS[0].token }));
  const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? '';
  const statuses = (): Promise<number[]> =>
    Promise.all([here, there].map(async (url) => (await fetch(`${url}/api/stats`, { headers: { cookie } })).status));
  expect(await statuses()).toEqual([200, 200]);
  const { csrf } = (await login.json()) as { readonly csrf: string };
  await fetch(`${here}/api/session`, { method: 'DELETE', headers: { cookie, 'x-holdfast-csrf': csrf } });
  expect(await statuses()).toEqual([401, 401]);
  const marks = await database.sql<{ mark: string }>(`select mark from $S.ended_session`);
  expect(marks).toEqual([{ mark: expect.stringMatching(/^[\w-]{43}$/) }]);
  expect(cookie).not.toContain(marks[0]?.mark ?? '');
});
