import type { IconName } from '../parts/icon.tsx';

/** A page that the navigation and the palette lead to. `key`: typed after `g`. */
export interface PageLink {
  readonly to: string;
  readonly title: string;
  readonly icon: IconName;
  readonly key: string;
  /** Only where the server delivers. */
  readonly isDelivery?: boolean;
  /** Only where the server stands on PostgreSQL. */
  readonly isPostgres?: boolean;
}

/** All of them, as they stand in the navigation: what is asked first, first. */
const PAGES: readonly (readonly PageLink[])[] = [
  [
    { to: '/', title: 'Overview', icon: 'overview', key: 'o' },
    { to: '/messages', title: 'Messages', icon: 'messages', key: 'm' },
    { to: '/dead-letters', title: 'Dead letters', icon: 'dead', key: 'd' },
    { to: '/bulk', title: 'Bulk', icon: 'bulk', key: 'b', isPostgres: true },
    { to: '/keys', title: 'Keys', icon: 'keys', key: 'k' },
  ],
  [
    { to: '/handlers', title: 'Handlers', icon: 'handlers', key: 'h' },
    { to: '/breakers', title: 'Breakers', icon: 'breaker', key: 'r', isPostgres: true },
    { to: '/idempotency', title: 'Idempotency', icon: 'idempotency', key: 'i' },
    { to: '/commands', title: 'Commands', icon: 'commands', key: 'c', isPostgres: true },
  ],
  [
    { to: '/deliveries', title: 'Deliveries', icon: 'deliveries', key: 'e', isDelivery: true },
    { to: '/destinations', title: 'Destinations', icon: 'destinations', key: 'n', isDelivery: true },
    { to: '/endpoints', title: 'Endpoints', icon: 'endpoints', key: 'w', isDelivery: true },
    { to: '/schedules', title: 'Schedules', icon: 'clock', key: 'l', isDelivery: true },
    { to: '/queues', title: 'Queues', icon: 'queues', key: 'q', isDelivery: true },
  ],
  [
    { to: '/trace', title: 'Trace', icon: 'trace', key: 't', isPostgres: true },
    { to: '/system', title: 'System', icon: 'system', key: 's' },
    { to: '/audit', title: 'Audit', icon: 'audit', key: 'a' },
  ],
];

/** The pages of a server, by whether it delivers and what it stands on. */
export function pagesOf({
  isDelivering,
  store,
}: {
  readonly isDelivering: boolean;
  readonly store?: 'postgres' | 'mongodb';
}): readonly (readonly PageLink[])[] {
  return PAGES.map((group) =>
    group.filter(
      ({ isDelivery, isPostgres }) =>
        (isDelivering || isDelivery !== true) && (store !== 'mongodb' || isPostgres !== true),
    ),
  ).filter((group) => group.length > 0);
}
