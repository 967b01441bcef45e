import type { DeliveryRequest, FlowRules } from './delivery-request.ts';
import type { PublishTarget } from './publishing.ts';
import type { ChangedBy } from './webhook-endpoints.ts';

/** Something that is published again and again. */
export interface ScheduleInput {
  readonly scheduleId?: string | undefined;
  /** Five fields, `CRON_TZ=Europe/Berlin ` before them where it is not UTC. */
  readonly cron: string;
  readonly to: PublishTarget;
  readonly delivery: Omit<DeliveryRequest, 'url' | 'group' | 'endpointName' | 'signedBy' | 'endpointId' | 'eventType'>;
  readonly flow?: FlowRules | undefined;
  /** Waits so long after each time. */
  readonly delayMs?: number | undefined;
}

export interface ScheduleRecord extends ScheduleInput {
  /** As it is stored: `@acme/nightly` of a tenant `acme`. */
  readonly scheduleId: string;
  readonly createdAt: Date;
  readonly isPaused: boolean;
  readonly lastAt?: Date | undefined;
  readonly nextAt?: Date | undefined;
  /** Why nothing was published the last time: its group has no endpoints, the address is refused. */
  readonly lastError?: string | undefined;
  /** The messages of the last time. */
  readonly lastStates: Readonly<Record<string, 'IN_PROGRESS' | 'SUCCESS' | 'FAIL'>>;
}

export type ScheduleOutcome =
  | { readonly kind: 'scheduled'; readonly scheduleId: string }
  | { readonly kind: 'refused'; readonly message: string };

/** Changes are audited as made by `by`, in their own transaction. */
export interface Schedules {
  /**
   * Makes one, or replaces the one of that id wholly; one that is paused stays so, and with the same cron a time that is due now is not
   * lost: services make their schedules anew at each start.
   */
  put(input: ScheduleInput, by?: ChangedBy): Promise<ScheduleOutcome>;
  get(scheduleId: string): Promise<ScheduleRecord | undefined>;
  /** Of one tenant, or of all. */
  list(tenant?: string): Promise<readonly ScheduleRecord[]>;
  delete(scheduleId: string, by?: ChangedBy): Promise<boolean>;
  /** Times that pass while it is paused are left out. False: there is none. */
  pause(scheduleId: string, by?: ChangedBy): Promise<boolean>;
  resume(scheduleId: string, by?: ChangedBy): Promise<boolean>;
  /**
   * Publishes what is due, each time once over all processes and restarts; answers when to look again. A time that passed while no server
   * ran is published once, late; of those more than a day late, the last alone.
   */
  fire(now: Date): Promise<{ readonly fired: number; readonly nextAt: Date | undefined }>;
  /** Calls when something was changed here; what other processes change is not told. */
  onChange(listener: () => void): () => void;
}
