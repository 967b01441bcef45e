import type { Site } from './site.ts';

/** What came of one fault. */
export interface FaultOutcome {
  /** How often it really hit: connections, messages, workers. */
  readonly hits: number;
  /** From when recovery counts. Absent: from when it was put right. */
  readonly sinceMs?: number;
  /** The runs that were under way in what it hit: recovery is when all of them have had their effect. Absent: the next effect of any. */
  readonly runs?: readonly string[];
}

/** Injects a fault, and puts it right. `sendMore` lets more messages come; without them there is nothing to hit. */
export type InjectFault = (site: Site, signal: AbortSignal, sendMore: () => void) => Promise<FaultOutcome>;
