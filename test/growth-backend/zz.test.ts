import { expect } from 'vitest';
import type { Growth } from '../../examples/growth-backend/start-growth.ts';
import { needs } from '../support/needs.ts';
import { theGrowth } from './the-growth.ts';
const test = needs('postgres', 'redis').extend<{ growth: Growth }>({
  growth: async ({ postgres, redis }, use) => use(await theGrowth({ postgres, redis })),
});
test('x', async ({ growth }) => {
  const { client } = growth;
  const made = await client.request('POST', '/workflow-runs', { idempotencyKey: 'a', headers: {'x-growqr-org': 'org_1'} });
  console.log(made.status, made.body);
  const again = await client.request('POST', '/workflow-runs', { idempotencyKey: 'a', headers: {'x-growqr-org': 'org_1'} });
  console.log(again.status, again.body);
  const run = made.body['runId'];
  console.log(JSON.stringify((await client.request('GET', `/workflow-runs/${run}`)).body, null, 1));
  for (const m of ['interview', 'plan', 'document']) console.log((await client.request('POST', `/workflow-runs/${run}/modules/${m}/run`)).body);
  console.log((await client.request('POST', `/workflow-runs/${run}/modules/interview/run`)).body);
  await expect.poll(async () => ((await client.request('GET', `/workflow-runs/${run}`)).body as any).modules.map((m: any) => m.state), {timeout: 15000}).toEqual(['done', 'done', 'done']).catch((e) => console.log(e.message));
  await new Promise((r) => setTimeout(r, 2000));
  for (const l of growth.lines()) console.log(JSON.stringify(l));
  for (const t of ['grow_event','score','service_session','artifact','mission','stage','suggestion', 'git_resource', 'plan']) console.log(t, JSON.stringify((await growth.query(`select * from growth.${t}`))));
  for (const p of ['interview', 'agent', 'git', 'llm'] as const) console.log(p, JSON.stringify((await client.ledger(p)).requests.map((r) => [r.operation, r.status, r.outcome, r.idempotencyKey, r.requestId])));
  console.log(JSON.stringify((await client.request('GET', `/workflow-runs/${run}`)).body, null, 1));
});
