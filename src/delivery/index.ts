export { type AddressRules, type AddressVerdict, checkDestination } from './address-guard.ts';
export { type DeliveryOptions, type RunningDeliveries, startDeliveries } from './delivery-server.ts';
export type { DestinationBreakerOptions } from './destination-gates.ts';
export type { Resolve } from './guarded-sockets.ts';
export type { CallbackPublish, DestinationSight, SenderStore } from './sender-store.ts';
