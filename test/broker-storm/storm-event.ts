import { event } from 'holdfast';

/** One step of a key, by its number in it. */
export interface StormStep {
  readonly key: string;
  readonly n: number;
  readonly isPoison: boolean;
  /** Its handler throws the first time. */
  readonly isHard: boolean;
}

export const stormStep = event<StormStep, StormStep>('storm.step', { key: ({ key }) => key });

export const STORM_SERVICE = 'storm';
