import { getBulk, pauseBulk, planBulk, startBulk } from './bulk-tools.ts';
import { getDlqEventDetail, listDlqEvents } from './dead-letter-tools.ts';
import { pauseHandler, resumeHandler } from './handler-writes.ts';
import { discardDlqEvent, replayDlqEvent } from './message-writes.ts';
import {
  explainMessage,
  getOverview,
  listBreakers,
  listErrorGroups,
  listHandlers,
  listKeys,
  searchMessages,
  trace,
} from './read-tools.ts';
import type { Tool } from './tool.ts';

/** Every tool, in the order they are listed: looking first, in the order an incident goes. */
export const TOOLS: readonly Tool[] = [
  getOverview,
  listErrorGroups,
  listDlqEvents,
  getDlqEventDetail,
  explainMessage,
  trace,
  searchMessages,
  listKeys,
  listHandlers,
  listBreakers,
  getBulk,
  replayDlqEvent,
  discardDlqEvent,
  planBulk,
  startBulk,
  pauseBulk,
  pauseHandler,
  resumeHandler,
];
