import type { Route } from '../route.ts';
import { DELIVERY_ROUTES } from './delivery-routes.ts';
import { ENDPOINT_ROUTES } from './endpoint-routes.ts';
import { ERASE_ROUTES } from './erase-routes.ts';
import { FAILURE_ROUTES } from './failure-routes.ts';
import { HANDLER_ROUTES } from './handler-routes.ts';
import { MESSAGE_ROUTES } from './message-routes.ts';
import { SYSTEM_ROUTES } from './system-routes.ts';

/** The operator's API but for the session, the events and what is no JSON: each is one function of the operator. */
export const ROUTES: readonly Route[] = [
  ...SYSTEM_ROUTES,
  ...MESSAGE_ROUTES,
  ...FAILURE_ROUTES,
  ...HANDLER_ROUTES,
  ...ERASE_ROUTES,
];

/** The same with what a server that delivers has besides. */
export const ALL_ROUTES: readonly Route[] = [...ROUTES, ...DELIVERY_ROUTES, ...ENDPOINT_ROUTES];
