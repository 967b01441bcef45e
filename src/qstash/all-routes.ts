import type { ApiRoute } from './route.ts';
import { DEAD_ROUTES } from './routes/dead.ts';
import { FLOW_ROUTES } from './routes/flow-control.ts';
import { KEY_ROUTES } from './routes/keys.ts';
import { MESSAGE_ROUTES } from './routes/messages.ts';
import { PUBLISH_ROUTES } from './routes/publish.ts';
import { GROUP_ROUTES, QUEUE_ROUTES } from './routes/queues.ts';
import { SCHEDULE_ROUTES } from './routes/schedules.ts';

/** Every route there is below `/v2/`. The first that fits is taken. */
export const ROUTES: readonly ApiRoute[] = [
  ...PUBLISH_ROUTES,
  ...MESSAGE_ROUTES,
  ...DEAD_ROUTES,
  ...QUEUE_ROUTES,
  ...GROUP_ROUTES,
  ...FLOW_ROUTES,
  ...SCHEDULE_ROUTES,
  ...KEY_ROUTES,
];

/** Parts of the vendor's API that this server does not have, by the first word of their path. */
export const NOT_OFFERED: ReadonlySet<string> = new Set([
  'workflows',
  'workflow',
  'notify',
  'wait',
  'waiters',
  'llm',
  'chat',
  'api',
  'stats',
  'teams',
  'tokens',
  'readonly-token',
]);
