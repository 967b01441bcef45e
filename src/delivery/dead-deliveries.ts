import type { DeliveryRecord, DeliverySelection } from './delivery-messages.ts';
import type { HeaderLists, SendRules } from './delivery-request.ts';
import type { ChangedBy } from './webhook-endpoints.ts';

/** A delivery that has failed for good, with the last answer. */
export interface DeadDelivery extends DeliveryRecord {
  /** `<message id>-<cycle>`: one that is tried again and fails again is another. */
  readonly dlqId: string;
  readonly failedAt: Date;
  readonly responseStatus?: number | undefined;
  readonly responseHeaders?: HeaderLists | undefined;
  readonly responseBody?: string | undefined;
  readonly responseBodyBase64?: string | undefined;
  readonly error?: string | undefined;
}

/** Which of them. */
export interface DeadSelection extends DeliverySelection {
  readonly dlqIds?: readonly string[] | undefined;
  /** Of the last attempt; of a list any will do. */
  readonly responseStatus?: number | readonly number[] | undefined;
}

interface DeadPage {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** Dead deliveries: the dead letters of the engine, as the delivery server shows them. */
export interface DeadDeliveries {
  get(dlqId: string): Promise<DeadDelivery | undefined>;
  /** The latest first. */
  list(
    selection: DeadSelection,
    page: DeadPage,
  ): Promise<{ readonly items: readonly DeadDelivery[]; readonly next: string | undefined }>;
  /** Discards up to `limit`. `by`: who, in the audit. */
  discard(
    selection: DeadSelection,
    page: DeadPage,
    by?: ChangedBy,
  ): Promise<{ readonly count: number; readonly next: string | undefined }>;
  /** Puts up to `limit` back in line, under the same message id: receivers know it. `rules` take the place of the message's. */
  replay(
    selection: DeadSelection,
    page: DeadPage,
    rules?: Partial<SendRules>,
    by?: ChangedBy,
  ): Promise<{ readonly messageIds: readonly string[]; readonly next: string | undefined }>;
}
