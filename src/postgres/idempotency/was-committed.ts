import type { Claim } from '../../idempotency/idempotency-store.ts';
import type { Effects } from '../../kernel/effects.ts';
import { HoldfastError } from '../../kernel/error.ts';
import { createSleep } from '../../kernel/sleep.ts';
import type { Driver } from '../driver/driver.ts';
import type { IdempotencyStatements } from './statements.ts';

/** Whom to ask, and how. */
export interface AskParts {
  readonly driver: Driver<unknown>;
  readonly statements: IdempotencyStatements;
  readonly effects: Effects;
}

/** How long the database is asked, and how long is waited between two questions. */
const ASK_FOR_MS = 30_000;
const ASK_AGAIN_AFTER_MS = 100;

/**
 * Whether a transaction that ended the run of `claim` was committed, when the answer to its COMMIT was lost with the connection.
 * Asks over another one until it is known. Throws `IDEMPOTENCY_COMMIT_UNKNOWN` with `cause` when that was not to be learned.
 */
export async function wasCommitted(
  parts: AskParts,
  claim: Claim,
  transactionId: string,
  cause: unknown,
): Promise<boolean> {
  const { effects } = parts;
  const sleep = createSleep(effects);
  const start = effects.monoMs();
  for (;;) {
    const answer = await ask(parts, claim, transactionId).catch(() => undefined);
    if (answer !== undefined) return answer;
    const waitedMs = Math.round(effects.monoMs() - start);
    if (waitedMs > ASK_FOR_MS) {
      throw new HoldfastError('IDEMPOTENCY_COMMIT_UNKNOWN', { domain: claim.domain, waitedMs }, { cause });
    }
    await sleep(ASK_AGAIN_AFTER_MS);
  }
}

async function ask({ driver, statements }: AskParts, claim: Claim, id: string): Promise<boolean | undefined> {
  const link = driver.link();
  try {
    // Until the transaction is over, the record is locked by it. A server that took over from a lost one has the record too,
    // but may have given the transaction's number to another: so the record is asked first.
    const [record] = await link.query(statements.settled, [claim.id]);
    if (record?.[0] === claim.owner) return record[1] !== 'processing';
    // It is gone, or has been claimed anew since: both may be with that commit or without.
    const [transaction] = await link.query(statements.transaction, [id]);
    return { committed: true, aborted: false }[String(transaction?.[0])];
  } finally {
    await link.close();
  }
}
