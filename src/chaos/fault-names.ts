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
  'kill-api': 'an API process is killed while it handles requests',
  'kill-relay': 'a relay is killed while it publishes',
  'redis-crash': 'Redis, which stores replies first, is killed and comes back empty',
  'redis-flush': 'Redis loses every reply it has',
  'redis-outage': 'Redis cannot be reached',
  'api-failure': 'one request in a hundred fails, or its connection is cut, before or after its row is written',
  failure: 'handlers fail at the first attempt',
  poison: 'payloads that no handler can take',
  replay: 'dead letters whose cause is mended are replayed by two operators at once, and once more',
} as const;

export type FaultName = keyof typeof FAULTS;

export const FAULT_NAMES: readonly FaultName[] = Object.keys(FAULTS) as FaultName[];

/** Faults that are part of messages, and not of a moment. */
export const WOVEN: readonly FaultName[] = ['api-failure', 'failure', 'poison', 'replay'];

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
  'kill-api',
  'kill-relay',
];

/** What a fault needs that not every drill has. */
const NEEDS: Partial<Record<FaultName, readonly Need[]>> = {
  'broker-outage': ['broker'],
  restart: ['own server'],
  'late-commit': ['sender'],
  'kill-api': ['front'],
  'kill-relay': ['front', 'broker'],
  'redis-crash': ['front', 'own Redis'],
  'redis-flush': ['front'],
  'redis-outage': ['front'],
  'api-failure': ['front'],
};

type Need = 'broker' | 'own server' | 'front' | 'own Redis' | 'sender';

/** What is there for faults to hit. */
export interface FaultGround {
  readonly hasBroker: boolean;
  readonly hasOwnServer: boolean;
  /** Writes come over HTTP, with Redis as the first store. */
  readonly hasFront: boolean;
  readonly hasOwnRedis: boolean;
}

/** Why a fault cannot be injected there; nothing when it can. */
export function missingFor(fault: FaultName, ground: FaultGround): string | undefined {
  const { hasBroker, hasOwnServer, hasFront, hasOwnRedis } = ground;
  const missing: Readonly<Record<Need, string | false>> = {
    front: !hasFront && 'only load writes over HTTP',
    sender: hasFront && 'load writes over HTTP, and not by transactions of its own',
    broker: !hasBroker && 'it needs a broker; pass --via and --broker',
    'own server': !hasOwnServer && 'only a database that the drill has started is restarted; leave --url out',
    'own Redis': !hasOwnRedis && 'only a Redis that the drill has started is killed; leave --redis out',
  };
  return NEEDS[fault]?.map((need) => missing[need]).find((why) => why !== false);
}

const LOAD: readonly FaultName[] = [
  'kill-worker',
  'cut',
  'duplicate',
  'kill-api',
  'kill-relay',
  'redis-crash',
  'redis-flush',
  'redis-outage',
  'api-failure',
  'failure',
  'poison',
];

/** The faults of a drill where none is chosen. */
export function usualFaults(name: WorkloadName, ground: FaultGround): readonly FaultName[] {
  const all = name === 'load' ? LOAD : FAULT_NAMES;
  return all.filter((fault) => missingFor(fault, ground) === undefined);
}
