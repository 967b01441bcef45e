import type { DeliveryRequest, FlowRules } from './delivery-request.ts';
import type { ChangedBy } from './webhook-endpoints.ts';

/** Which messages; what is left out does not matter. Of lists any will do. */
export interface DeliverySelection {
  readonly messageIds?: readonly string[] | undefined;
  readonly url?: string | undefined;
  readonly host?: string | undefined;
  readonly path?: string | undefined;
  readonly group?: string | undefined;
  readonly scheduleId?: string | undefined;
  readonly queue?: string | undefined;
  readonly labels?: readonly string[] | undefined;
  readonly flowKey?: string | undefined;
  readonly callerIp?: string | undefined;
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
}

/** One message that is not done yet, or was. */
export interface DeliveryRecord {
  readonly messageId: string;
  readonly request: DeliveryRequest;
  readonly flow?: FlowRules | undefined;
  readonly state: 'waiting' | 'delivered' | 'failed' | 'cancelled';
  readonly createdAt: Date;
  /** When it was, or is, due for the first time. */
  readonly notBefore: Date;
  /** When the next attempt is due. */
  readonly nextAt?: Date | undefined;
  readonly attempts: number;
}

/** Messages. */
export interface DeliveryMessages {
  /** Nothing: there is none, or it has been forgotten. */
  get(messageId: string): Promise<DeliveryRecord | undefined>;
  /** Newest first. */
  list(
    selection: DeliverySelection & { readonly state?: DeliveryRecord['state'] | undefined },
    page: { readonly limit: number; readonly cursor?: string | undefined },
  ): Promise<{ readonly items: readonly DeliveryRecord[]; readonly next: string | undefined }>;
  /** Cancels all that match and are not done; answers how many. What is on its way now may still arrive. `by`: who, in the audit. */
  cancel(selection: DeliverySelection, by?: ChangedBy): Promise<number>;
}
