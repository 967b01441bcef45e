import type { Collection } from 'mongodb';
import type { FailureCycle } from '../../operator/failure-cycle.ts';
import type { BoxName } from '../registered-handlers.ts';
import type { RowState, StoredRow } from '../row.ts';
import type { StoredJson } from '../stored-json.ts';
import type { KnownHandler } from './operator-parts.ts';

/** A row of either collection, as operators see it. */
export interface BoxRow extends StoredRow {
  /** Of the outbox. */
  readonly publishedAt?: Date | null;
  /** Of the inbox. */
  readonly firstProcessedAt?: Date | null;
  readonly sourceId?: string;
  /** Cycles of attempts that ended in failure, as far as operators have replayed or discarded them. */
  readonly failures?: readonly FailureCycle[];
  /** How often operators have edited its payload; absent: never. */
  readonly version?: number;
  /** Its earlier payloads, the oldest first. */
  readonly versions?: readonly EarlierPayload[];
}

/** A payload that an operator has replaced. */
interface EarlierPayload {
  readonly version: number;
  readonly payload: StoredJson;
  readonly editedAt: Date;
  readonly actor: string;
  readonly reason: string | null;
}

/** One of the two collections. */
export interface Box {
  readonly name: BoxName;
  readonly rows: Collection<BoxRow>;
}

/** A row, where it was found and what takes it. */
export interface FoundRow {
  readonly box: Box;
  readonly row: BoxRow;
  readonly handler: KnownHandler;
}

/** States that are not ended. All of them hold up later ones of their key. */
export const OPEN_STATES: readonly RowState[] = ['open', 'waiting', 'dead'];
export const ALL_STATES: readonly RowState[] = [...OPEN_STATES, 'done', 'discarded'];

/** The id of the row's message. In an inbox each service has its own row of it. */
export function messageIdOf({ box, row }: Pick<FoundRow, 'box' | 'row'>): string {
  const { _id: id, service } = row;
  return box.name === 'inbox' ? id.slice(service.length + 1) : id;
}

/** The id of a message's row in a service's part of a box. */
export function rowIdOf(box: BoxName, service: string, messageId: string): string {
  return box === 'inbox' ? `${service} ${messageId}` : messageId;
}

/** The id of the delivery: a dead letter's, once it failed. */
export function deliveryIdOf(found: FoundRow): string {
  return `${messageIdOf(found)}:${found.handler.number}`;
}

/** How often the payload of a message was edited. */
export function versionOf(rows: readonly Pick<FoundRow, 'row'>[]): number {
  return Math.max(0, ...rows.map(({ row }) => row.version ?? 0));
}

/** As handlers are named where two services may have one of a name. */
export function fullName({ service, name }: Pick<KnownHandler, 'service' | 'name'>): string {
  return `${service}/${name}`;
}
