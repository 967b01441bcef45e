import type { FlowRules } from './delivery-request.ts';
import type { UrlGroupEndpoint } from './publishing.ts';
import type { ChangedBy } from './webhook-endpoints.ts';

/**
 * A queue: first in, first out, so many at once; a message that is tried again keeps its place. Names of queues, groups and keys are those
 * under which they are stored: `@acme/nightly` is `nightly` of the tenant `acme`.
 */
export interface QueueRecord {
  readonly name: string;
  readonly parallelism: number;
  readonly isPaused: boolean;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** How many are not done. */
  readonly lag: number;
}

/** Changes are audited as made by `by`, in their own transaction. */
export interface Queues {
  get(name: string): Promise<QueueRecord | undefined>;
  /** Of one tenant, or of all. */
  list(tenant?: string): Promise<readonly QueueRecord[]>;
  /** Makes it, or changes what is given. One that is not there is made by the first message too, with parallelism 1. */
  upsert(
    name: string,
    change: { readonly parallelism?: number | undefined; readonly isPaused?: boolean | undefined },
    by?: ChangedBy,
  ): Promise<void>;
  /** False: there is none. What stands in it is delivered as if there were no queue any more. */
  delete(name: string, by?: ChangedBy): Promise<boolean>;
}

/** Addresses under one name. */
export interface UrlGroupRecord {
  readonly name: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly endpoints: readonly UrlGroupEndpoint[];
}

export interface UrlGroups {
  get(name: string): Promise<UrlGroupRecord | undefined>;
  /** Of one tenant, or of all. */
  list(tenant?: string): Promise<readonly UrlGroupRecord[]>;
  /** Makes the group where there is none; an endpoint of the same name, or the same address, is replaced. */
  addEndpoints(name: string, endpoints: UrlGroupRecord['endpoints'], by?: ChangedBy): Promise<void>;
  /** By name or address. A group without endpoints is deleted. */
  removeEndpoints(
    name: string,
    endpoints: readonly { readonly name?: string | undefined; readonly url?: string | undefined }[],
    by?: ChangedBy,
  ): Promise<boolean>;
  delete(name: string, by?: ChangedBy): Promise<boolean>;
}

/** What is allowed under a key, and what is going on. */
export interface FlowControlRecord extends FlowRules {
  readonly key: string;
  readonly waiting: number;
  readonly active: number;
  /** Started in the period that runs. */
  readonly started: number;
  readonly periodStart?: Date | undefined;
  readonly isPaused: boolean;
  readonly isParallelismPinned: boolean;
  readonly isRatePinned: boolean;
}

export interface FlowControls {
  get(key: string): Promise<FlowControlRecord | undefined>;
  /** Those whose key holds `search`, of one tenant or of all. */
  list(search?: string, tenant?: string): Promise<readonly FlowControlRecord[]>;
  pause(key: string, by?: ChangedBy): Promise<void>;
  resume(key: string, by?: ChangedBy): Promise<void>;
  /** Sets limits that messages do not change any more, and begins a new period. */
  pin(key: string, rules: FlowRules, by?: ChangedBy): Promise<void>;
  unpin(
    key: string,
    which: { readonly parallelism?: boolean | undefined; readonly rate?: boolean | undefined },
    by?: ChangedBy,
  ): Promise<void>;
  /** The period begins anew. */
  resetRate(key: string, by?: ChangedBy): Promise<void>;
}

/**
 * What the sender asks of the settings while it runs. What was asked for once is kept in memory and followed, every second. Nothing: it
 * is not known yet, and is being fetched; `onChange` tells when it is. Start none of that line before: it may be narrow, or paused.
 */
export interface LineSettings {
  queue(name: string): { readonly parallelism: number; readonly isPaused: boolean } | undefined;
  flow(key: string): (FlowRules & { readonly isPaused: boolean }) | undefined;
  /** Asks for one start under a key's rate. `waitMs`: not now, not before. Counted in the database, over all processes. */
  takeRate(key: string): Promise<{ readonly waitMs: number | undefined }>;
  /** Called with the line (`queue:a`, `flow:b`) when what is allowed there changed. */
  onChange(listener: (line: string) => void): () => void;
}
