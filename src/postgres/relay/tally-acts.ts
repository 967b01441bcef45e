import type { Effects } from '../../kernel/effects.ts';
import type { RelaySession } from '../../relay/relay-store.ts';
import type { Link } from '../driver/driver.ts';
import { Tally } from './tally.ts';

/** So often a process writes down what it did. */
const FLUSH_MS = 10_000;

/** Only rows are added: a process never waits for another one's counts. */
function tallyStatement(schema: string): string {
  return `insert into ${schema}.tally (at, handler, done, retried, dead, suppressed, refused)
    select date_trunc('minute', clock_timestamp()), coalesce(h.id, 0), t.done, t.retried, t.dead, t.suppressed, t.refused
    from json_to_recordset($2::text::json)
      as t (handler text, done bigint, retried bigint, dead bigint, suppressed bigint, refused bigint)
    left join ${schema}.handler h on h.service = $1::text and h.name = t.handler`;
}

type Acts = Pick<RelaySession<never>, 'beat' | 'leave' | 'receive' | 'register'>;

/**
 * The same acts, with what happens counted on the side and written after a beat: over the same connection, and never instead of it.
 * What is lost with a process that dies is ten seconds of numbers.
 */
export function tallied(
  acts: Acts,
  link: Link,
  schema: string,
  effects: Effects,
): Acts & Required<Pick<RelaySession<never>, 'observe'>> {
  const tally = new Tally();
  const statement = tallyStatement(schema);
  let service = '';
  let flushedMs = effects.monoMs();
  const flush = async (): Promise<void> => {
    flushedMs = effects.monoMs();
    if (tally.isEmpty) return;
    const rows = tally.take();
    try {
      await link.query(statement, [service, JSON.stringify(rows)]);
    } catch {
      // Numbers are not worth a beat: they are written with the next ones.
      tally.putBack(rows);
    }
  };
  return {
    observe: (event) => tally.observe(event),
    register: (worker) => {
      service = worker.service;
      return acts.register(worker);
    },
    receive: async (messages, rememberMs) => {
      const results = await acts.receive(messages, rememberMs);
      tally.duplicates(results.filter(({ kind }) => kind === 'duplicate').length);
      return results;
    },
    beat: async (...args) => {
      const isAlive = await acts.beat(...args);
      if (isAlive && effects.monoMs() - flushedMs >= FLUSH_MS) await flush();
      return isAlive;
    },
    leave: async (workerId) => {
      await flush();
      await acts.leave(workerId);
    },
  };
}
