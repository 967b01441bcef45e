import { OptionCheck } from '../kernel/check-options.ts';
import { isHoldfastError } from '../kernel/error.ts';
import type { LogFields } from '../kernel/log.ts';
import { createClassifier } from '../retry/classifier.ts';
import type { Policy, PolicyOptions } from '../retry/policy.ts';
import type { ServiceClient } from './service-client.ts';
import { timeoutLimit } from './timeout-limit.ts';

/** How a service is. */
export type Health =
  | { readonly kind: 'up'; readonly status: number; readonly attempts: number }
  /** Asking again will not help before somebody does something: no such path, wrong key, redirected elsewhere. */
  | { readonly kind: 'unavailable'; readonly reason: string; readonly status?: number }
  /** It may well be up the next time: no connection, no answer in time, overloaded. `afterMs` is what the service asked for. */
  | { readonly kind: 'retryable'; readonly reason: string; readonly status?: number; readonly afterMs?: number };

/** What `probeHealth` takes beside the client. Every field may be left out. */
export interface ProbeOptions {
  /** Default `/health`. */
  readonly path?: string;
  /** Bound of each attempt. Default 2,000. */
  readonly timeoutMs?: number;
  /** Default: one attempt. */
  readonly policy?: Policy | PolicyOptions;
  /** Default `probe-health`. */
  readonly operation?: string;
  readonly requestId?: string;
  readonly signal?: AbortSignal;
  readonly logFields?: LogFields;
}

const DEFAULT_TIMEOUT_MS = 2_000;

const classify = createClassifier({ unknown: 'fail' });

/**
 * Asks a service how it is. Whatever the service does, and also when the caller aborts, the answer is a value; only wrong
 * options are thrown. A good (2xx) status is `up`, the body is not looked at.
 */
export async function probeHealth(client: ServiceClient, options: ProbeOptions = {}): Promise<Health> {
  const check = new OptionCheck('probeHealth()');
  if (typeof (client as Partial<ServiceClient> | undefined)?.request !== 'function')
    check.refuse('client', client, 'pass what serviceClient() gives');
  check.object('options', options, "pass an object such as { path: '/health' }, or leave it out");
  check.done();
  const { path = '/health', policy = { maxAttempts: 1 }, operation = 'probe-health', ...rest } = options;
  const { timeoutMs = Math.min(DEFAULT_TIMEOUT_MS, timeoutLimit(policy)) } = options;
  try {
    const { status, attempts } = await client.request({ ...rest, path, timeoutMs, policy, operation, read: 'nothing' });
    return { kind: 'up', status, attempts };
  } catch (error) {
    if (isHoldfastError(error, 'INVALID_OPTIONS')) throw error;
    if (options.signal?.aborted) return { kind: 'retryable', reason: 'aborted' };
    return healthOf(error);
  }
}

function healthOf(error: unknown): Health {
  const { verdict, kind, status, code, hint } = classify(error);
  const facts = { reason: code ?? kind, ...(status === undefined ? {} : { status }) };
  if (verdict === 'fail') return { kind: 'unavailable', ...facts };
  return { kind: 'retryable', ...facts, ...(hint?.afterMs === undefined ? {} : { afterMs: hint.afterMs }) };
}
