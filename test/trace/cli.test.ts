import { stripVTControlCharacters } from 'node:util';
import type { Client } from 'pg';
import { describe, expect } from 'vitest';
import { event, holdfast } from '../../src/index.ts';
import { factRecorder, postgres } from '../../src/postgres/index.ts';
import { runHoldfast, startOnTerminal } from '../cli/holdfast-process.ts';
import { runHere } from '../cli/run-here.ts';
import { connect, pooled } from '../postgres/support/fresh-schema.ts';
import { ownSchema } from '../cli/own-schema.ts';
import { needs, type TestServer } from '../support/needs.ts';

const test = needs('postgres');

/** A migrated schema with one action: a request that tried a call twice and sent two messages nobody takes. */
async function seeded(
  server: TestServer,
): Promise<{ env: NodeJS.ProcessEnv; ids: readonly string[]; schema: string; client: Client }> {
  const { schema, env } = ownSchema(server);
  expect((await runHere(['migrate'], { env })).code).toBe(0);
  const client = await connect(server);
  const hf = holdfast({ service: 'shop', store: postgres({ schema }) });
  const ids: string[] = [];
  await client.query('begin');
  for (const order of ['a', 'b']) {
    ids.push((await hf.send(client, event('order.placed'), { order }, { correlationId: 'req-1' })).id);
  }
  await client.query('commit');
  const facts = factRecorder({ service: 'shop', pool: pooled(server), schema });
  facts.request({
    operation: 'POST /orders \u001B[31m',
    httpStatus: 202,
    latencyMs: 9,
    requestId: 'req-1',
    userId: 'u',
  });
  const call = { operation: 'charge', requestId: 'req-1', idempotencyKey: 'key-1', maxAttempts: 3 };
  facts.call({ ...call, attempt: 1, httpStatus: 503, errorClass: 'overload', retryable: true, latencyMs: 4 });
  facts.call({ ...call, attempt: 2, httpStatus: 200, latencyMs: 3 });
  await facts.stop();
  return { env, ids, schema, client };
}

describe('holdfast trace', () => {
  test('shows a timeline: a table, lines where that is too narrow, colours at a terminal alone, JSON for programs [X.7]', async ({
    postgres: server,
  }) => {
    const { env, ids } = await seeded(server);
    const wide = await runHere(['trace', 'req-1'], { env });
    expect({ code: wide.code, err: wide.err }).toEqual({ code: 0, err: '' });
    const [head, , titles, ...rows] = wide.out.split('\n');
    expect(head).toMatch(/^req-1 {2}.*request.* {2}7 steps of 1 service in /);
    expect(titles).toMatch(/^TIME \(UTC\) +\+ +SERVICE +STEP +WHAT +OUTCOME +ID$/);
    const charges = rows.filter((row) => row.includes('charge'));
    expect(charges[0]).toMatch(/^[\d:.]{12} +\+\d+ m?s +shop +call +charge +failed, status 503, overload.* key-1$/);
    expect(charges[1]).toMatch(/ status 200, attempt 2 of 3, 3 ms +key-1$/);
    expect(wide.out).not.toContain('\u001B');
    for (const id of ids) expect(wide.out).toContain(id);

    const piped = await runHoldfast(['trace', ids[0] ?? '', '--json', '--limit', '3'], { env });
    expect({ code: piped.code, err: piped.err }).toEqual({ code: 0, err: '' });
    const answer = JSON.parse(piped.out) as Record<string, unknown> & { entries: Record<string, unknown>[] };
    expect(answer).toMatchObject({ kind: 'trace', as: ['event'], isCut: true });
    expect(answer.entries).toHaveLength(3);
    expect(answer.entries.find(({ step }) => step === 'sent')).toMatchObject({
      outcome: null,
      detail: null,
      attempt: null,
    });

    const terminal = startOnTerminal(['trace', 'req-1'], { env }, 90);
    terminal.child.stdin?.end();
    const { code, out } = await terminal.ended;
    expect(code, out).toBe(0);
    expect(out).toContain('\u001B[1mreq-1\u001B[22m');
    expect(out).toContain(ids[1]);
    expect(out).toContain('\u001B[31mfailed, status 503');
    expect(out).not.toContain('POST /orders \u001B[31m');
    const shown = stripVTControlCharacters(out).split(/\r?\n/);
    expect(shown.some((line) => /^[\d:.]{12} {2}shop {2}call {2}charge$/.test(line))).toBe(true);
  });

  test('says what it looked for when it finds nothing, and which ids a beginning may mean [X.7]', async ({
    postgres: server,
  }) => {
    const { env, schema, client } = await seeded(server);
    const nothing = await runHere(['trace', 'req-2'], { env });
    expect(nothing).toMatchObject({ code: 1, out: '' });
    expect(nothing.err).toMatch(/^error: nothing is known by "req-2"\.\nLooked for among request ids, .*source ids/);
    expect(nothing.err).toMatch(/7 days.*30 days.*factRecorder/s);
    const start = '0190aaaa';
    const ids = [1, 2].map((n) => `${start}-0000-7000-8000-00000000000${n}`);
    await client.query(
      `insert into ${schema}.delivered (slot, id, handler, outcome, version, attempts, cycle, rerun, type, payload, source)
      select 0, id, 1, 0, 0, 1, 0, 0, 'order.placed', '{}', 'shop' from unnest($1::uuid[]) id`,
      [ids],
    );
    const both = await runHere(['trace', start], { env });
    expect(both.code).toBe(1);
    expect(both.err).toContain(`${start} is the beginning of several ids:\n`);
    for (const id of ids) expect(both.err).toMatch(new RegExp(`\n {2}${id} {2}\\d{4}-.*Z {2}order.placed\n`));
    const asJson = await runHere(['trace', 'req-2', '--json'], { env });
    expect(JSON.parse(asJson.err)).toMatchObject({ error: { message: expect.stringContaining('nothing is known') } });
    expect((await runHere(['trace', '  '], { env })).err).toContain('trace needs an id');
    expect((await runHere(['trace', 'x', '--limit', '9999'], { env })).code).toBe(2);
    expect((await runHere(['trace'], { env })).code).toBe(2);
  });
});
