import { type Drill, drill } from 'holdfast/drills';
import { DrilledRun } from './drilled-run.ts';
import { BY, growthStage } from './growth-stage.ts';

/** Drill 3: the token of the Git host breaks after a user and a repository were made. */
export const brokenCredentials: Drill = drill('broken-credentials', {
  about:
    'A token breaks in the middle: one attempt, nothing that was made is untracked, and a replay goes on from there.',
  stage: growthStage,
  run: async (growth, run) => {
    const drilled = await DrilledRun.create(growth);
    const broken = run.inject('requests to git that are refused for their token');
    run.after(() => growth.client.trouble('git'));
    await growth.client.trouble('git', { kind: 'token', after: 2 });
    const commandId = await drilled.ask('document');

    await run.until('document ends as', 'dlq', () => drilled.stateOf('document'));
    broken.hit((await growth.client.ledger('git')).trouble?.hits ?? 0);
    run.check('attempts that were repeated', 0, await drilled.retriesOf('document'));
    await run.until('retryable, in the log of the call', [false], () => [...drilled.failedCalls('git.ensure-file')]);
    const requests = (await drilled.askedOf('git')).map(({ operation, status }) => `${operation} ${status}`);
    run.check('requests to git', ['create-user 201', 'create-repo 201', 'create-file 401'], requests);
    const tracked = async (): Promise<unknown> =>
      (
        await growth.query<{ what: string }>(
          `select kind || ' ' || state as what from growth.git_resource where run_id = $1 order by kind`,
          [drilled.runId],
        )
      ).map(({ what }) => what);
    run.check('what is on record', ['file wanted', 'repo there', 'user there'], await tracked());

    await growth.client.trouble('git');
    await growth.operator.replay(commandId, BY);
    await run.until('document after the replay', 'done', () => drilled.stateOf('document'));
    run.check('what is on record then', ['file there', 'repo there', 'user there'], await tracked());
    const did = (await drilled.askedOf('git')).filter(({ outcome }) => outcome === 'did');
    const made = did.map(({ operation }) => operation);
    run.check('what git made in all', ['create-user', 'create-repo', 'create-file'], made);
  },
});
