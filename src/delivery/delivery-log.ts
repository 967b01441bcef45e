import type { DeliverySelection } from './delivery-messages.ts';
import type { DeliveryRequest, HeaderLists } from './delivery-request.ts';

/** What happened to a message, as QStash names it. */
export const DELIVERY_STATES = [
  'CREATED',
  'ACTIVE',
  'RETRY',
  'ERROR',
  'DELIVERED',
  'FAILED',
  'CANCEL_REQUESTED',
  'CANCELED',
] as const;

export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** One line of the log. */
export interface DeliveryEvent {
  readonly at: Date;
  readonly messageId: string;
  readonly state: DeliveryState;
  readonly request: DeliveryRequest;
  /** Of an attempt, from 1. */
  readonly attempt?: number | undefined;
  readonly durationMs?: number | undefined;
  readonly error?: string | undefined;
  readonly nextAt?: Date | undefined;
  readonly responseStatus?: number | undefined;
  readonly responseHeaders?: HeaderLists | undefined;
  readonly responseBody?: Uint8Array | undefined;
  /** `CREATED`: who published it, such as the token. Nothing: the application itself. */
  readonly actor?: string | undefined;
}

/** The log: kept for so many days. */
export interface DeliveryLog {
  /** The latest first. Cursors are text. */
  list(
    selection: DeliverySelection & { readonly states?: readonly DeliveryState[] | undefined },
    page: { readonly limit: number; readonly cursor?: string | undefined },
  ): Promise<{ readonly items: readonly DeliveryEvent[]; readonly next: string | undefined }>;
}

/** How one attempt ended. */
export interface AttemptReport {
  readonly messageId: string;
  readonly request: DeliveryRequest;
  /** From 1, in this cycle. */
  readonly attempt: number;
  readonly cycle: number;
  readonly startedAt: Date;
  readonly endedAt: Date;
  readonly state: 'DELIVERED' | 'ERROR' | 'FAILED';
  /** `ERROR`: when it is tried again. */
  readonly nextAt?: Date | undefined;
  readonly error?: string | undefined;
  readonly responseStatus?: number | undefined;
  readonly responseHeaders?: HeaderLists | undefined;
  /** Cut to what is kept. */
  readonly responseBody?: Uint8Array | undefined;
}
