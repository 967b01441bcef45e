import type { CommandStore, NewCommand, PutAnswer, StartedCommand } from '../../commands/command-store.ts';
import type { CommandState } from '../../commands/command-state.ts';
import { OptionCheck } from '../../kernel/check-options.ts';
import { HoldfastError } from '../../kernel/error.ts';
import { boundedRunner } from '../bounded-runner.ts';
import { named } from '../check-version.ts';
import { FULL, messageInput } from '../fan-out.ts';
import { repeatedRunner } from '../repeated-runner.ts';
import { DEFAULT_SCHEMA, quotedSchema } from '../schema-name.ts';
import {
  type SqlConnection,
  sqlRunner,
  type SqlRunner,
  type SqlTransaction,
  transactionRunner,
} from '../sql-runner.ts';
import { commandReads } from './reads.ts';

/** What `postgresCommands` takes. */
export interface PostgresCommandsOptions {
  /** A pg `Pool`, the `sql` of postgres.js, or a PGlite database: the one that handlers commit through. */
  readonly pool: SqlConnection;
  /** Where our tables are. Default `holdfast`. */
  readonly schema?: string | undefined;
  /**
   * How long a command is kept after it is done or was discarded, with its events, in milliseconds; as long its key stands for it.
   * Default: thirty days. An unfinished one is kept for ever.
   */
  readonly keepMs?: number | undefined;
}

/** How long a finished command is kept unless the store is told otherwise: thirty days. */
const DEFAULT_KEEP_MS = 30 * 86_400_000;

/** Durable commands in PostgreSQL; run `migrate` once before. Nothing is kept open. */
export function postgresCommands(options: PostgresCommandsOptions): CommandStore<SqlTransaction> {
  const check = new OptionCheck('postgresCommands()');
  if (!check.object('options', options, 'pass { pool }')) check.done();
  const { pool, schema = DEFAULT_SCHEMA, keepMs = DEFAULT_KEEP_MS } = options;
  check.known(options, ['pool', 'schema', 'keepMs']);
  check.number('keepMs', keepMs, { min: 1_000, integer: true, write: 'write whole milliseconds from 1000' });
  check.done();
  const quoted = quotedSchema('postgresCommands()', schema);
  const sql = boundedRunner(namedRunner(repeatedRunner(sqlRunner(pool)), quoted));
  return {
    ...commandReads(sql, quoted),
    put: (tx, command, to) =>
      put(boundedRunner(namedRunner(transactionRunner(tx), quoted)), quoted, keepMs, command, to),
    start: async (service, commandId, { workerId, token, seq, state, version, cycle, attempts }) => {
      const params = [
        commandId,
        service,
        workerId,
        token.unit,
        token.epoch,
        seq,
        state === 'ready' ? 0 : 1,
        version,
        cycle,
        attempts,
      ];
      const [row] = await sql.query(startCall(quoted), params);
      if (row?.['kind'] !== 'started') return row?.['kind'] === 'unknown' ? 'unknown' : 'taken';
      return JSON.parse(String(row['started'])) as StartedCommand;
    },
    finish: async (tx, service, commandId, answer) => {
      const statement = `select ${quoted}.command_finish($1::text::uuid, $2::text, $3::text::jsonb) as kind`;
      const runner = boundedRunner(namedRunner(sqlRunner(tx as SqlTransaction), quoted));
      const [row] = await runner.query(statement, [commandId, service, answer]);
      return row?.['kind'] as 'done' | 'taken' | 'ended';
    },
  };
}

function startCall(schema: string): string {
  return `select kind, started from ${schema}.command_start($1::text::uuid, $2::text, $3::text::uuid, $4::text::int, $5::text::bigint,
    $6::text::bigint, $7::text::smallint, $8::text::int, $9::text::int, $10::text::int)`;
}

async function put(
  sql: SqlRunner,
  schema: string,
  keepMs: number,
  { message, name, target, module, idempotencyKey, onExhausted, correlation }: NewCommand,
  to: 'idle' | 'queued',
): Promise<PutAnswer> {
  const about = {
    id: message.id,
    service: message.source,
    name,
    target,
    module,
    idempotency_key: idempotencyKey,
    on_exhausted: onExhausted,
    correlation,
    keep_ms: keepMs,
  };
  const text = `select kind, command_id, known_state, is_new::int as is_new
    from ${schema}.command_put($1::text, $2::text, $3::text)`;
  const [row = {}] = await sql.query(text, [messageInput([message]), JSON.stringify(about), to]);
  if (row['kind'] === FULL) throw new HoldfastError('OUTBOX_FULL', {});
  const commandId = String(row['command_id']);
  if (row['kind'] === 'other-request') return { kind: 'other-request', commandId };
  return { kind: 'known', commandId, state: row['known_state'] as CommandState, isNew: Number(row['is_new']) === 1 };
}

/** The same, telling by name that our tables are not there. */
function namedRunner(sql: SqlRunner, schema: string): SqlRunner {
  const query: SqlRunner['query'] = (text, params) =>
    sql.query(text, params).catch((error: unknown) => {
      throw named(error, schema);
    });
  return { ...sql, query };
}
