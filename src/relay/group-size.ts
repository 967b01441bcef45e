import type { ProjectingHandler, PublishingHandler } from './handler.ts';

// A group that shares a commit is no longer than this: its rows stay locked until it ends. Where the handler takes many at once
// that is soon, and what a commit costs weighs more: about half as much for each message as with a hundred.
const GROUP_SIZE = { each: 100, many: 500 } as const;

/** A handler that is given many messages at once. */
export type GroupingHandler<Tx> = ProjectingHandler<Tx> | PublishingHandler;

/** How many of its messages it is given at once. */
export function groupSize<Tx>(handler: GroupingHandler<Tx>): number {
  if (handler.kind === 'publish') return GROUP_SIZE.many;
  for (const { run } of handler.takes.values()) if (run.of === 'each') return GROUP_SIZE.each;
  return GROUP_SIZE.many;
}
