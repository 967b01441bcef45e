import type { WorkloadName } from './settings.ts';

/** What each built-in drill does, in one sentence. */
export const ABOUT: Readonly<Record<WorkloadName, string>> = {
  chaos: 'Every fault there is, one after the other, while messages are sent: none lost, none twice, keys in order.',
  load: 'Idempotent writes over HTTP, Redis in front of the database, with failures, cut connections and killed processes: none lost, none twice.',
  soak: 'A steady load with fault after fault for as long as you like: the same, and memory stays bounded.',
};

/** How far a built-in drill is. */
export interface WorkloadProgress {
  readonly phase: 'opening' | 'working' | 'draining' | 'counting';
  readonly sent: number;
  readonly effects: number;
  /** Of the whole, from 0 to 1. */
  readonly share: number;
  /** What is injected now. */
  readonly fault: string | undefined;
}
