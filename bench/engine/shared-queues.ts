import { graphileQueue } from './graphile-queue.ts';
import { holdfastQueue } from './holdfast-queue.ts';
import { pgBossQueue } from './pg-boss-queue.ts';

/** Those that several processes work off, by the name a process is started with. */
export const SHARED = {
  holdfast: holdfastQueue,
  'graphile-worker': graphileQueue,
  'pg-boss': pgBossQueue,
} as const;

export type SharedName = keyof typeof SHARED;
