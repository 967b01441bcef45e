import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';
import { cleaned, type Search } from './parts/place.ts';
import { Empty } from './parts/notice.tsx';
import { Shell } from './shell/shell.tsx';

const root = createRootRoute({
  component: Shell,
  notFoundComponent: () => <Empty title="There is no such page">The navigation leads to all of them.</Empty>,
});

const asIs = (search: Record<string, unknown>): Search => search as Search;

const under = { getParentRoute: () => root, validateSearch: asIs } as const;

const routes = [
  createRoute({
    ...under,
    path: '/',
    component: lazyRouteComponent(() => import('./overview/overview-page.tsx'), 'OverviewPage'),
  }),
  createRoute({
    ...under,
    path: '/messages',
    component: lazyRouteComponent(() => import('./messages/messages-page.tsx'), 'MessagesPage'),
  }),
  createRoute({
    ...under,
    path: '/messages/$id',
    component: lazyRouteComponent(() => import('./message/message-page.tsx'), 'MessagePage'),
  }),
  createRoute({
    ...under,
    path: '/dead-letters',
    component: lazyRouteComponent(() => import('./dead-letters/dead-letters-page.tsx'), 'DeadLettersPage'),
  }),
  createRoute({
    ...under,
    path: '/dead-letters/groups/$id',
    component: lazyRouteComponent(() => import('./dead-letters/group-page.tsx'), 'GroupPage'),
  }),
  createRoute({
    ...under,
    path: '/bulk',
    component: lazyRouteComponent(() => import('./bulk/bulk-list-page.tsx'), 'BulkListPage'),
  }),
  createRoute({
    ...under,
    path: '/bulk/$id',
    component: lazyRouteComponent(() => import('./bulk/bulk-page.tsx'), 'BulkPage'),
  }),
  createRoute({
    ...under,
    path: '/keys',
    component: lazyRouteComponent(() => import('./keys/keys-page.tsx'), 'KeysPage'),
  }),
  createRoute({
    ...under,
    path: '/handlers',
    component: lazyRouteComponent(() => import('./handlers/handlers-page.tsx'), 'HandlersPage'),
  }),
  createRoute({
    ...under,
    path: '/breakers',
    component: lazyRouteComponent(() => import('./breakers/breakers-page.tsx'), 'BreakersPage'),
  }),
  createRoute({
    ...under,
    path: '/deliveries',
    component: lazyRouteComponent(() => import('./deliveries/deliveries-page.tsx'), 'DeliveriesPage'),
  }),
  createRoute({
    ...under,
    path: '/deliveries/$id',
    component: lazyRouteComponent(() => import('./deliveries/delivery-page.tsx'), 'DeliveryPage'),
  }),
  createRoute({
    ...under,
    path: '/destinations',
    component: lazyRouteComponent(() => import('./destinations/destinations-page.tsx'), 'DestinationsPage'),
  }),
  createRoute({
    ...under,
    path: '/endpoints',
    component: lazyRouteComponent(() => import('./endpoints/endpoints-page.tsx'), 'EndpointsPage'),
  }),
  createRoute({
    ...under,
    path: '/endpoints/$id',
    component: lazyRouteComponent(() => import('./endpoints/endpoint-page.tsx'), 'EndpointPage'),
  }),
  createRoute({
    ...under,
    path: '/schedules',
    component: lazyRouteComponent(() => import('./schedules/schedules-page.tsx'), 'SchedulesPage'),
  }),
  createRoute({
    ...under,
    path: '/queues',
    component: lazyRouteComponent(() => import('./lines/lines-page.tsx'), 'LinesPage'),
  }),
  createRoute({
    ...under,
    path: '/idempotency',
    component: lazyRouteComponent(() => import('./idempotency/idempotency-page.tsx'), 'IdempotencyPage'),
  }),
  createRoute({
    ...under,
    path: '/commands',
    component: lazyRouteComponent(() => import('./commands/commands-page.tsx'), 'CommandsPage'),
  }),
  createRoute({
    ...under,
    path: '/trace',
    component: lazyRouteComponent(() => import('./trace/trace-page.tsx'), 'TracePage'),
  }),
  createRoute({
    ...under,
    path: '/system',
    component: lazyRouteComponent(() => import('./system/system-page.tsx'), 'SystemPage'),
  }),
  createRoute({
    ...under,
    path: '/runbooks',
    component: lazyRouteComponent(() => import('./runbooks/runbooks-page.tsx'), 'RunbooksPage'),
  }),
  createRoute({
    ...under,
    path: '/runbooks/$alert',
    component: lazyRouteComponent(() => import('./runbooks/runbook-page.tsx'), 'RunbookPage'),
  }),
  createRoute({
    ...under,
    path: '/audit',
    component: lazyRouteComponent(() => import('./audit/audit-page.tsx'), 'AuditPage'),
  }),
];

/** Pages by address, below wherever the console is mounted: the document's base tells. */
export const router = createRouter({
  routeTree: root.addChildren(routes),
  basepath: new URL('.', document.baseURI).pathname,
  defaultPreload: 'intent',
  scrollRestoration: true,
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const text = new URLSearchParams(cleaned(search as Search)).toString();
    return text === '' ? '' : `?${text}`;
  },
});
