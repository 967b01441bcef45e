import { createSleep } from '../kernel/sleep.ts';
import { systemEffects } from '../system/effects.ts';
import { type Crew, inHand, isBusy, type Member } from './crew.ts';
import type { Site } from './site.ts';
import { until } from './until.ts';

/** How long something to hit is looked for. One that finds nothing has not hit, and the drill does not count. */
export const FIND_MS = 15_000;
/** A signal takes its time with a process of many threads. */
const STANDS_MS = 20;
const BUSY_LOOK_MS = 3;
const MORE_EVERY_MS = 1_000;

const sleep = createSleep(systemEffects);

/** A process that was stopped in the middle of its work. */
export interface Standing {
  readonly member: Member;
  /** What it has in its hand, and has no effect yet. */
  readonly runs: readonly string[];
  readonly sinceMs: number;
}

/** Stops one in the middle of its work: what it had in its hand as it stood still it has still. */
export async function standing(
  { database }: Site,
  crew: Crew,
  signal: AbortSignal,
  sendMore: () => void,
): Promise<Standing | undefined> {
  const endMs = systemEffects.monoMs() + FIND_MS;
  let moreMs = 0;
  while (systemEffects.monoMs() < endMs) {
    signal.throwIfAborted();
    const [member] = crew.busy.toSorted((a, b) => inHand(b).length - inHand(a).length);
    if (!member) {
      // The last of them may have been finished between two looks.
      if (systemEffects.monoMs() >= moreMs) {
        sendMore();
        moreMs = systemEffects.monoMs() + MORE_EVERY_MS;
      }
      await sleep(BUSY_LOOK_MS, signal);
      continue;
    }
    member.child.process.kill('SIGSTOP');
    await sleep(STANDS_MS);
    const sinceMs = systemEffects.now().wallMs;
    const runs = await database.unfinishedOf(inHand(member));
    if (isBusy(member) && runs.length > 0) return { member, runs, sinceMs };
    member.child.process.kill('SIGCONT');
  }
  return undefined;
}

/** Waits until each of these runs has its effect, or has become a dead letter. */
export async function isFinished({ database }: Site, runs: readonly string[], signal: AbortSignal): Promise<boolean> {
  const isDone = async (): Promise<boolean> => (await database.unfinishedOf(runs)).length === 0;
  return until(isDone, { withinMs: FIND_MS, signal });
}
