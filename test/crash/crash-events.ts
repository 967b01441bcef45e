import { event, type EventDefinition } from 'holdfast';

/** What is sent: the `n`-th message of its key. */
export interface Step {
  readonly key: string;
  readonly n: number;
  /** What the handler does besides its effect. Default: nothing. */
  readonly deed?: 'kill' | 'fail once' | 'wait long';
  /** Raised by each edit of an operator. Default: 0. */
  readonly version?: number;
}

export const stepTaken: EventDefinition<Step> = event<Step>('step.taken', { key: (step) => step.key });

/** Where our tables are in the test's database. */
export const SCHEMA = 'holdfast';

/** The two kinds of handlers: one commits by itself, one shares a commit with others. */
export const HANDLERS = ['by-commit', 'by-project'] as const;

/** The handlers that misbehave: one commits by itself, one shares a commit with others, one has many messages in one call. */
export const AWKWARD_HANDLERS = ['by-commit', 'by-project', 'by-batch'] as const;

/**
 * What senders and handlers write. `sent` in the transaction of the send, so that it holds exactly what was committed;
 * `effect` without any unique key, so that a second effect would be there to be counted.
 */
export const TABLES = [
  'create table sent (key text not null, n int not null, primary key (key, n))',
  `create table effect (place bigint generated always as identity, handler text not null, key text not null, n int not null,
    version int not null default 0, worker text not null, at timestamptz not null default clock_timestamp(),
    tx xid8 not null default pg_current_xact_id())`,
  // What effects try to write after their end or past their transaction. Effects that share a commit share its transaction: a row that
  // was committed together with the effect of its message is none too many, any other is an escape.
  `create table escaped (handler text not null, key text not null, n int not null, tx xid8 not null default pg_current_xact_id())`,
];

export const EFFECT = 'insert into effect (handler, key, n, worker) values ($1, $2, $3, $4)';
