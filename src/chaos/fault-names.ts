import type { WorkloadName } from './settings.ts';

/**
 * The faults that a built-in drill can inject, in the order it does, and what is done. Those before `failure` happen at a moment; the rest
 * is woven into the messages.
 */
export const FAULTS = {
  'kill-worker': 'a worker is killed with messages in its hand',
  cut: 'every connection is cut',
  'hang-worker': 'a worker stands still until its work was given to others, then goes on',
  'late-commit': 'a transaction commits after others that began later',
  slow: 'everything on every connection takes longer',
  duplicate: 'messages come once more, the newest first',
  'store-outage': 'the database cannot be reached',
  clock: "the clock of a worker jumps forward, another's back",
  'broker-outage': 'the broker cannot be reached',
  restart: 'the database crashes and starts again',
  silence: 'connections stay open, and nothing comes over them',
  failure: 'handlers fail at the first attempt',
  poison: 'payloads that no handler can take',
  replay: 'dead letters whose cause is mended are replayed by two operators at once, and once more',
} as const;

export type FaultName = keyof typeof FAULTS;

export const FAULT_NAMES: readonly FaultName[] = Object.keys(FAULTS) as FaultName[];

/** Faults that are part of messages, and not of a moment. */
export const WOVEN: readonly FaultName[] = ['failure', 'poison', 'replay'];

/** After these work has to go on; the others stop nothing. */
export const STOPS_WORK: readonly FaultName[] = [
  'kill-worker',
  'cut',
  'hang-worker',
  'slow',
  'store-outage',
  'broker-outage',
  'restart',
  'silence',
];

/** What a fault needs that not every drill has. */
const NEEDS: Partial<Record<FaultName, 'broker' | 'own server'>> = { 'broker-outage': 'broker', restart: 'own server' };

/** What is there for faults to hit. */
export interface FaultGround {
  readonly hasBroker: boolean;
  readonly hasOwnServer: boolean;
}

/** Why a fault cannot be injected there; nothing when it can. */
export function missingFor(fault: FaultName, { hasBroker, hasOwnServer }: FaultGround): string | undefined {
  if (NEEDS[fault] === 'broker' && !hasBroker) return 'it needs a broker; pass --via and --broker';
  if (NEEDS[fault] === 'own server' && !hasOwnServer)
    return 'only a database that the drill has started is restarted; leave --url out';
  return undefined;
}

const LOAD: readonly FaultName[] = ['kill-worker', 'cut', 'duplicate', 'failure', 'poison'];

/** The faults of a drill where none is chosen. */
export function usualFaults(name: WorkloadName, ground: FaultGround): readonly FaultName[] {
  const all = name === 'load' ? LOAD : FAULT_NAMES;
  return all.filter((fault) => missingFor(fault, ground) === undefined);
}
