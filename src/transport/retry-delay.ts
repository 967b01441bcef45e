import type { OptionCheck } from '../kernel/check-options.ts';
import type { OutboundMessage } from './broker.ts';
import { DEAD_CYCLE, DEAD_FINAL } from './cloud-event.ts';

const MOST_DELAYS = 20;
const DAY_MS = 86_400_000;

/**
 * How long a copy of a dead letter waits at the broker until its message is tried again: a delay for each round, by the cycle it died
 * in. Nothing: it stays where dead letters are, because the rounds are over, or because trying again would not help.
 */
export function retryDelayOf(
  { isDead, headers }: Pick<OutboundMessage, 'isDead' | 'headers'>,
  delaysMs: readonly number[],
): number | undefined {
  return isDead && headers[DEAD_FINAL] === undefined ? delaysMs[Number(headers[DEAD_CYCLE])] : undefined;
}

/** Refuses what is no list of delays. */
export function checkRetryDelays(check: OptionCheck, delaysMs: unknown): void {
  if (!Array.isArray(delaysMs) || delaysMs.length > MOST_DELAYS || !delaysMs.every(isDelay))
    check.refuse('retryDelaysMs', delaysMs, 'write whole milliseconds up to a day, such as [250, 500, 1_000]');
}

function isDelay(one: unknown): boolean {
  return Number.isInteger(one) && Number(one) >= 1 && Number(one) <= DAY_MS;
}
