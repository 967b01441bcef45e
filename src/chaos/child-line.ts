import type { BrokerWay, RedisWay } from './broker-way.ts';
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

/** How an API process is started. */
export interface ApiOptions extends ChildOptions {
  readonly name: string;
  readonly redis: RedisWay;
  /** Stands before the keys of cached replies. */
  readonly prefix: string;
  /** How long a request that died holds its idempotency key. */
  readonly leaseMs: number;
}

/**
 * What a worker does.
 *   all       publishes and handles, or handles what stays in the database
 *   relay     publishes only: what it publishes is handled by another service
 *   consumer  is that other service
 */
export type WorkerRole = 'all' | 'relay' | 'consumer';

/** How a worker is started. */
export interface WorkerOptions extends ChildOptions {
  readonly name: string;
  readonly role: WorkerRole;
  /** The schema of its own tables: another than that of the drill's tables for a consumer. */
  readonly store: string;
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
  | { readonly kind: 'ready'; readonly port?: number }
  | { readonly kind: 'memory'; readonly rss: number }
  | { readonly kind: 'problem'; readonly problem: string };

/** How the sender is started. */
export interface SenderOptions extends ChildOptions {
  /** Where it posts to; empty: it writes to the database. */
  readonly urls: readonly string[];
  /** One write in a hundred asks for a failure of the API. */
  readonly hasApiFaults: boolean;
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
  /** Absent where it does not write over HTTP. */
  readonly http?: HttpCounts;
}

/** What clients that write over HTTP have sent and got. */
export interface HttpCounts {
  readonly posts: number;
  /** 201, and the handler ran for it. */
  readonly fresh: number;
  /** 201 out of what was stored, by Redis or by the database. */
  readonly fromRedis: number;
  readonly fromDatabase: number;
  /** Answered with another status: in flight, a failure, a store that is away. */
  readonly refused: number;
  /** Posts that got no response. */
  readonly lost: number;
  /** Responses that were not equal to the first one to the same key. */
  readonly different: number;
}

/** A failure that a client asks of the API for its first try, by the header `x-drill-fault`. */
export const API_FAULTS = ['throw-before', 'throw-after', 'cut-before', 'cut-after'] as const;
export type ApiFault = (typeof API_FAULTS)[number];
export const API_FAULT_HEADER = 'x-drill-fault';
/** Which store a response came out of: `redis`, `database`, or absent for a response of the handler. */
export const STORE_HEADER = 'x-drill-store';

/** A step, and the key under which it is sent once. */
export function idempotencyKeyOf({ key, n }: Pick<Step, 'key' | 'n'>): string {
  return `${key}-${n}`;
}
