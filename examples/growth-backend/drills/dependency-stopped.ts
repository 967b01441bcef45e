import { type Drill, drill, type DrillRun } from 'holdfast/drills';
import type { ModuleId } from '../workflow/run-module.ts';
import { DrilledRun } from './drilled-run.ts';
import { BY, type DrilledGrowth, growthStage } from './growth-stage.ts';

/** A service that a module needs, and what must become of the module while it is away. */
interface Dependency {
  readonly partner: 'interview' | 'agent';
  readonly module: ModuleId;
  readonly operation: string;
  readonly ends: 'blocked' | 'dlq';
  /** Asked for after it, in the same run: waits behind one that is blocked, and only behind that. */
  readonly behind: ModuleId;
}

const INTERVIEW: Dependency = {
  partner: 'interview',
  module: 'interview',
  operation: 'interview.hold-session',
  ends: 'blocked',
  behind: 'document',
};
const AGENT: Dependency = {
  partner: 'agent',
  module: 'plan',
  operation: 'agent.create-session',
  ends: 'dlq',
  behind: 'document',
};

/** Drill 1: a dependency is stopped. */
export const dependencyStopped: Drill = drill('dependency-stopped', {
  about: 'Services are killed: their modules are retried, then blocked or dead letters, and go on after a replay.',
  stage: growthStage,
  run: async (growth, run) => {
    await stop(growth, run, INTERVIEW);
    await stop(growth, run, AGENT);
  },
});

async function stop(growth: DrilledGrowth, run: DrillRun, dependency: Dependency): Promise<void> {
  const { partner, module, operation, ends, behind } = dependency;
  const drilled = await DrilledRun.create(growth);
  const refused = run.inject(`calls to ${partner}, whose process is killed`);
  run.after(() => growth.revive(partner));
  await growth.kill(partner);
  const commandId = await drilled.ask(module);
  await drilled.ask(behind);

  await run.until(`${module} ends as`, ends, () => drilled.stateOf(module));
  const worth = await run.until(`calls to ${partner} that were worth a retry`, 9, () => {
    return drilled.failedCalls(operation).filter(Boolean).length;
  });
  refused.hit(worth);
  run.check(`retries of ${module} before that`, 2, await drilled.retriesOf(module));
  run.check(`dead letter of ${module}`, ['pending'], await drilled.deadLetters(commandId));
  const isHeld = ends === 'blocked';
  await run.until(`${behind}, asked for after it`, isHeld ? 'queued' : 'done', () => drilled.stateOf(behind));

  await growth.revive(partner);
  await growth.operator.replay(commandId, BY);
  await run.until(`${module} after the replay`, 'done', () => drilled.stateOf(module));
  await run.until(`${behind} after the replay`, 'done', () => drilled.stateOf(behind));
  const did = (await drilled.askedOf(partner)).filter(({ outcome }) => outcome === 'did');
  run.check(`what ${partner} did in all`, partner === 'agent' ? 2 : 1, did.length);
}
