import { OptionCheck } from '../kernel/check-options.ts';
import type { Effects } from '../kernel/effects.ts';
import type { Logger } from '../kernel/log.ts';
import { readBytes } from '../idempotency/http/fetch-request.ts';
import type { Idempotency } from '../idempotency/idempotency.ts';
import { systemEffects } from '../system/effects.ts';
import { inSpan } from '../system/own-span.ts';
import { Delivery } from './delivery.ts';
import { checkedJob, type Job, type JobOptions, type JobRun } from './job.ts';
import { jobAnswer, type JobOutcome } from './job-answer.ts';
import { reportDelivery } from './report-delivery.ts';
import type { SignatureScheme } from './verdict.ts';

/** What `signedJobs` takes. */
export interface SignedJobsOptions<Tx> {
  /** Where it is remembered what was done. With `postgresIdempotency`, effects and marks are committed together. */
  readonly idempotency: Idempotency<Tx>;
  /** How the sender signs: `qstash({ … })`, `standardWebhooks({ … })`, `stripeWebhooks({ … })`, `githubWebhooks({ … })`, `slackEvents({ … })`. */
  readonly scheme: SignatureScheme;
  /** Is told of deliveries that failed for good. Default: nobody. */
  readonly logger?: Logger | undefined;
  /**
   * Is told what kept a delivery from being done, each time and as it was thrown: by the handler, by `schema` or by a store. Lines of
   * `logger` hold no texts of errors, this may. What it throws is dropped. Default: nobody.
   */
  readonly onError?: ((error: unknown, delivery: FailedDelivery) => void) | undefined;
  /** Clock, timers and chance; for tests. */
  readonly effects?: Effects | undefined;
}

/** Which delivery failed. */
export interface FailedDelivery {
  readonly job: string;
  readonly messageId: string;
  /** 1 for the first delivery. */
  readonly attempt: number;
  /** The sender is told not to send it again. */
  readonly isDead: boolean;
}

/** Does the job. What it throws is classified: what can never work is not sent again. */
export type JobHandler<Payload, Tx> = (payload: Payload, run: JobRun<Tx>) => Promise<void> | void;

/** A handler of the Fetch standard; what frameworks pass besides the request is ignored. */
export type ReceiveRequest = (request: Request, ...rest: readonly unknown[]) => Promise<Response>;

/** Makes a request handler of a job. */
export type Receive<Tx> = <Payload = unknown>(
  job: JobOptions<Payload> | string,
  handler: JobHandler<Payload, Tx>,
) => ReceiveRequest;

/**
 * Receives jobs that a sender signs and sends again until they are done: `const receive = signedJobs({ idempotency, scheme })`, then
 * `export const POST = receive('send-reminder', handler)`. A request is read up to its limit, then its signature is checked on
 * the bytes, then its message id, then its business key; only then does the handler run. Each effect happens once, whatever is sent
 * twice; while no store answers, nothing is done (503). Where OpenTelemetry is in use and no span is active, each delivery gets a span
 * `handle <job>`, in which the handler runs.
 */
export function signedJobs<Tx>(options: SignedJobsOptions<Tx>): Receive<Tx> {
  checkSignedJobsOptions(options);
  const { idempotency, scheme, logger, onError, effects = systemEffects } = options;
  return (jobOptions, handler) => {
    const job = checkedJob(jobOptions, scheme.retriesForS);
    const check = new OptionCheck('receive()');
    if (typeof handler !== 'function')
      check.refuse('the second argument', handler, 'pass the function that does the job');
    check.done();
    return async (request) => {
      const delivery = new Delivery(idempotency, job, handler);
      const receive = async (): Promise<JobOutcome> => {
        const outcome = await deliver(delivery, job, scheme, request, effects);
        reportDelivery(job, scheme.name, delivery.verified, outcome, logger);
        return outcome;
      };
      const outcome = await inSpan(`handle ${job.name}`, request.headers, receive, isError);
      if ('error' in outcome && delivery.verified !== undefined) {
        const { messageId, attempt } = delivery.verified;
        try {
          onError?.(outcome.error, { job: job.name, messageId, attempt, isDead: outcome.kind === 'final' });
        } catch {
          // What became of the job does not depend on who is told of it.
        }
      }
      return jobAnswer(outcome, scheme);
    };
  };
}

/** A refused signature is none: anybody can send one. */
function isError({ kind }: JobOutcome): boolean {
  return kind === 'failed' || kind === 'final' || kind === 'store-down';
}

async function deliver<Payload, Tx>(
  delivery: Delivery<Payload, Tx>,
  job: Job<Payload>,
  scheme: SignatureScheme,
  request: Request,
  effects: Effects,
): Promise<JobOutcome> {
  const body = await readBytes(request, job.maxBodyBytes);
  if (body === undefined) return { kind: 'final', problem: `the body is larger than ${job.maxBodyBytes} bytes` };
  const verdict = await scheme.verify(request.headers, body, effects.now().wallMs);
  if (verdict.kind !== 'verified') return verdict;
  return delivery.run(verdict.verified, body);
}

function checkSignedJobsOptions<Tx>(options: SignedJobsOptions<Tx>): void {
  const check = new OptionCheck('signedJobs()');
  if (check.object('options', options, 'pass { idempotency, scheme }')) {
    check.known(options, ['idempotency', 'scheme', 'logger', 'onError', 'effects']);
    if (typeof options.idempotency?.enter !== 'function')
      check.refuse('idempotency', options.idempotency, 'pass idempotency({ service, store })');
    if (typeof options.scheme?.verify !== 'function')
      check.refuse('scheme', options.scheme, 'pass qstash({ … }), standardWebhooks({ … }) or that of another sender');
    if (options.onError !== undefined && typeof options.onError !== 'function')
      check.refuse('onError', options.onError, 'pass a function of the error');
  }
  check.done();
}
