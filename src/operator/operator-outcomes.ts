import type { DeliveryStatus } from './operator-records.ts';

/** There is such a message. */
export interface Found<Message> {
  readonly kind: 'found';
  readonly message: Message;
}

/** No message has that id: it was never committed, or its history is no longer kept. */
export interface NotFound {
  readonly kind: 'not-found';
}

/** The text is neither a message id nor a dead letter's id. */
export interface BadId {
  readonly kind: 'bad-id';
  /** What an id looks like. */
  readonly problem: string;
}

/** No handler, or more than one, goes by a name that was given. */
export type HandlerRefusal =
  | { readonly kind: 'unknown-handler'; readonly name: string; readonly known: readonly string[] }
  | { readonly kind: 'ambiguous-handler'; readonly name: string; readonly write: readonly string[] };

/** There is nothing that failed. `status`: where the deliveries asked for stand, the furthest from done first. */
export interface NotFailed {
  readonly kind: 'not-failed';
  readonly status: DeliveryStatus;
}

/** The named handlers that a replay left alone. */
export interface SkippedHandlers {
  /** They succeeded and are not declared repeatable. */
  readonly notRepeatable: readonly string[];
  /** They wait or run already. */
  readonly pending: readonly string[];
}

/** What became of a replay. `count` deliveries run again; nothing was changed by the others. */
export type Replayed =
  | { readonly kind: 'replayed'; readonly count: number; readonly skipped?: SkippedHandlers | undefined }
  | NotFound
  | BadId
  | NotFailed
  | HandlerRefusal
  /** They succeeded already, or may have at a time whose history is no longer kept: pass `rerun` to run them again. */
  | { readonly kind: 'already-delivered'; readonly handlers: readonly string[] }
  /** They succeeded and are not declared repeatable. */
  | { readonly kind: 'not-repeatable'; readonly handlers: readonly string[] };

export type Discarded =
  | { readonly kind: 'discarded'; readonly count: number }
  | NotFound
  | BadId
  | NotFailed
  | HandlerRefusal;

export type Edited =
  /** `version` is the new one; `count` deliveries run again. */
  | { readonly kind: 'edited'; readonly version: number; readonly count: number }
  | NotFound
  | BadId
  | NotFailed
  /** Somebody else edited it meanwhile. */
  | { readonly kind: 'changed'; readonly version: number }
  /** These handlers succeeded with the payload as it was, or may have at a time whose history is no longer kept. */
  | { readonly kind: 'already-delivered'; readonly handlers: readonly string[] };

export type Cancelled =
  | { readonly kind: 'cancelled' }
  | NotFound
  | BadId
  /** Its time has come, or it never had one. */
  | { readonly kind: 'not-scheduled'; readonly status: DeliveryStatus };

export type Paused =
  | { readonly kind: 'paused' }
  | { readonly kind: 'already-paused'; readonly since: Date | undefined }
  | HandlerRefusal;

export type Resumed = { readonly kind: 'resumed' } | { readonly kind: 'not-paused' } | HandlerRefusal;

export type Retired =
  | { readonly kind: 'retired'; readonly discarded: number }
  | { readonly kind: 'has-workers'; readonly workers: readonly string[] }
  | { readonly kind: 'has-open'; readonly open: number; readonly failed: number }
  | HandlerRefusal;

export type Released = { readonly kind: 'released'; readonly count: number } | HandlerRefusal;

export type Skipped =
  | { readonly kind: 'skipped'; readonly messageId: string }
  /** Nothing of the key has failed. */
  | { readonly kind: 'nothing-failed' }
  | HandlerRefusal;

export type Limited =
  | { readonly kind: 'limited'; readonly limit: number | undefined }
  | { readonly kind: 'unchanged'; readonly limit: number | undefined }
  | HandlerRefusal;
