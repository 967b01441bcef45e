import type { BulkFilter } from '../bulk/bulk-sheet.tsx';
import { counted } from '../parts/figures.ts';
import type { Act } from '../shell/acts.tsx';

/** As many as one request replays. */
const MOST = 1_000;

/** Replays what fits at once, where there are no bulk operations: on MongoDB. `count`: as far as it is known. */
export function replayFittingAct(filter: BulkFilter, count?: number): Act {
  return {
    title: `Replay ${count === undefined ? `up to ${counted(MOST, 'dead letter')} that fit` : counted(count, 'dead letter')}?`,
    text: 'The oldest first. The id and the idempotency key stay, attempts start from zero.',
    verb: 'Replay',
    path: 'dead-letters/replay',
    body: { filter, limit: MOST },
    done: ({ count: replayed }: { readonly count: number }) =>
      `${counted(replayed, 'delivery', 'deliveries')} run again.`,
  };
}
