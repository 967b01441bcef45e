import { HoldfastError } from '../../kernel/error.ts';
import type { Operator } from '../../operator/operator.ts';

type RefusedVerb =
  | 'trace'
  | 'cancel'
  | 'pause'
  | 'resume'
  | 'retire'
  | 'pauseAll'
  | 'resumeAll'
  | 'releaseKey'
  | 'limit'
  | 'verifyAudit'
  | 'planBulk'
  | 'startBulk'
  | 'pauseBulk'
  | 'resumeBulk'
  | 'cancelBulk'
  | 'bulk'
  | 'bulks'
  | 'bulkItems'
  | 'stepBulks'
  | 'breakers'
  | 'openBreaker'
  | 'closeBreaker'
  | 'erase'
  | 'previewErase'
  | 'erasures'
  | 'resolveGroup'
  | 'ignoreGroup'
  | 'reopenGroup'
  | 'commands'
  | 'outgoingCalls';

/** What is refused, and how it is called where that is said. */
const REFUSED: Readonly<Record<RefusedVerb, string>> = {
  trace: 'holdfast trace',
  cancel: 'cancelling a scheduled message',
  pause: 'pausing a handler',
  resume: 'resuming a handler',
  retire: 'retiring a handler',
  pauseAll: 'pausing everything',
  resumeAll: 'resuming everything',
  releaseKey: 'releasing a key past a dead letter',
  limit: 'limiting the runs of a handler',
  verifyAudit: 'the chain of the audit',
  planBulk: 'a bulk operation',
  startBulk: 'a bulk operation',
  pauseBulk: 'a bulk operation',
  resumeBulk: 'a bulk operation',
  cancelBulk: 'a bulk operation',
  bulk: 'a bulk operation',
  bulks: 'the list of bulk operations',
  bulkItems: 'a bulk operation',
  stepBulks: 'a bulk operation',
  breakers: 'the list of breakers',
  openBreaker: 'opening a breaker',
  closeBreaker: 'closing a breaker',
  erase: 'erasing the data of a person',
  previewErase: 'erasing the data of a person',
  erasures: 'the list of erasures',
  resolveGroup: 'setting the state of an error group',
  ignoreGroup: 'setting the state of an error group',
  reopenGroup: 'setting the state of an error group',
  commands: 'the list of commands',
  outgoingCalls: 'the list of outgoing calls',
};

/** What an operator on MongoDB refuses. */
export type Refused = Pick<Operator, RefusedVerb>;

/** Refuses. */
export function notOnMongodb(of: string): HoldfastError<'NOT_ON_MONGODB'> {
  return new HoldfastError('NOT_ON_MONGODB', { of });
}

/** All that is refused, each with `NOT_ON_MONGODB` and before anything is read. */
export function refusedVerbs(): Refused {
  const verbs = Object.entries(REFUSED).map(([verb, of]) => [
    verb,
    (): Promise<never> => Promise.reject(notOnMongodb(of)),
  ]);
  return Object.fromEntries(verbs);
}
