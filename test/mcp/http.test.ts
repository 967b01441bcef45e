import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Pool } from 'pg';
import { describe, expect, onTestFinished } from 'vitest';
import { mcpServer } from '../../src/mcp/index.ts';
import { postgresOperator } from '../../src/postgres/index.ts';
import { operatorServer } from '../../src/server/index.ts';
import { openExpenses } from '../cli/expenses.ts';
import { needs } from '../support/needs.ts';
import { type Agent, agentOn } from './agent.ts';

const test = needs('postgres');

const TOKENS = [
  { role: 'operator', actor: 'ann', token: 'secret-of-ann-0123456789' },
  { role: 'operator', actor: 'bob', token: 'secret-of-bob-0123456789' },
  { role: 'viewer', actor: 'wall', token: 'secret-of-the-wall-01234' },
] as const;

/** The operator server on a port of this machine, with agents at `mcp`. */
async function serve(
  url: string,
  schema: string,
): Promise<(secret: string, mode?: 'auto' | 'legacy') => Promise<Agent>> {
  const pool = new Pool({ connectionString: url, max: 4 });
  const operator = postgresOperator({ pool, schema });
  const agents = mcpServer({ operator, allowWrites: true, maxItems: 2 });
  const server = operatorServer({
    operator,
    tokens: TOKENS,
    redact: { paths: ['amount'], visibleTo: 'nobody', showErrors: true, showKeys: true },
    consoleFiles: false,
    mcp: (request, { actor, role }, seen) =>
      agents.fetch(request, { name: actor, mayWrite: role !== 'viewer', operator: seen }),
  });
  const http = createServer(server.listener).listen(0, '127.0.0.1');
  await new Promise((resolve) => http.once('listening', resolve));
  onTestFinished(async () => {
    await agents.close();
    await server.close();
    http.closeAllConnections();
    http.close();
    await pool.end();
  });
  const address = new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
  return async (secret, mode = 'auto') => {
    const client = new Client({ name: 'web-agent', version: '1.0.0' }, { versionNegotiation: { mode } });
    const requestInit = { headers: { authorization: `Bearer ${secret}` } };
    await client.connect(new StreamableHTTPClientTransport(address, { requestInit }));
    onTestFinished(() => client.close());
    return agentOn(client);
  };
}

describe('the tools for agents over HTTP', () => {
  test('plan and start bulk operations, each caller with its own plan, token and role [X.5] [X.9]', async ({
    postgres,
  }) => {
    const { schema, file, drain, ask } = await openExpenses(postgres);
    const ids = await file(
      { employee: 'ann', ledger: 'refuses' },
      { employee: 'bob', ledger: 'refuses' },
      { employee: 'cy', ledger: 'refuses' },
    );
    await drain();
    const connect = await serve(postgres.url, schema);
    const [ann, bob, wall] = [
      await connect(TOKENS[0].token),
      await connect(TOKENS[1].token, 'legacy'),
      await connect(TOKENS[2].token),
    ];

    // All that can be looked at.
    expect((await wall.call('get_overview')).value).toMatchObject({
      verdict: expect.any(String),
      handlers: [{}, {}],
      sums: { range: 'hour' },
    });
    const groups = (await wall.call('list_error_groups', { state: 'open' })).value as {
      items: { id: string; pending: number }[];
    };
    expect(groups.items).toMatchObject([{ handler: 'ledger', pending: 3 }]);
    const group = groups.items[0]?.id;
    expect((await wall.call('search_messages', { query: 'status:failed key:bob' })).value).toMatchObject({
      items: [{ id: ids[1] }],
    });
    expect((await wall.call('search_messages', { query: ids[2] })).value).toMatchObject({ items: [{ id: ids[2] }] });
    expect(await wall.refused('search_messages', { query: 'stauts:failed' })).toContain('did you mean status:?');
    expect((await wall.call('list_breakers')).value).toMatchObject({ items: [{ name: 'ledger', state: 'closed' }] });
    expect((await wall.call('list_dlq_events', { group, limit: 2 })).value).toMatchObject({
      items: [{}, {}],
      next: expect.any(String),
    });
    // What is hidden from a role is hidden from its agent.
    const detail = await wall.call('get_dlq_event_detail', { id: ids[0] });
    expect(detail.value['payload']).toMatchObject({ text: expect.stringContaining('[redacted]') });
    expect(detail.text).not.toContain('"amount\\":12');
    expect(await wall.refused('plan_bulk', { verb: 'replay', group })).toContain('read-only');

    // A plan within the limit, which only who made it can start, once, with a reason.
    expect(await ann.refused('plan_bulk', { verb: 'replay' })).toContain('names nothing');
    expect(await ann.refused('plan_bulk', { verb: 'replay', group, limit: 3 })).toContain('allows agents 2');
    const planned = await ann.call('plan_bulk', { verb: 'replay', group, canary: 1 });
    expect(planned.value).toMatchObject({
      bulk: { total: 2, isCut: true, state: 'planned', actor: 'mcp:ann' },
      sample: [{}, {}],
      forecast: [{ workers: 0 }],
    });
    expect(planned.summary).toContain('no live worker');
    const bulk_id = (planned.value['bulk'] as { id: string }).id;
    expect(await ann.refused('start_bulk', { bulk_id })).toContain('needs a reason');
    expect(await bob.refused('start_bulk', { bulk_id, reason: 'mine now' })).toContain('planned by somebody else');
    expect(await ann.refused('start_bulk', { bulk_id: ids[0], reason: 'x' })).toContain(
      'no bulk operation has that id',
    );
    expect((await ann.call('start_bulk', { bulk_id, reason: 'account opened' })).value).toMatchObject({
      bulk: { state: 'canary' },
    });
    expect(await ann.refused('start_bulk', { bulk_id, reason: 'again' })).toContain('started already');
    expect((await bob.call('pause_bulk', { bulk_id, reason: 'wait for the bank' })).value).toMatchObject({
      bulk: { state: 'paused' },
    });
    expect(await bob.refused('pause_bulk', { bulk_id, reason: 'again' })).toMatch(/paused/);
    expect((await wall.call('get_bulk', { bulk_id })).value).toMatchObject({ bulk: { state: 'paused' }, failed: [] });
    expect((await wall.call('get_bulk')).value).toMatchObject({ bulks: [{ id: bulk_id }] });

    // A token stands for the one it was given to.
    const token = await ann.preview('discard_dlq_event', { id: ids[2] });
    expect(await bob.refused('discard_dlq_event', { id: ids[2], preview_token: token, reason: 'x' })).toContain(
      'another caller',
    );
    const own = await bob.preview('discard_dlq_event', { id: ids[2] });
    await bob.call('discard_dlq_event', { id: ids[2], preview_token: own, reason: 'test data' });

    const { items } = (await ask('audit')) as { items: object[] };
    expect(items).toMatchObject([
      { actor: 'mcp:bob', verb: 'discard', messageId: ids[2], reason: 'test data' },
      { actor: 'mcp:bob', verb: 'pause-bulk', reason: 'wait for the bank' },
      { actor: 'mcp:ann', verb: 'start-bulk', reason: 'account opened' },
    ]);
    await expect(connect('secret-of-nobody-0123456789')).rejects.toThrow(/401|Unauthorized|token/i);
  });
});
