import type { Fault, FaultPoint } from '../../src/testing/index.ts';
import type { SeededRandom } from './seeded-random.ts';

/** How rough one schedule is. Some are calm, so that faults meet quiet moments too. */
export interface Temper {
  /** Part of the calls that go wrong. */
  readonly faults: number;
  /** Part of the calls that take a while. */
  readonly slow: number;
  readonly failing: number;
  /** How long an attempt may take, and which part of them never ends by itself. */
  readonly timeoutMs: number;
  readonly hanging: number;
  readonly kills: number;
  readonly pauses: number;
  /** Workers that are asked to stop. */
  readonly stops: number;
  readonly verbs: number;
  /** What operators do to a whole key, or to all that failed for one cause. */
  readonly keyVerbs: number;
  /** How many dead letters an operator acts on at once, from 0 to 1. */
  readonly hasty: number;
  /** Many messages of one key that one transaction sends: more than are kept ready of a key. */
  readonly bursts: number;
  readonly reruns: number;
  readonly messages: number;
  readonly workers: number;
  /** Two versions of the workers, each with messages of its own. */
  readonly isPinned: boolean;
  readonly lostWakes: number;
  readonly chaosMs: number;
}

export function temperOf(random: SeededRandom): Temper {
  const timeoutMs = random.pick([Infinity, Infinity, 150, 700]);
  return {
    faults: random.pick([0, 0.01, 0.03, 0.1]),
    slow: random.pick([0, 0.1, 0.4]),
    failing: random.pick([0, 0.1, 0.3]),
    timeoutMs,
    hanging: timeoutMs === Infinity ? 0 : random.pick([0, 0.05]),
    kills: random.int(0, 2),
    pauses: random.int(0, 2),
    stops: random.pick([0, 0, 0, 1]),
    verbs: random.int(0, 4),
    keyVerbs: random.pick([0, 0, 3, 12]),
    hasty: random.pick([0, 0, 0.5, 1]),
    bursts: random.pick([0, 0, 0, 1]),
    reruns: random.pick([0, 0, 1, 2]),
    messages: random.int(8, 25),
    workers: random.int(2, 3),
    isPinned: random.chance(0.25),
    lostWakes: random.pick([0, 0.3, 1]),
    chaosMs: random.int(1_500, 5_000),
  };
}

/** What goes wrong at a step of a call. */
export function faultAt(random: SeededRandom, temper: Temper, { call, step }: FaultPoint): Fault | undefined {
  if (call === 'wake') return random.chance(temper.lostWakes) ? { end: 'reject' } : undefined;
  const isBad = random.chance(temper.faults);
  if (!isBad) {
    return step !== 'locked' && random.chance(temper.slow) ? { delayMs: random.int(1, 8) } : undefined;
  }
  const delayMs = random.chance(0.5) ? random.int(1, 60) : random.int(60, 2_200);
  if (step === 'locked') {
    const end = random.pick(['none', 'none', 'reject', call === 'commit' ? 'again' : 'reject'] as const);
    return end === 'none' ? { delayMs } : { delayMs, end };
  }
  // A reply may be lost, or late.
  return random.chance(0.5) ? { end: 'reject' } : random.chance(0.3) ? { delayMs, end: 'reject' } : { delayMs };
}
