import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import { needs, type TestServer } from '../support/needs.ts';
import { operatedShop, ownDatabase } from '../mongodb/operated-shop.ts';
import { runHere } from './run-here.ts';

const test = needs('mongodb');

/** A shop with two dead orders behind which a third waits, and the command line over its database. */
async function failedShop(server: TestServer) {
  const shop = operatedShop(server);
  const ids = await shop.send(['bad1', 5], ['bad1', 6], ['bad2', 7], ['good', 8]);
  const { stop } = await shop.start();
  const letters = await shop.dead(2);
  const run = (...line: readonly string[]) => runHere(line, { env: { HOLDFAST_DATABASE_URL: shop.url } });
  return { ...shop, stop, ids, letters, run };
}

describe('the command line over a MongoDB', () => {
  test('lists, shows, replays and discards dead letters of one service [S1.8]', async ({ mongodb }) => {
    const { run, state, letters, done, ids } = await failedShop(mongodb);
    const list = await run('dlq:list', '--service', 'stock');
    expect(list.out).toMatch(/stock\/inbox .*order\.placed .*bad1 .*NO_STOCK: no stock for bad1/);
    expect((await run('dlq:list', '--service', 'shop')).out).toMatch(/^No dead letters fit --service\./);
    const peek = await run('dlq:peek', '--service', 'stock');
    expect(peek.out).toMatch(/^handler +stock\/inbox$/m);
    const id = letters.find(({ messageId }) => messageId === ids[0])?.id ?? '';
    expect((await run('dlq:show', id)).out).toContain('"orderId": "bad1"');
    expect((await run('why', ids[1] ?? '')).out).toContain('comes first, which has failed');
    const tried = await run('dlq:replay', '--service', 'stock', '--since', '15m', '--dry-run');
    expect(tried.out).toBe('Would replay 2 dead letters. Nothing was changed.\n');
    state.isMended = true;
    const one = await run('dlq:replay', '--id', id, '--actor', 'ann', '--reason', 'stock is there');
    expect(one).toEqual({ code: 0, out: '1 delivery will run again.\n', err: '' });
    await expect.poll(() => done.includes('bad1:6')).toBe(true);
    const discarded = await run('dlq:discard', '--key', 'bad2', '--limit', '5', '--reason', 'not wanted', '--yes');
    expect(discarded).toMatchObject({ code: 0, err: '' });
    const audit = await run('audit');
    expect(audit.out).toMatch(/ann +replay .*stock is there/);
    expect(audit.out).toMatch(/discard .*not wanted/);
    expect((await run('dlq:list')).out).toBe('No dead letters. Nothing failed.\n');
    const again = await run('dlq:replay', '--id', id);
    expect(again).toMatchObject({ code: 1, out: '' });
    expect(again.err).toContain('has not failed, it is delivered');
  });

  test('changes the payload of a dead letter, and keeps the old one [S1.8]', async ({ mongodb }) => {
    const { run, letters, done, ids } = await failedShop(mongodb);
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-edit-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, 'fixed.json');
    writeFileSync(file, JSON.stringify({ orderId: 'well', total: 5 }));
    const id = letters.find(({ messageId }) => messageId === ids[0])?.id ?? '';
    const edited = await run('dlq:edit', '--id', id, '--payload-file', file, '--reason', 'wrong customer');
    expect(edited).toEqual({ code: 0, out: 'The payload is at version 1; 1 delivery will run again.\n', err: '' });
    await expect.poll(() => done.includes('well:5')).toBe(true);
    const shown = JSON.parse((await run('dlq:show', id, '--json')).out) as unknown;
    expect(shown).toMatchObject({ payload: null, edits: [{ version: 0, payload: { orderId: 'bad1', total: 5 } }] });
    const late = await run('dlq:edit', '--id', id, '--payload-file', file);
    expect(late.err).toContain('stock/inbox succeeded with the payload as it was');
  });

  test('replays a batch of events, and says how much there is to do by handler [S1.8]', async ({ mongodb }) => {
    const { run, state, done } = await failedShop(mongodb);
    const stats = await run('outbox:stats', '--service', 'stock', '--json');
    expect(JSON.parse(stats.out)).toMatchObject({
      handlers: [{ service: 'stock', handler: 'inbox', failed: 2, heldKeys: 2, workers: 1, delivered: 1 }],
    });
    expect((await run('keys')).out).toMatch(/bad1 .*stock\/inbox/);
    expect((await run('handlers')).out).toContain('shop/to-local');
    expect((await run('messages', 'status:failed')).out).toMatch(/bad1 +failed .*NO_STOCK/);
    expect((await run('overview')).out).toContain('no history of numbers');
    state.isMended = true;
    const replayed = await run('events:replay', '--status', 'failed', '--limit', '100');
    expect(replayed).toMatchObject({ code: 0, out: '2 deliveries will run again.\n' });
    await expect.poll(() => done.toSorted()).toEqual(['bad1:5', 'bad1:6', 'bad2:7', 'good:8']);
    expect((await run('groups')).out).not.toContain('NO_STOCK');
  });

  test('refuses what needs PostgreSQL in one sentence, with the next step', async ({ mongodb }) => {
    const { url } = ownDatabase(mongodb);
    for (const line of [
      ['migrate'],
      ['trace', 'x'],
      ['breakers'],
      ['pause'],
      ['commands'],
      ['erase', '--person', 'ann', '--reason', 'asked', '--yes'],
      ['bulk', 'list'],
      ['token', 'list'],
    ]) {
      const said = await runHere(line, { env: { DATABASE_URL: url } });
      expect({ line, code: said.code, out: said.out }).toEqual({ line, code: 1, out: '' });
      expect(said.err).toMatch(/^error: .* needs PostgreSQL, and this is a MongoDB: .*docs\/mongodb\.md.*\n$/);
    }
    const asJson = await runHere(['breakers', '--json', '--url', url], { env: {} });
    expect(JSON.parse(asJson.err)).toMatchObject({ error: { code: 'NOT_ON_MONGODB' } });
    expect((await runHere(['handlers', '--schema', 'x', '--url', url], { env: {} })).code).toBe(2);
  });

  test('examines the server: what is there, and what is missing', async ({ mongodb }) => {
    const { url, db, outbox } = operatedShop(mongodb);
    await outbox.prepare();
    const well = await runHere(['doctor', '--url', url], { env: {} });
    expect(well.out).toMatch(/ok +database +replica set/);
    expect(well.out).toMatch(/ok +database +the collection outbox_events has its indexes/);
    expect(well.out).toMatch(/warning +database +there is no collection inbox_messages/);
    expect(well.code).toBe(0);
    await db.collection('outbox_events').dropIndex('holdfast_line');
    const ill = await runHere(['doctor', '--url', url], { env: {} });
    expect(ill.out).toMatch(/problem +database +the collection outbox_events lacks holdfast_line/);
    expect(ill.code).toBe(1);
  });

  test('says that a server is away, and never shows the password', async () => {
    const env = { DATABASE_URL: 'mongodb://me:geheim@127.0.0.1:1/shop', PGCONNECT_TIMEOUT: '1' };
    const said = await runHere(['handlers'], { env });
    expect(said).toMatchObject({ code: 1, out: '' });
    expect(said.err).toContain('the database at 127.0.0.1:1/shop as me cannot be reached');
    expect((await runHere(['doctor'], { env })).out).toMatch(
      /problem +connection +.*127\.0\.0\.1:1\/shop as me cannot be reached/,
    );
    expect(said.err).not.toContain('geheim');
  });
});
