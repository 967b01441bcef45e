import type { Finding } from '../../operator/system-record.ts';
import type { CheckFinding } from '../../postgres/doctor/finding.ts';
import type { Invocation } from '../command.ts';
import { addressOf } from '../database-target.ts';
import { describeProblem } from '../describe-problem.ts';
import type { MongoStore } from '../mongo-store.ts';

/** Whether a MongoDB answers, has transactions, and has the collections and indexes of this release. */
export async function mongoFindings(
  { io }: Pick<Invocation, 'io'>,
  mongo: MongoStore,
): Promise<readonly CheckFinding[]> {
  const { target, operator } = mongo;
  try {
    await mongo.ping();
    const beganMs = io.effects.monoMs();
    await mongo.ping();
    const took = Math.round(io.effects.monoMs() - beganMs);
    const { server, workers, findings } = await operator.system();
    const found = `${addressOf(target)} (from ${target.from}), through mongodb, ${took} ms a round trip`;
    return [
      { check: 'connection', status: 'ok', found },
      { check: 'server', status: 'ok', found: server },
      ...findings.map(checkFinding),
      workers.length > 0
        ? { check: 'workers', status: 'ok', found: `${workers.length} of outboxes and inboxes live` }
        : {
            check: 'workers',
            status: 'warning',
            found: 'no process publishes or handles messages',
            next: 'call start() of an outbox or an inbox in one',
          },
    ];
  } catch (error) {
    const [found = '', ...next] = describeProblem(error, { target, schema: '' }).split('; ');
    return [{ check: 'connection', status: 'problem', found, next: next.join('; ') }];
  }
}

function checkFinding({ level, title, advice }: Finding): CheckFinding {
  const found = { check: 'database', status: level, found: title };
  return advice === undefined ? found : { ...found, next: advice };
}
