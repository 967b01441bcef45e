/** Where a guarded request can be when its process dies, or its store does. */
export type Step =
  | 'before-claim'
  | 'after-claim'
  /** In the handler, before and after which the effect is written. */
  | 'before-effect'
  /** After the effect, when the reply is there and about to be stored. */
  | 'before-end'
  /** The reply is stored, and nothing of it is sent. */
  | 'after-end'
  /** The reply is stored, and half of it is sent. */
  | 'sending'
  /** The reply is sent as it is made, and half of it is made: it cannot have been stored. */
  | 'streaming'
  /** The same, but that all of it is made and is about to be stored: the client cannot have its end. */
  | 'streamed';

export const STEPS: readonly Step[] = [
  'before-claim',
  'after-claim',
  'before-effect',
  'before-end',
  'after-end',
  'sending',
  'streaming',
  'streamed',
];

/** How a process is started that stops its requests at the step they name as their person. */
export interface StepServerOptions {
  /** Of an adapter; nothing for the servers of GraphQL and gRPC. */
  readonly adapter?: string;
  /** The store of all routes but the one of atomic mode and `postgres`. */
  readonly redis: { readonly url: string; readonly prefix: string };
  /** Where the effects are written, one line each. */
  readonly effects: { readonly url: string; readonly schema: string };
  /** The way to the same database as a store. Default: that of the effects. */
  readonly storeUrl?: string;
  /** Whether requests are stopped. One that takes over from another does not. */
  readonly stops: boolean;
  readonly leaseMs: number;
  readonly keepMs?: number;
  readonly storeTimeoutMs?: number;
}

/** What such a process says of itself, one line each. */
export type StepServerLine =
  | { readonly urls: Readonly<Record<string, string>>; readonly clock: number }
  | { readonly route: string; readonly step: Step };

/** What is asked for. */
export interface Order {
  readonly order: string;
  readonly stopAt: Step | 'nowhere';
}
