import type { FoundRow } from './box-row.ts';
import { type Selection, timeOfPlace, walkRows, type Way, writePlace } from './walk.ts';

/** A page, and how far back it has looked. */
export interface WalkedPage<T> {
  readonly items: readonly T[];
  readonly next: string | undefined;
  readonly searchedBackTo: Date | undefined;
}

/** A call looks at so many rows at most. */
const MOST_ROWS = 10_000;
/** So many are made into lines at once. */
const PIECE = 200;

/**
 * Walks until there are `limit` lines, the end is reached or enough was looked at. `lines` makes of some rows their lines, in their
 * order, each with the row it stands for.
 */
export async function walkPage<T>(
  selection: Selection,
  way: Way,
  limit: number,
  lines: (rows: readonly FoundRow[]) => Promise<readonly (readonly [row: FoundRow, line: T])[]>,
): Promise<WalkedPage<T>> {
  const items: T[] = [];
  let looked = 0;
  let piece: FoundRow[] = [];
  let last: FoundRow | undefined;
  const upTo = (row: FoundRow): WalkedPage<T> => ({
    items,
    next: writePlace(row),
    searchedBackTo: timeOfPlace(row.row.seq),
  });
  /** The row where the page is full. */
  const take = async (): Promise<FoundRow | undefined> => {
    for (const [row, line] of await lines(piece)) {
      // One more than is wanted tells that there is another page.
      if (items.length === limit) return last;
      items.push(line);
      last = row;
    }
    piece = [];
    return undefined;
  };
  for await (const row of walkRows(selection, way)) {
    piece.push(row);
    looked += 1;
    const isEnough = looked === MOST_ROWS;
    if (piece.length < Math.min(PIECE, limit + 1) && !isEnough) continue;
    const full = await take();
    if (full) return upTo(full);
    if (isEnough) return upTo(row);
  }
  const full = await take();
  return full ? upTo(full) : { items, next: undefined, searchedBackTo: undefined };
}
