import type { IconName } from '../parts/icon.tsx';

/** A page that the navigation and the palette lead to. `key`: typed after `g`. */
export interface PageLink {
  readonly to: string;
  readonly title: string;
  readonly icon: IconName;
  readonly key: string;
}

/** The pages, as they stand in the navigation: what is asked first, first. */
export const PAGES: readonly (readonly PageLink[])[] = [
  [
    { to: '/', title: 'Overview', icon: 'overview', key: 'o' },
    { to: '/messages', title: 'Messages', icon: 'messages', key: 'm' },
    { to: '/dead-letters', title: 'Dead letters', icon: 'dead', key: 'd' },
    { to: '/bulk', title: 'Bulk', icon: 'bulk', key: 'b' },
    { to: '/keys', title: 'Keys', icon: 'keys', key: 'k' },
  ],
  [
    { to: '/handlers', title: 'Handlers', icon: 'handlers', key: 'h' },
    { to: '/deliveries', title: 'Deliveries', icon: 'deliveries', key: 'e' },
    { to: '/idempotency', title: 'Idempotency', icon: 'idempotency', key: 'i' },
    { to: '/commands', title: 'Commands', icon: 'commands', key: 'c' },
  ],
  [
    { to: '/trace', title: 'Trace', icon: 'trace', key: 't' },
    { to: '/system', title: 'System', icon: 'system', key: 's' },
    { to: '/audit', title: 'Audit', icon: 'audit', key: 'a' },
  ],
];
