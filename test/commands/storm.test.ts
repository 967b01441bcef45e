import { expect } from 'vitest';
import type { RunningRelay } from '../../src/index.ts';
import { needs } from '../support/needs.ts';
import { moduleRun } from './module-run.ts';
import { type CommandService, commandService } from './runs.ts';

const test = needs('postgres');
const by = { actor: 'ada', reason: 'storm' };

/** Commands whose state is not what their deliveries say, or whose events do not lead from one to the next. */
async function contradictions({ column }: CommandService): Promise<unknown[]> {
  const told = `(select array_agg(e.from_state || '>' || e.to_state order by e.n) from $.command_event e where e.command = c.id)`;
  return column(`select c.state || ' ' || coalesce(d.state::text, '-') || ' ' || coalesce(h.outcome::text, '-') || ' ' || ${told}::text
    from $.command c left join $.delivery d on d.id = c.id left join $.delivered h on h.id = c.id
    where not case
        when c.closed_at is not null then d.id is null and h.outcome = 1
        when c.state = 'done' then d.id is null and h.outcome = 0
        when c.state = 'blocked' then d.state = 2 and d.holds
        when c.state = 'dlq' then d.state = 2 and not d.holds
        else d.state in (0, 1) and h.id is null end
      or (c.attempts <> d.attempts or c.cycle <> d.cycle) is true
      or c.n <> (select count(*) from $.command_event e where e.command = c.id)
      or c.state <> (select e.to_state from $.command_event e where e.command = c.id and e.n = c.n)
      or exists (select from $.command_event e join $.command_event p on p.command = e.command and p.n = e.n - 1
        where e.command = c.id and e.from_state is distinct from p.to_state)`);
}

test('whatever fails, stops and is done by hand at once, each command stands where its delivery does, with one effect [S0.7] [X.3]', async ({
  postgres,
}) => {
  const here = await commandService(postgres);
  const [dlq, blocked] = [moduleRun('dlq', 2, 'dlq'), moduleRun('blocked', 2, 'blocked')];
  const storm = { isOver: false };
  for (const run of [dlq, blocked]) {
    here.commands.handle(run, async ({ moduleId }, ctx) => {
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 10));
      if (!storm.isOver && Math.random() < 0.4) throw new Error('away');
      await ctx.commit(async (tx) => {
        await tx.query(`insert into "${here.schema}".effect values ($1, 1)`, [`${ctx.target} ${moduleId}`]);
      });
    });
  }
  const ids: string[] = [];
  for (let n = 0; n < 80; n += 1) {
    ids.push(await here.send(n % 2 === 0 ? dlq : blocked, { runId: `run_${n % 8}`, moduleId: `m${n}` }));
  }
  const relays: RunningRelay[] = [await here.start({ leaseMs: 1_000 }), await here.start({ leaseMs: 1_000 })];
  const some = (): string => ids[Math.floor(Math.random() * ids.length)] ?? '';
  const acts: readonly (() => Promise<unknown>)[] = [
    () => here.operator.replay(some(), by),
    () => here.operator.replay(some(), by, { handlers: ['commands'] }),
    () => here.operator.discard(some(), by),
    () => here.operator.discard(some(), by, { open: true }),
    () => here.operator.edit(some(), { runId: 'run_0', moduleId: 'edited' }, by),
    async () => {
      const relay = relays.shift();
      relays.push(await here.start({ leaseMs: 1_000 }));
      await relay?.stop({ drainMs: 0 });
    },
  ];
  for (let n = 0; n < 180; n += 1) {
    const act = acts[n % 60 === 0 ? 5 : Math.floor(Math.random() * 5)];
    await Promise.all([act?.(), acts[Math.floor(Math.random() * 5)]?.()]);
  }
  storm.isOver = true;
  const stuck = `select count(*)::int from $.command where closed_at is null and state <> 'done'`;
  await expect
    .poll(async () => {
      await here.operator.replayWhere({ limit: 1_000 }, by);
      return here.column(stuck);
    })
    .toEqual([0]);
  expect(await contradictions(here)).toEqual([]);
  const done = await here.column(`select count(*)::int from $.command where state = 'done'`);
  expect(await here.column('select count(*)::int from $.effect')).toEqual(done);
});
