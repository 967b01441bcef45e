import type { ApiTokens, SigningKeys } from './secrets.ts';
import type { DeadDeliveries } from './dead-deliveries.ts';
import type { DeliveryLog } from './delivery-log.ts';
import type { DeliveryMessages } from './delivery-messages.ts';
import type { Destinations } from './destinations.ts';
import type { FlowControls, Queues, UrlGroups } from './line-settings.ts';
import type { Publishing } from './publishing.ts';
import type { Schedules } from './schedules.ts';
import type { WebhookEndpoints } from './webhook-endpoints.ts';

/**
 * Everything the delivery server knows and does, besides sending: the QStash API, the admin API, the command line and the console are
 * thin over it. Outcomes are values; what is thrown is `HoldfastError`. Every change, and every reading of a secret, is audited in its
 * own transaction. What is here is of all tenants; `tenantView` is what one of them has.
 */
export interface Deliveries {
  readonly publishing: Publishing;
  readonly messages: DeliveryMessages;
  readonly dead: DeadDeliveries;
  readonly log: DeliveryLog;
  readonly queues: Queues;
  readonly urlGroups: UrlGroups;
  readonly flowControls: FlowControls;
  readonly schedules: Schedules;
  readonly destinations: Destinations;
  readonly endpoints: WebhookEndpoints;
  readonly signingKeys: SigningKeys;
  readonly tokens: ApiTokens;
}
