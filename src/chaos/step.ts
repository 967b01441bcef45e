import { event, type EventDefinition } from '../outbox/event.ts';

/**
 * What becomes of a message besides its effect.
 *   plain    nothing
 *   flaky    its handlers fail at the first attempt
 *   poison   its handlers refuse it for good: it must end as a dead letter
 *   mended   its handlers refuse it until the cause is mended; then it is replayed
 */
export type StepKind = 'plain' | 'flaky' | 'poison' | 'mended';

/** What is sent: the `n`-th message of its key, from 1. */
export interface Step {
  readonly key: string;
  readonly n: number;
  readonly kind: StepKind;
}

export const DRILL_SERVICE = 'drill';
/** The service that consumes what the other publishes, where they are two. */
export const CONSUMER_SERVICE = 'drill-books';

export const stepTaken: EventDefinition<Step> = event<Step>('drill.step', { key: ({ key }) => key });

/** The two kinds of handlers: one that commits by itself, and one that shares a commit with others. */
export const HANDLERS = ['book', 'count'] as const;

/** A run of a handler, as journals name it. */
export function runName(handler: string, { key, n }: Pick<Step, 'key' | 'n'>): string {
  return `${handler} ${key} ${n}`;
}

/** How many messages are of which kind, put in by number: of one that is wanted there are some in every run, however small. */
export interface StepMix {
  /** One in so many is flaky; 0: none. */
  readonly flakyEvery: number;
  /** One in so many is poison; 0: none. */
  readonly poisonEvery: number;
  /** One in so many is mended later; 0: none. */
  readonly mendedEvery: number;
}

/** What the `at`-th message of a run is, from 0. Pure. */
export function kindAt(at: number, { flakyEvery, poisonEvery, mendedEvery }: StepMix): StepKind {
  if (poisonEvery > 0 && at % poisonEvery === 3) return 'poison';
  if (mendedEvery > 0 && at % mendedEvery === 5) return 'mended';
  return flakyEvery > 0 && at % flakyEvery === 1 ? 'flaky' : 'plain';
}
