import type { NotFailed } from '../../operator/operator-outcomes.ts';
import type { RowState } from '../row.ts';
import type { FoundRow } from './box-row.ts';
import { statusOf } from './shown-rows.ts';

const FURTHEST_FIRST: readonly RowState[] = ['open', 'waiting', 'dead', 'done', 'discarded'];

/** Why nothing was changed: none of these has failed. */
export function notFailed(rows: readonly FoundRow[]): NotFailed {
  const [first] = rows.toSorted((a, b) => FURTHEST_FIRST.indexOf(a.row.state) - FURTHEST_FIRST.indexOf(b.row.state));
  return { kind: 'not-failed', status: first ? statusOf(first.row) : 'ready' };
}
