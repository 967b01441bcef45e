import type { Logger } from '../kernel/log.ts';
import { activeSpan } from '../system/active-span.ts';
import type { Job } from './job.ts';
import type { JobOutcome } from './job-answer.ts';
import type { Verified } from './verdict.ts';

/** Tells the span the request is in, and the log when a job has failed for good. Neither is told the signature or the body. */
export function reportDelivery(
  job: Pick<Job<never>, 'name' | 'retries'>,
  scheme: string,
  verified: Verified | undefined,
  outcome: JobOutcome,
  logger: Logger | undefined,
): void {
  const attempt = verified?.attempt ?? 1;
  const isFinalAttempt = attempt > job.retries;
  const isDead = outcome.kind === 'final';
  activeSpan()?.setAttributes?.({
    'qstash.attempt': attempt,
    'qstash.max_retries': job.retries,
    'qstash.final_attempt': isFinalAttempt,
    'qstash.dlq': isDead,
    ...(verified?.dedupId === undefined ? {} : { 'qstash.dedup_id': verified.dedupId }),
  });
  if (logger !== undefined) logDelivery({ ...job, scheme, verified, attempt, isFinalAttempt }, outcome, logger);
}

interface Facts {
  readonly name: string;
  readonly retries: number;
  readonly scheme: string;
  readonly verified: Verified | undefined;
  readonly attempt: number;
  readonly isFinalAttempt: boolean;
}

function logDelivery(facts: Facts, outcome: JobOutcome, logger: Logger): void {
  const { name, retries, scheme, verified, attempt, isFinalAttempt } = facts;
  const line = { operation: name, source: scheme };
  const isDead = outcome.kind === 'final';
  if (verified === undefined) {
    // Anybody can send it: nothing of it is written down.
    if (isDead) logger.warn({ ...line, retryable: false }, outcome.problem);
    return;
  }
  const error = 'error' in outcome ? outcome.error : undefined;
  const fields = {
    ...line,
    eventId: verified.messageId,
    attempt,
    maxAttempts: retries + 1,
    ...(error instanceof Error ? { errorName: error.name } : {}),
  };
  if (isDead) logger.error({ ...fields, retryable: false }, 'the job cannot be done and is not tried again');
  else if (outcome.kind === 'failed' && isFinalAttempt)
    logger.error({ ...fields, retryable: true }, 'the job failed at its last attempt');
  else if (outcome.kind === 'done' && error !== undefined)
    logger.warn(fields, 'the job is done; what its handler did after the commit failed');
}
