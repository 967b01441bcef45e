import type { HandledEvent } from '../outbox/event.ts';
import type { Classifier, Classify } from '../retry/failure.ts';
import type { Policy, PolicyOptions } from '../retry/policy.ts';
import type { BreakerOptions, BreakerSettings } from './breaker.ts';
import type { Lines } from './lines.ts';
import type { Delivery } from './relay-store.ts';
import type { CarriedTrace } from './run-wrapper.ts';

/** What happens to later messages of a key when one of it has failed for good. */
export const ON_DEAD = ['block', 'pass', 'park'] as const;

/**
 * `block`: they wait until the dead letter is replayed or discarded, then go on by themselves · `pass`: they go on at once ·
 * `park`: they are set aside as dead letters too, and an operator replays or discards them.
 */
export type OnDead = (typeof ON_DEAD)[number];

/** The same for each message by itself, known from what it carries besides its payload. `park` is for all or none. */
export type OnDeadOf = (message: Delivery) => Exclude<OnDead, 'park'>;

/**
 * What may be said about a handler. Every field may be left out. Where a name is given events one by one, each may have rules of its
 * own (all fields but `concurrency`, `lines`, `repeatable`, `breaker` and `blameless`, which are the handler's).
 */
export interface HandlerOptions {
  /** A policy, or what differs from the default: `eventHandler`, 5 attempts, 1 s doubling to 5 min, full jitter. */
  readonly policy?: Policy | PolicyOptions | undefined;
  /** Another policy for some failures, by what was thrown; nothing: the one above. What it throws is dropped. */
  readonly policyOf?: ((error: unknown) => Policy | undefined) | undefined;
  /** Asked before the built-in rules for handlers. */
  readonly classify?: Classify | undefined;
  /** Error classes that are final for this handler. */
  readonly terminalErrors?: readonly (abstract new (...args: never[]) => unknown)[] | undefined;
  /**
   * How many of its messages run at once in one process, default 16; for `project`, how many transactions, default 2.
   * Messages of one key never run at once, unless `lines` says otherwise.
   */
  readonly concurrency?: number | undefined;
  /** How many messages of a key run at once. Default: one, and one that waits for its retry keeps its place. Not for `project`. */
  readonly lines?: Lines | undefined;
  /** How long one attempt may take, in milliseconds, when the policy says nothing. Default five minutes. */
  readonly timeoutMs?: number | undefined;
  /**
   * How long a message may wait, in milliseconds, because something the handler calls is down (refused, reset, timed out, 5xx, 429). Such
   * failures spend this time and no attempts; when it is spent the message becomes a dead letter. Default 24 hours, and 0 where `policy` is
   * a named one (`eventHandler`, `consumer`, …), which counts every failure, or allows one attempt only. 0: outages spend attempts. Not for `project`.
   */
  readonly maxOutageMs?: number | undefined;
  /** Default `'block'`: order within a key holds whatever happens. */
  readonly onDead?: OnDead | OnDeadOf | undefined;
  /** An operator may run it again for messages it has handled: its effects can be repeated. Default false. */
  readonly repeatable?: boolean | undefined;
  /**
   * When what it calls is down, nothing of it is started, and one message after the other is tried until one succeeds. On by default,
   * for the handler alone; name a `dependency` to share one among handlers. `false`: none. `project` has none.
   */
  readonly breaker?: BreakerOptions | false | undefined;
  /**
   * No message can make it bring its process down. So none is suspected when a process dies, and none runs alone afterwards: a slow one
   * would hold up all others. Default false.
   */
  readonly blameless?: boolean | undefined;
}

/** What a handler knows about the message it is given, and what it can do. */
export interface HandlerContext<Tx> {
  readonly id: string;
  readonly type: string;
  readonly key: string | undefined;
  readonly handler: string;
  /** From 1. */
  readonly attempt: number;
  readonly maxAttempts: number;
  /** How often an operator has replayed it, from 0. */
  readonly replays: number;
  /** The same at every attempt, replay and takeover of this message by this handler: hand it to whatever is called. */
  readonly idempotencyKey: string;
  /** Aborted when the attempt's time is up, when the relay stops, and when the message was taken over by another process. */
  readonly signal: AbortSignal;
  readonly source: string;
  readonly target: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly generation: number | undefined;
  readonly correlationId: string | undefined;
  readonly causationId: string | undefined;
  readonly traceparent: string | undefined;
  readonly createdAt: Date;
  /**
   * Commits the effect and the completion of this message together, in one short transaction: both are kept, or neither.
   * Do slow work before, only statements inside. The effect may run again when the database asks for it (serialisation
   * failure, deadlock). Rejects with `DELIVERY_TAKEN` when the message is no longer this process's; throw it on.
   */
  commit(effect: (tx: Tx) => Promise<unknown>): Promise<void>;
  /**
   * Ends this run without counting an attempt: the message is looked at again after so many milliseconds, up to a year. Throws what
   * must be thrown on, and never returns.
   */
  postpone(delayMs: number, reason: string): never;
}

