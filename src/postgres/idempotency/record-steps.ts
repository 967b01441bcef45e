import type {
  Claim,
  ClaimAnswer,
  FinishedStatus,
  IdempotencyRecord,
  IdempotencyStore,
  KeptReply,
  RunEnd,
} from '../../idempotency/idempotency-store.ts';
import { named } from '../check-version.ts';
import type { SqlParam, SqlRunner } from '../sql-runner.ts';
import { bodyFromText, bodyToText } from './body-text.ts';
import type { IdempotencyStatements } from './statements.ts';

type SqlRow = Readonly<Record<string, unknown>>;

/** The steps of a store on the application's pool, each one statement that is committed with its answer. */
export function recordSteps(sql: SqlRunner, statements: IdempotencyStatements, schema: string): IdempotencyStore {
  const say = async (statement: string, params: readonly SqlParam[]): Promise<readonly SqlRow[]> => {
    try {
      return await sql.query(statement, params);
    } catch (error) {
      throw named(error, schema);
    }
  };
  const count = async (statement: string, param: SqlParam): Promise<number> =>
    Number((await say(statement, [param]))[0]?.['n']);
  return {
    claim: async (claim) => {
      const { id, domain, person, fingerprint, owner, leaseMs, keepMs, takeUnknown } = claim;
      const params = [id, domain, person, fingerprint, owner, leaseMs, keepMs, takeUnknown];
      return readClaimAnswer((await say(statements.claim, params))[0] ?? {});
    },
    renew: async ({ id, owner, leaseMs, keepMs }) =>
      (await say(statements.renew, [id, owner, leaseMs, keepMs])).length > 0,
    end: async (claim, end) => {
      const [row] = await say(statements.end, endParams(claim, end));
      return row?.['answer'] === 'late' ? 'late' : 'ended';
    },
    find: async (id) => {
      const [row] = await say(statements.find, [id]);
      return row && readRecord(row);
    },
    erase: (person) => count(statements.erase, person),
    reap: (limit) => count(statements.reap, limit),
  };
}

/** What `idempotency_end` takes. */
export function endParams(claim: Claim, end: RunEnd): readonly SqlParam[] {
  const { id, domain, person, fingerprint, owner, keepMs } = claim;
  const status = { finish: end.kind === 'finish' ? end.status : null, release: null, doubt: 'unknown' }[end.kind];
  const reply = end.kind === 'finish' ? end.reply : undefined;
  const body = reply?.body === undefined ? null : bodyToText(reply.body);
  return [id, domain, person, fingerprint, owner, keepMs, status, reply?.head ?? null, body];
}

function readClaimAnswer(row: SqlRow): ClaimAnswer {
  const kind = String(row['kind']) as Exclude<ClaimAnswer['kind'], 'finished'> | FinishedStatus;
  const n = Number(row['n']);
  switch (kind) {
    case 'mismatch':
      return { kind };
    case 'running':
      return { kind, leaseLeftMs: n };
    case 'claimed':
    case 'unknown':
      return { kind, run: n };
    case 'completed':
    case 'failed': {
      const reply = readReply(row['reply_head'], row['reply_body']);
      const times = { finishedAt: Number(row['finished']), expiresAt: Number(row['expires']) };
      return { kind: 'finished', status: kind, reply, ...times };
    }
  }
}

function readRecord(row: SqlRow): IdempotencyRecord {
  const person = row['person'];
  return {
    id: String(row['id']),
    domain: String(row['domain']),
    person: typeof person === 'string' ? person : null,
    status: String(row['status']) as IdempotencyRecord['status'],
    run: Number(row['run']),
    fingerprint: String(row['fingerprint']),
    reply: readReply(row['head'], row['body']),
    createdAt: Number(row['created']),
    updatedAt: Number(row['updated']),
    expiresAt: Number(row['expires']),
  };
}

function readReply(head: unknown, body: unknown): KeptReply | null {
  if (typeof head !== 'string') return null;
  return { head, body: typeof body === 'string' ? bodyFromText(body) : undefined };
}
