import type { FlowRules } from './delivery-request.ts';
import type { UrlGroupEndpoint } from './publishing.ts';

/** A queue: first in, first out, so many at once; a message that is tried again keeps its place. */
export interface QueueRecord {
  readonly name: string;
  readonly parallelism: number;
  readonly isPaused: boolean;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** How many are not done. */
  readonly lag: number;
}

export interface Queues {
  get(name: string): Promise<QueueRecord | undefined>;
  list(): Promise<readonly QueueRecord[]>;
  /** Makes it, or changes what is given. One that is not there is made by the first message too, with parallelism 1. */
  upsert(
    name: string,
    change: { readonly parallelism?: number | undefined; readonly isPaused?: boolean | undefined },
  ): Promise<void>;
  /** False: there is none. What stands in it is delivered as if there were no queue any more. */
  delete(name: string): Promise<boolean>;
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
  list(): Promise<readonly UrlGroupRecord[]>;
  /** Makes the group where there is none; an endpoint of the same name, or the same address, is replaced. */
  addEndpoints(name: string, endpoints: UrlGroupRecord['endpoints']): Promise<void>;
  /** By name or address. A group without endpoints is deleted. */
  removeEndpoints(
    name: string,
    endpoints: readonly { readonly name?: string | undefined; readonly url?: string | undefined }[],
  ): Promise<boolean>;
  delete(name: string): Promise<boolean>;
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
  list(search?: string): Promise<readonly FlowControlRecord[]>;
  pause(key: string): Promise<void>;
  resume(key: string): Promise<void>;
  /** Sets limits that messages do not change any more, and begins a new period. */
  pin(key: string, rules: FlowRules): Promise<void>;
  unpin(
    key: string,
    which: { readonly parallelism?: boolean | undefined; readonly rate?: boolean | undefined },
  ): Promise<void>;
  /** The period begins anew. */
  resetRate(key: string): Promise<void>;
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
