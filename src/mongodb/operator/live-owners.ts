import { ownCollection } from '../collections.ts';
import type { OperatorParts } from './operator-parts.ts';

/** Who works on a handler's messages now. */
export interface LiveOwner {
  readonly owner: string;
  readonly until: Date;
}

interface Lease {
  readonly _id: string;
  readonly owner: string;
  readonly until: Date;
}

/** The holders of leases that have not run out, by the id of the handler. */
export async function ownersOf({ db }: OperatorParts): Promise<ReadonlyMap<string, LiveOwner>> {
  const live = await ownCollection<Lease>(db, 'holdfast_leases')
    .find({ $expr: { $gt: ['$until', '$$NOW'] } })
    .toArray();
  return new Map(live.map(({ _id, owner, until }) => [_id, { owner, until }]));
}

/** When a process began to work: its id tells. */
export function joinedAt(owner: string): Date {
  return new Date(Number.parseInt(owner.replaceAll('-', '').slice(0, 12), 16) || 0);
}
