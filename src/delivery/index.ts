export { type AddressRules, type AddressVerdict, checkDestination } from './address-guard.ts';
export { type DeliveryOptions, startDeliveries } from './delivery-server.ts';
export type { DestinationBreakerOptions } from './destination-gates.ts';
export type { OwnListener } from './own-listener.ts';
export type { Resolve, ResolvedAddress } from './resolve.ts';
export type { CallbackPublish, DestinationSight, SenderStore } from './sender-store.ts';
export type { Deliveries } from './deliveries.ts';
export type { ScheduleInput, ScheduleOutcome, ScheduleRecord, Schedules } from './schedules.ts';
export type {
  ChangedBy,
  EndpointOutcome,
  WebhookEndpointChange,
  WebhookEndpointInput,
  WebhookEndpointRecord,
  WebhookEndpoints,
  WebhookEvent,
  WebhookSent,
} from './webhook-endpoints.ts';
