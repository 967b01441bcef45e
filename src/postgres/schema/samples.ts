import { overviewFunctions } from '../operator/overview-functions.ts';

/**
 * What rates are made of, so that nobody counts a table.
 *
 *   tally   what processes did, each adds a row every ten seconds for each handler that did something; handler 0: of no handler.
 *           The housekeeper adds them up: after two minutes by the minute, after a day by the hour (span, in seconds)
 *   sample  what the housekeeper saw, once a minute. sent: deliveries put in line since the schema was made
 */
export function sampleTables(schema: string): readonly string[] {
  return [
    `create table ${schema}.tally (
      at timestamptz not null,
      span smallint not null default 0,
      handler smallint not null,
      done bigint not null,
      retried bigint not null,
      dead bigint not null,
      suppressed bigint not null,
      refused bigint not null)`,
    `create index tally_at on ${schema}.tally (at)`,
    `create table ${schema}.sample (
      minute timestamptz primary key,
      at timestamptz not null,
      sent bigint not null,
      pending bigint not null,
      failed bigint not null,
      oldest_ms bigint,
      is_full boolean not null,
      unserved jsonb not null)`,
    ...overviewFunctions(schema),
  ];
}
