import type { HandlerOverview } from '../../operator/overview.ts';
import { counted } from '../../operator/words.ts';
import { readPresent, type Present } from '../operator/overview-present.ts';
import type { CheckFinding, DatabaseCheck } from './finding.ts';

/** Every message has somebody who handles it. */
export const work: DatabaseCheck = async ({ sql, schema }) => {
  const present = await readPresent(sql, `"${schema}"`);
  return [workers(present), ...handlers(present), ...deadLetters(present)];
};

function workers({ workers: alive, isPaused }: Present): CheckFinding {
  const check = 'workers';
  if (isPaused) return { check, status: 'warning', found: 'everything is paused', next: 'holdfast resume' };
  if (alive > 0) return { check, status: 'ok', found: `${counted(alive, 'worker')} ${alive === 1 ? 'lives' : 'live'}` };
  const next = 'start a service that calls hf.start(), or holdfast relay';
  return { check, status: 'warning', found: 'no worker lives', next };
}

function handlers({ handlers: all, withoutHandler }: Present): readonly CheckFinding[] {
  const check = 'handlers';
  const findings: CheckFinding[] = [];
  if (withoutHandler > 0) {
    const found = `${counted(withoutHandler, 'message')} of a type that no handler takes`;
    findings.push({ check, status: 'problem', found, next: 'start a service that takes the type, or discard them' });
  }
  for (const one of all) {
    const name = `${one.service}/${one.handler}`;
    const open = one.pending + one.waiting;
    if (one.workers.length === 0 && open > 0) {
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
  const served = all.filter((one) => one.workers.length > 0).length;
  return [
    { check, status: 'ok', found: `${all.length} known, ${served} served, nothing waits for one without a worker` },
  ];
}

function deadLetters({ handlers: all }: Present): readonly CheckFinding[] {
  const failed = all.reduce((sum: number, one: HandlerOverview) => sum + one.failed, 0);
  if (failed === 0) return [{ check: 'dead letters', status: 'ok', found: 'none' }];
  return [{ check: 'dead letters', status: 'warning', found: String(failed), next: 'holdfast dlq:list' }];
}