/** Handles one message. Returning, or a promise that resolves, is success; throwing is a failed attempt. */
export type Handle<Payload, Tx> = (payload: Payload, ctx: HandlerContext<Tx>) => unknown;

/** Handles one message by database statements alone: its effect is what it does with `tx`. */
export type Project<Payload, Tx> = (payload: Payload, tx: Tx, ctx: Omit<HandlerContext<Tx>, 'commit'>) => unknown;

/** One message of a batch. */
export interface BatchItem<Payload, Tx> {
  readonly payload: Payload;
  readonly ctx: Omit<HandlerContext<Tx>, 'commit'>;
}

/**
 * Handles many messages by database statements alone, in as few as it likes. Messages of one key stand in their order. When it
 * throws, nothing was kept, and it is called again with one half after the other, until the guilty message is alone.
 */
export type ProjectAll<Payload, Tx> = (batch: readonly BatchItem<Payload, Tx>[], tx: Tx) => unknown;

/** What a handler does whose effects are database statements alone: with each message, or with many at once. */
export type Projection<Tx> =
  | { readonly of: 'each'; readonly run: Project<unknown, Tx> }
  | { readonly of: 'all'; readonly run: ProjectAll<unknown, Tx> };

/** How a handler takes one type of message. */
export interface HandlerTake<Run> {
  readonly event: HandledEvent<unknown>;
  readonly run: Run;
}

/** How the runs of a handler, or of one type that it takes, are judged, and what follows. */
export interface RunRules {
  readonly policy: Policy;
  /** Another policy for failures that are not the message's own. */
  readonly policyOf?: ((error: unknown) => Policy | undefined) | undefined;
  readonly classifier: Classifier;
  readonly timeoutMs: number;
  /** How long outages may delay a message before it is dead-lettered. Absent or 0: a failure by an outage spends an attempt. */
  readonly maxOutageMs?: number | undefined;
  readonly onDead: OnDead | OnDeadOf;
}

interface HandlerRules extends RunRules {
  readonly name: string;
  readonly concurrency: number;
  readonly lines?: Lines | undefined;
  readonly repeatable: boolean;
  readonly blameless?: boolean | undefined;
  readonly breaker?: BreakerSettings | undefined;
  /** Of types whose rules are not the handler's. Absent where there are none, as a rule. */
  readonly rulesByType?: ReadonlyMap<string, RunRules> | undefined;
}

/** The rules for messages of a type. */
export function rulesOf<Tx>(handler: HandlerDefinition<Tx>, type: string): RunRules {
  return handler.rulesByType?.get(type) ?? handler;
}

/** A handler that may do anything, and commits its effects with `ctx.commit`. */
export interface HandlingHandler<Tx> extends HandlerRules {
  readonly kind: 'handle';
  /** By type. */
  readonly takes: ReadonlyMap<string, HandlerTake<Handle<unknown, Tx>>>;
}

/** A handler whose effects are database statements alone. */
export interface ProjectingHandler<Tx> extends HandlerRules {
  readonly kind: 'project';
  /** By type. */
  readonly takes: ReadonlyMap<string, HandlerTake<Projection<Tx>>>;
}

/** One message on its way out. */
export interface OutboundItem {
  readonly delivery: Delivery;
  /** JSON text. */
  readonly payload: string;
  /** Grows with each message of a key, from whichever process: text of one length, so that it sorts as it counts. */
  readonly sequence: string;
  /** The trace it goes out with. Default: the one it was sent with. */
  readonly trace?: CarriedTrace | undefined;
  /** True once the relay stops, or the message was taken over by another process. */
  readonly isGivenUp: boolean;
}

/** What became of one message: it is out; it failed; or it was not tried, because one of its key before it failed. */
export type OutboundOutcome =
  | { readonly kind: 'published' }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'skipped' };

/**
 * Hands messages on to somewhere else, many at once. Messages of one key stand in their order; after one of a key that failed, none of
 * that key may go out. The outcomes are in the order of the items.
 */
export type Publish = (items: readonly OutboundItem[]) => Promise<readonly OutboundOutcome[]>;

/** A handler that hands messages on and leaves no effect here. */
export interface PublishingHandler extends HandlerRules {
  readonly kind: 'publish';
  /** What it is told to take: not types, but what messages for it are taken as. */
  readonly takes: ReadonlyMap<string, unknown>;
  readonly publish: Publish;
}

/** A registered handler: a name, its rules, and what it does with each type of message. */
export type HandlerDefinition<Tx> = HandlingHandler<Tx> | ProjectingHandler<Tx> | PublishingHandler;
