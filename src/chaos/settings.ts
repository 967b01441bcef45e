import type { BrokerWay, RedisWay } from './broker-way.ts';
import type { FaultName } from './fault-names.ts';

/** The drills that are built in. */
export const WORKLOADS = ['chaos', 'load', 'soak'] as const;
export type WorkloadName = (typeof WORKLOADS)[number];

export function isWorkload(name: string): name is WorkloadName {
  return WORKLOADS.some((one) => one === name);
}

/** The HTTP front of a drill. */
export interface FrontSettings {
  /** Nothing: the drill starts a Redis for itself. */
  readonly redis: RedisWay | undefined;
  /** Where `ioredis` is. */
  readonly ioredis: string;
}

/** API processes, relays (where a broker is behind them), and writes that clients have under way at once. */
export const FRONT_PROCESSES = { apis: 2, relays: 2, clients: 16 } as const;

/** What a built-in drill runs on, and how much of it. */
export interface WorkloadSettings {
  readonly name: WorkloadName;
  /** Of the database; nothing: one is started for the drill. */
  readonly url: string | undefined;
  /** Where `pg` is. */
  readonly pg: string;
  readonly broker: BrokerWay | undefined;
  /** Writes come over HTTP to API processes whose replies Redis stores first; nothing: a sender writes to the database itself. */
  readonly front: FrontSettings | undefined;
  /** Part of the names of all it makes. */
  readonly id: string;
  /** How many are sent at least. A soak sends for as long as it lasts. */
  readonly messages: number;
  readonly keys: number;
  readonly workers: number;
  /** How long it goes on with faults; 0: until each has been injected `rounds` times. */
  readonly forMs: number;
  /** How often each fault is injected. */
  readonly rounds: number;
  readonly faults: readonly FaultName[];
  readonly seed: number;
  /** How long without any progress until it is over. */
  readonly waitMs: number;
  /** Throws where a drill may not run there. */
  readonly demandAllowed: (address: string) => void;
  /** What it made stays. */
  readonly keep: boolean;
  readonly cwd: string;
  /** Of this package. */
  readonly version: string;
}

/** The schema of a drill. */
export function schemaOf({ id }: Pick<WorkloadSettings, 'id'>): string {
  return `holdfast_drill_${id}`;
}

/** The schema of the service that consumes, where messages reach it through a broker. */
export function consumerSchemaOf(settings: Pick<WorkloadSettings, 'id'>): string {
  return `${schemaOf(settings)}_consumer`;
}

/** What stands before the names of a drill's topics, queues and streams. */
export function prefixOf(id: string): string {
  return `holdfast-drill-${id}.`;
}
