import type { DeadLetter } from './operator-records.ts';
import type { By, Page, Paging } from './operator.ts';

/** `open`: needs somebody. `resolved`: dealt with; opens by itself when it happens again. `ignored`: known, and nobody is called. */
export const ERROR_GROUP_STATES = ['open', 'resolved', 'ignored'] as const;

export type ErrorGroupState = (typeof ERROR_GROUP_STATES)[number];

/** How far pending dead letters of a group are counted. */
export const PENDING_CAP = 10_000;

/** Dead letters with one cause: the same handler, type and fingerprint of the error. */
export interface ErrorGroup {
  /** Stable over processes and releases; begins with the version of the fingerprint, e.g. `1-9f2c0a7be4d1c035`. */
  readonly id: string;
  readonly service: string;
  readonly handler: string;
  readonly type: string;
  /** Of the error, as it was first seen. */
  readonly error: { readonly name: string; readonly code: string | undefined; readonly message: string };
  /** The frames of the stack the fingerprint is made of, without line numbers; none where there was no stack. */
  readonly frames: readonly string[];
  readonly state: ErrorGroupState;
  /** Who set the state, and why; absent while nobody has. */
  readonly changed: { readonly at: Date; readonly actor: string; readonly reason: string | undefined } | undefined;
  /** Dead letters of it that nobody has dealt with. Exact up to `PENDING_CAP`. */
  readonly pending: number;
  /** How often it happened, ended ones included. */
  readonly total: number;
  readonly firstSeenAt: Date;
  readonly lastSeenAt: Date;
  /** How often it happened in each of the last 24 hours, the present one last. */
  readonly trend: readonly number[];
}

/** Which groups. What is left out does not matter. */
export interface ErrorGroupFilter {
  readonly state?: ErrorGroupState | undefined;
  readonly service?: string | undefined;
  /** A handler's name, or `service/name`. */
  readonly handler?: string | undefined;
  readonly type?: string | undefined;
  /** Part of the error's name, code or message, in any case. */
  readonly search?: string | undefined;
  /** Only groups with dead letters that nobody has dealt with. */
  readonly isPending?: boolean | undefined;
}

export type ErrorGroupChanged =
  | { readonly kind: 'changed'; readonly group: ErrorGroup }
  | { readonly kind: 'unchanged'; readonly group: ErrorGroup }
  | { readonly kind: 'not-found' };

/** Dead letters by cause. A group is replayed or discarded with `planBulk({ verb, filter: { group } })`. */
export interface ErrorGroups {
  /** The last seen first. */
  groups(filter?: ErrorGroupFilter & Paging): Promise<Page<ErrorGroup>>;
  /** With the newest dead letter of it, if there is one still. */
  group(
    id: string,
  ): Promise<
    | { readonly kind: 'found'; readonly group: ErrorGroup; readonly sample: DeadLetter | undefined }
    | { readonly kind: 'not-found' }
  >;
  /** Dealt with. It opens by itself when it happens again. */
  resolveGroup(id: string, by: By): Promise<ErrorGroupChanged>;
  /** Known: it is not counted among what needs somebody, however often it happens. */
  ignoreGroup(id: string, by: By): Promise<ErrorGroupChanged>;
  reopenGroup(id: string, by: By): Promise<ErrorGroupChanged>;
}
