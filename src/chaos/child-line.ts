import type { BrokerWay } from './broker-way.ts';
import type { Detours } from './detour.ts';
import type { Step, StepMix } from './step.ts';

/** What every process of a drill is told first, by the channel to its parent: a command line would show passwords to all who look. */
export interface ChildOptions {
  readonly url: string;
  readonly schema: string;
  /** Where `pg` is. */
  readonly pg: string;
  readonly broker: BrokerWay | undefined;
  readonly detours: Detours;
}

/** How a worker is started. */
export interface WorkerOptions extends ChildOptions {
  readonly name: string;
  readonly leaseMs: number;
  /** How long a handler takes, at least and at most, in milliseconds. */
  readonly workMs: readonly [least: number, most: number];
}

/** What a worker is told later. */
export type WorkerOrder =
  | { readonly do: 'stop' }
  /** Its clock jumps by so much. */
  | { readonly do: 'jump'; readonly byMs: number };

/** What a worker tells. What must be known even if it is killed in its next instruction stands in its journal instead. */
export type WorkerNews =
  | { readonly kind: 'ready' }
  | { readonly kind: 'memory'; readonly rss: number }
  | { readonly kind: 'problem'; readonly problem: string };

/** How the sender is started. */
export interface SenderOptions extends ChildOptions {
  readonly keys: number;
  readonly connections: number;
  readonly mix: StepMix;
  readonly seed: number;
}

/** What the sender is told later. */
export type SenderOrder =
  /** It may send until so many are committed in all. */
  | { readonly do: 'send'; readonly upTo: number }
  /** It sends the last of what it sent once more, the newest first, under the same idempotency keys. */
  | { readonly do: 'repeat'; readonly count: number }
  /** One transaction is kept open until this many messages of others were committed after it. */
  | { readonly do: 'lag'; readonly behind: number };

/** What the sender tells. Counts are of its whole life. */
export interface SenderNews {
  /** Messages whose commit was answered. */
  readonly acknowledged: number;
  /** How far each key is acknowledged; those that have changed. */
  readonly reached: Readonly<Record<string, number>>;
  /** Sends that were answered with `duplicate`. */
  readonly duplicates: number;
  readonly rolledBack: number;
  /** Repeats that were ordered and have been answered. */
  readonly repeated: number;
  /** Transactions that were committed after later ones. */
  readonly lagged: number;
  /** Connections that were lost. */
  readonly lost: number;
  readonly problem: string | undefined;
}

/** A step, and the key under which it is sent once. */
export function idempotencyKeyOf({ key, n }: Pick<Step, 'key' | 'n'>): string {
  return `${key}-${n}`;
}
