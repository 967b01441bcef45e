import { queryOptions } from '@tanstack/react-query';
import type { Destinations } from '../../../src/delivery/destinations.ts';
import type { DeliveryEvent } from '../../../src/delivery/delivery-log.ts';
import type { DeliveryMessages, DeliveryRecord } from '../../../src/delivery/delivery-messages.ts';
import type { FlowControls, Queues, UrlGroups } from '../../../src/delivery/line-settings.ts';
import type { Schedules } from '../../../src/delivery/schedules.ts';
import type { WebhookEndpoints } from '../../../src/delivery/webhook-endpoints.ts';
import { ask } from './client.ts';
import type { Wire } from './wire.ts';

type ItemsOf<List extends (...args: never[]) => Promise<readonly unknown[]>> = Wire<Awaited<ReturnType<List>>>;

/** A page of deliveries. */
export type DeliveryPage = Wire<Awaited<ReturnType<DeliveryMessages['list']>>>;

/** Lists of the delivery server that are read whole, by their path below the API. */
interface WholeLists {
  readonly 'delivery/destinations': ItemsOf<Destinations['list']>;
  readonly 'delivery/endpoints': ItemsOf<WebhookEndpoints['list']>;
  readonly 'delivery/queues': ItemsOf<Queues['list']>;
  readonly 'delivery/flow-controls': ItemsOf<FlowControls['list']>;
  readonly 'delivery/url-groups': ItemsOf<UrlGroups['list']>;
  readonly 'delivery/schedules': ItemsOf<Schedules['list']>;
}

export type WholeItem<List extends keyof WholeLists> = WholeLists[List][number];

/** A list that is read whole, and again while the page is live. */
export const wholeQuery = <List extends keyof WholeLists>(list: List) =>
  queryOptions({
    queryKey: [list],
    queryFn: ({ signal }) => ask<WholeLists[List]>(list, {}, signal),
    meta: { live: true },
  });

interface Found<T> {
  readonly kind: 'found';
  readonly item: T;
}

export type ShownDelivery = Wire<DeliveryRecord>;

export const deliveryQuery = (id: string) =>
  queryOptions({
    queryKey: ['delivery', id],
    queryFn: async ({ signal }) =>
      (await ask<Found<ShownDelivery>>(`delivery/messages/${encodeURIComponent(id)}`, {}, signal)).item,
    meta: { live: true },
  });

/** A line of the log; the body as text where it is UTF-8. */
export type LogLine = Wire<Omit<DeliveryEvent, 'responseBody'>> & {
  readonly responseBody?: string;
  readonly responseBodyBase64?: string;
};

// More attempts than that have no delivery: retries are bounded far below, and each attempt is at most three lines.
const MOST_LINES = 1_000;

/** What happened to a delivery, the latest first. */
export const deliveryLogQuery = (messageId: string) =>
  queryOptions({
    queryKey: ['delivery-log', messageId],
    queryFn: async ({ signal }) =>
      (await ask<{ readonly items: readonly LogLine[] }>('delivery/log', { messageId, limit: MOST_LINES }, signal))
        .items,
    meta: { live: true },
  });

export const endpointQuery = (id: string) =>
  queryOptions({
    queryKey: ['endpoint', id],
    queryFn: async ({ signal }) =>
      (await ask<Found<WholeItem<'delivery/endpoints'>>>(`delivery/endpoints/${encodeURIComponent(id)}`, {}, signal))
        .item,
    meta: { live: true },
  });
