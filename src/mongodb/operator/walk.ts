import type { Document, Filter } from 'mongodb';
import { OptionCheck } from '../../kernel/check-options.ts';
import type { RowState } from '../row.ts';
import type { BoxRow, FoundRow } from './box-row.ts';
import type { KnownHandler } from './operator-parts.ts';

/** Which rows. What is not found by an index is looked at row by row, by whoever walks. */
export interface Selection {
  readonly handlers: readonly KnownHandler[];
  readonly states: readonly RowState[];
  readonly key?: string | undefined;
  /** Sent at or after this time. */
  readonly since?: Date | undefined;
  /** Sent before this time. */
  readonly until?: Date | undefined;
}

/** Where a walk was. */
export interface Place {
  readonly seq: number;
  readonly id: string;
}

/** How a walk goes. */
export interface Way {
  readonly order: 'newest' | 'oldest';
  /** Goes on behind this place. */
  readonly after?: Place | undefined;
  readonly projection: Document;
}

/** Of a place in line in a millisecond. */
const PER_MS = 1_000;
/** In one answer of the server. */
const BATCH = 500;
/** MongoDB merges no more scans of an index than this; beyond them it would sort all that there is. */
const MOST_SCANS = 200;

/** All of a row but what is large. */
export const WITHOUT_PAYLOAD: Document = { payload: 0, headers: 0 };

/**
 * Rows in the order of their places in line, of both boxes, each read along its index. The order of places is the order of time, within a
 * millisecond or so; of a key it is the order of its messages.
 */
export async function* walkRows(selection: Selection, way: Way): AsyncGenerator<FoundRow> {
  const sources = piecesOf(selection).map((piece) => rowsOf(piece, way));
  const heads = await Promise.all(sources.map((source) => source.next()));
  const sign = way.order === 'newest' ? -1 : 1;
  try {
    for (;;) {
      let first = -1;
      for (const [at, head] of heads.entries()) {
        if (head.done) continue;
        const best = heads[first];
        if (best === undefined || best.done || comparePlaces(head.value, best.value) * sign < 0) first = at;
      }
      const [head, source] = [heads[first], sources[first]];
      if (!source || !head || head.done) return;
      yield head.value;
      heads[first] = await source.next();
    }
  } finally {
    await Promise.all(sources.map((source) => source.return(undefined)));
  }
}

/** The rows of handlers of one box, as many as one query can merge. */
interface Piece extends Selection {
  readonly handlers: readonly [KnownHandler, ...KnownHandler[]];
}

function piecesOf(selection: Selection): readonly Piece[] {
  const most = Math.max(1, Math.floor(MOST_SCANS / Math.max(1, selection.states.length)));
  const pieces: Piece[] = [];
  for (const ofBox of Map.groupBy(selection.handlers, ({ of }) => of.name).values()) {
    for (let from = 0; from < ofBox.length; from += most) {
      const [first, ...others] = ofBox.slice(from, from + most);
      if (first) pieces.push({ ...selection, handlers: [first, ...others] });
    }
  }
  return pieces;
}

async function* rowsOf(piece: Piece, { order, after, projection }: Way): AsyncGenerator<FoundRow, void, undefined> {
  const { handlers, states, key, since, until } = piece;
  const byService = new Map(handlers.map((handler) => [handler.service, handler]));
  const direction = order === 'newest' ? -1 : 1;
  const seq = {
    ...(since && { $gte: since.getTime() * PER_MS }),
    ...(until && { $lt: until.getTime() * PER_MS }),
    ...(after && (direction < 0 ? { $lte: after.seq } : { $gte: after.seq })),
  };
  const filter: Document = {
    service: { $in: [...byService.keys()] },
    state: { $in: [...states] },
    ...(key !== undefined && { key }),
    ...(Object.keys(seq).length > 0 && { seq }),
    ...(after && { $nor: [{ seq: after.seq, _id: direction < 0 ? { $gte: after.id } : { $lte: after.id } }] }),
  };
  const [{ of: box }] = handlers;
  const cursor = box.rows
    .find(filter as Filter<BoxRow>, { projection })
    .sort({ seq: direction, _id: direction })
    .batchSize(BATCH);
  try {
    for await (const row of cursor) {
      const handler = byService.get(row.service);
      if (handler) yield { box, row: row, handler };
    }
  } finally {
    await cursor.close();
  }
}

/** Which of two rows is the older: negative where it is the first. */
export function comparePlaces({ row: a }: Pick<FoundRow, 'row'>, { row: b }: Pick<FoundRow, 'row'>): number {
  const [{ _id: idOfA }, { _id: idOfB }] = [a, b];
  return a.seq - b.seq || (idOfA < idOfB ? -1 : idOfA > idOfB ? 1 : 0);
}

/** When a row took its place in line. */
export function timeOfPlace(seq: number): Date {
  return new Date(Math.floor(seq / PER_MS));
}

/** The place as a cursor. */
export function writePlace({ row }: Pick<FoundRow, 'row'>): string {
  const { seq, _id: id } = row;
  return `${seq}~${id}`;
}

/** The place that a cursor means. Throws `INVALID_OPTIONS`. */
export function readPlace(verb: string, cursor: string | undefined): Place | undefined {
  if (cursor === undefined) return undefined;
  const [, seq, id] = /^(\d{1,16})~(.{1,300})$/s.exec(cursor) ?? [];
  if (seq !== undefined && id !== undefined) return { seq: Number(seq), id };
  const check = new OptionCheck(`${verb}()`);
  check.refuse('cursor', cursor, 'pass what the page before gave as next');
  check.done();
  return undefined;
}
