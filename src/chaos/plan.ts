import { type FaultName, WOVEN } from './fault-names.ts';
import type { WorkloadSettings } from './settings.ts';
import { seededRandom } from './seeded-random.ts';
import type { StepMix } from './step.ts';

const POISON_EVERY = 200;
/** One in a hundred. */
const FLAKY_EVERY = 100;

/** How many messages of a run are of which kind. In a small run there are more of each, so that there are some. */
export function mixOf({ messages, faults }: Pick<WorkloadSettings, 'messages' | 'faults'>): StepMix {
  const every = (fault: FaultName, usual: number): number =>
    faults.includes(fault) ? Math.max(7, Math.min(usual, Math.floor(messages / 4))) : 0;
  return {
    flakyEvery: every('failure', FLAKY_EVERY),
    poisonEvery: every('poison', POISON_EVERY),
    mendedEvery: every('replay', POISON_EVERY),
  };
}

/** The faults of a moment, in the order they are injected: each as often as there are rounds, and mixed by the seed within a round. */
export function planOf({
  faults,
  rounds,
  seed,
}: Pick<WorkloadSettings, 'faults' | 'rounds' | 'seed'>): readonly FaultName[] {
  const random = seededRandom(seed);
  const timed = faults.filter((fault) => !WOVEN.includes(fault));
  return Array.from({ length: rounds }, () => shuffled(timed, random)).flat();
}

function shuffled<T>(items: readonly T[], random: () => number): readonly T[] {
  const mixed = [...items];
  for (let at = mixed.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1));
    [mixed[at], mixed[other]] = [mixed[other] as T, mixed[at] as T];
  }
  return mixed;
}
