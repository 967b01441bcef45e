import type { Operator } from './operator.ts';

/** An operator over a MongoDB: its functions that need PostgreSQL throw `NOT_ON_MONGODB`. */
export interface OnMongodb {
  readonly store: 'mongodb';
}

/** What an operator stands on. One that does not say stands on PostgreSQL. */
export function storeOf(operator: Operator): 'postgres' | 'mongodb' {
  return 'store' in operator && operator.store === 'mongodb' ? 'mongodb' : 'postgres';
}
