import type { DeliveryRequest, FlowRules } from './delivery-request.ts';
import type { ChangedBy } from './webhook-endpoints.ts';

/** One value, or a list of which any matches; an empty list matches nothing. */
type AnyOf = string | readonly string[];

/** Which messages: those that match every field that is given. Of lists any will do. */
export interface DeliverySelection {
  readonly messageIds?: readonly string[] | undefined;
  readonly url?: AnyOf | undefined;
  readonly host?: AnyOf | undefined;
  readonly path?: AnyOf | undefined;
  /** Groups, schedules, queues and keys by the names under which they are stored: `@acme/nightly` of a tenant `acme`. */
  readonly group?: AnyOf | undefined;
  readonly scheduleId?: AnyOf | undefined;
  readonly queue?: AnyOf | undefined;
  readonly labels?: readonly string[] | undefined;
  readonly flowKey?: AnyOf | undefined;
  readonly callerIp?: AnyOf | undefined;
  /** Of one tenant; `default` for what has none. */
  readonly tenant?: string | undefined;
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
  /**
   * Cancels all that match and are not done, or the `limit` newest of them; returns how many. What is on its way now may still arrive.
   * `by`: who, in the audit.
   */
  cancel(selection: DeliverySelection, by?: ChangedBy, limit?: number): Promise<number>;
}
