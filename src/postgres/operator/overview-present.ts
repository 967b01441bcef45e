import type { AttentionFacts } from '../../operator/attention.ts';
import type { HandlerRecord } from '../../operator/operator-records.ts';
import type { HandlerOverview } from '../../operator/overview.ts';
import type { HouseReport } from '../../relay/house-report.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { handlerVerbs } from './handler-verbs.ts';
import { type Fields, readJson, readRecord } from './read-record.ts';

/** How things are at this moment. Ready and waiting deliveries are counted up to 10,000, dead letters up to 100,000 in all. */
export interface Present {
  readonly nowMs: number;
  /** Put in line since the schema was made. */
  readonly sent: number;
  readonly isPaused: boolean;
  /** Live ones. */
  readonly workers: number;
  /** How long the first of them has lived. */
  readonly aliveMs: number | undefined;
  /** Keys that stand still behind a dead letter; counted up to 1,000. */
  readonly heldKeys: number;
  readonly destinations: AttentionFacts['destinations'];
  /** Messages whose type no handler takes. */
  readonly withoutHandler: number;
  /** What the housekeeper saw last. */
  readonly last:
    | { readonly ms: number; readonly isFull: boolean; readonly unserved: HouseReport['unserved'] }
    | undefined;
  readonly handlers: readonly HandlerOverview[];
}

/** What a handler of the overview has besides its record. */
type HandlerNumbers = Omit<HandlerOverview, Exclude<keyof HandlerRecord, 'service' | 'handler'>>;

/** Reads how things are, by indexes alone. */
export async function readPresent(sql: SqlRunner, schema: string): Promise<Present> {
  const [row] = await sql.query(`select ${schema}.overview_present() as row`);
  const fields = readJson(row, 'row') as Fields & {
    readonly handlers: readonly Fields[];
    readonly destinations: readonly Fields[];
  };
  const records = await handlerVerbs(sql, schema).handlers();
  const numbers = fields.handlers.map((one) => readRecord<HandlerNumbers>(one, []));
  // One that registered between the two answers has its numbers the next time.
  const handlers = records.flatMap((record) => {
    const own = numbers.find(({ service, handler }) => service === record.service && handler === record.handler);
    return own === undefined ? [] : [{ ...record, ...own }];
  });
  const destinations = fields.destinations.map((one) => readRecord<Present['destinations'][number]>(one, []));
  return { ...readRecord<Present>(fields, []), destinations, handlers };
}
