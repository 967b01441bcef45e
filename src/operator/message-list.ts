import type { DeliveryStatus, MessageSummary } from './operator-records.ts';
import type { FoundPage, Paging, PayloadMatch } from './operator.ts';

/** The tabs of the list of messages. `scheduled`: waits for a time its sender set; `retrying`: for its next attempt, or for its turn after a replay. */
export const MESSAGE_TABS = [
  'pending',
  'in_flight',
  'scheduled',
  'retrying',
  'failed',
  'delivered',
  'discarded',
  'cancelled',
] as const;

export type MessageTab = (typeof MESSAGE_TABS)[number];

/** Which messages. What is left out does not matter. */
export interface MessageFilter {
  readonly status?: MessageTab | undefined;
  /** A type, or its beginning with `*`: `order.*`. */
  readonly type?: string | undefined;
  readonly key?: string | undefined;
  readonly service?: string | undefined;
  /** A handler's name, or `service/name`. */
  readonly handler?: string | undefined;
  /** Part of the last error's name, code or message, in any case. */
  readonly error?: string | undefined;
  /** Values in the payload; all of them must be there. */
  readonly payload?: readonly PayloadMatch[] | undefined;
  /** Sent at or after this time. */
  readonly since?: Date | undefined;
  /** Sent before this time. */
  readonly until?: Date | undefined;
}

/** One line of the list: the message, and how each handler stands. */
export interface ListedMessage extends MessageSummary {
  readonly tab: MessageTab;
  readonly deliveries: readonly {
    readonly service: string | undefined;
    readonly handler: string | undefined;
    readonly status: DeliveryStatus;
  }[];
}

/**
 * A page of messages. A call reads a bounded number of rows, whatever the filter: `next` with few items, or none, means that
 * there may be more further back than `searchedBackTo`.
 */
export interface MessagePage extends FoundPage<ListedMessage> {
  /** Everything sent since then was looked at; absent at the end of the list. */
  readonly searchedBackTo: Date | undefined;
}

/** How many messages a tab has. Nothing is counted further than `cap`. */
export interface TabCount {
  readonly tab: MessageTab;
  readonly count: number;
  /** `exact`; `at-least`: there are more than were counted; `estimate`: of the statistics of the database. */
  readonly precision: 'exact' | 'at-least' | 'estimate';
}

/** Looking through messages. */
export interface Messages {
  /** The newest first. */
  messages(filter?: MessageFilter & Paging): Promise<MessagePage>;
  messageTabs(): Promise<readonly TabCount[]>;
}
