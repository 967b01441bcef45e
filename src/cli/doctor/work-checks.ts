import type { HandlerStats, OperatorStats } from '../../operator/operator-records.ts';
import { counted } from '../counted.ts';
import { databaseOperator } from '../open-operator.ts';
import type { Check, Finding } from './finding.ts';

/** Every message has somebody who handles it. */
export const work: Check = async ({ database }) => {
  const operator = databaseOperator(database);
  const stats = await operator.stats({ countDelivered: false });
  return [workers(stats), ...handlers(stats), ...deadLetters(stats)];
};

function workers({ workers: alive, isPaused }: OperatorStats): Finding {
  const check = 'workers';
  if (isPaused) return { check, status: 'warning', found: 'everything is paused', next: 'holdfast resume' };
  if (alive > 0) return { check, status: 'ok', found: `${counted(alive, 'worker')} ${alive === 1 ? 'lives' : 'live'}` };
  const next = 'start a service that calls hf.start(), or holdfast relay';
  return { check, status: 'warning', found: 'no worker lives', next };
}

function handlers({ handlers: all, withoutHandler }: OperatorStats): readonly Finding[] {
  const check = 'handlers';
  const findings: Finding[] = [];
  if (withoutHandler > 0) {
    const found = `${counted(withoutHandler, 'message')} of a type that no handler takes`;
    findings.push({ check, status: 'problem', found, next: 'start a service that takes the type, or discard them' });
  }
  for (const one of all) {
    const name = `${one.service}/${one.handler}`;
    const open = one.pending + one.waiting;
    if (one.workers === 0 && open > 0) {
      const found = `${name} has ${counted(open, 'open delivery', 'open deliveries')} and no worker`;
      findings.push({
        check,
        status: 'problem',
        found,
        next: `start the service ${one.service}, or holdfast handlers retire ${name}`,
      });
    } else if (one.pausedAt !== undefined) {
      findings.push({ check, status: 'warning', found: `${name} is paused`, next: `holdfast handlers resume ${name}` });
    }
  }
  if (findings.length > 0) return findings;
  const served = all.filter((one) => one.workers > 0).length;
  return [
    { check, status: 'ok', found: `${all.length} known, ${served} served, nothing waits for one without a worker` },
  ];
}

function deadLetters({ handlers: all }: OperatorStats): readonly Finding[] {
  const failed = all.reduce((sum: number, one: HandlerStats) => sum + one.failed, 0);
  if (failed === 0) return [{ check: 'dead letters', status: 'ok', found: 'none' }];
  return [{ check: 'dead letters', status: 'warning', found: String(failed), next: 'holdfast dlq:list' }];
}
