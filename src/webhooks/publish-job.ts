import { OptionCheck } from '../kernel/check-options.ts';
import { HoldfastError } from '../kernel/error.ts';
import { systemEffects } from '../system/effects.ts';

/** A job to be sent. */
export interface JobMessage {
  /** The name that the receiver knows it by. */
  readonly job: string;
  /** What it is about: `reminder-42`. The same job about the same thing is sent once within the sender's window. */
  readonly resourceId: string;
  /** Where the receiver listens. */
  readonly url: string;
  /** JSON. */
  readonly body: unknown;
  /** Lets the same job about the same thing be sent once in each span of this many seconds, counted from 1970. Default: no spans. */
  readonly bucketSeconds?: number | undefined;
  /** How often to try again after the first time. Default 5. */
  readonly retries?: number | undefined;
  /** How long to wait before the first delivery, in seconds. */
  readonly delaySeconds?: number | undefined;
  /** How long to wait for the sender's answer, in milliseconds. Default: what the address says, or 30,000 through a client, which tries again by itself. */
  readonly timeoutMs?: number | undefined;
}

/** What is used of the client of `@upstash/qstash`. */
export interface QstashClientLike {
  publishJSON(request: {
    readonly url: string;
    readonly body: unknown;
    readonly deduplicationId: string;
    readonly retries: number;
    readonly retryDelay: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly delay?: number;
  }): Promise<unknown>;
}

/** Plain HTTP. */
export interface QstashEndpoint {
  /** `https://qstash.upstash.io`, or a server of your own. */
  readonly baseUrl: string;
  readonly token: string;
  /** How long to wait for its answer, in milliseconds. Default 10,000. */
  readonly timeoutMs?: number | undefined;
}

/** The sender waits 10 s before the first repetition, and twice as long before each further one. */
export const RETRY_DELAY = '10000 * pow(2, retried)';

/** The sender keeps the deduplication id to itself; this header of ours carries it to the receiver, for its spans. */
export const FORWARDED_DEDUP_ID = 'holdfast-deduplication-id';

const RETRIES = 5;
const TIMEOUT_MS = 10_000;
const CLIENT_TIMEOUT_MS = 30_000;
const TIMEOUT_RULE = { min: 1, max: 600_000, write: 'write milliseconds from 1 to ten minutes' };

/** The name under which the sender drops repetitions: `<job>:<resourceId>`, with the number of the time span when there is one. */
export function deduplicationId(
  message: Pick<JobMessage, 'job' | 'resourceId' | 'bucketSeconds'>,
  nowMs: number,
): string {
  const id = `${message.job}:${message.resourceId}`;
  const { bucketSeconds } = message;
  return bucketSeconds === undefined ? id : `${id}:${Math.floor(nowMs / 1_000 / bucketSeconds)}`;
}

/**
 * Sends a job that `receive` understands: the same job about the same thing is dropped by the sender, and it is tried six times in
 * all. Answers the id of the message. Through a client of `@upstash/qstash` as it is, or by plain HTTP; then it rejects with
 * `JOB_NOT_PUBLISHED` when it was not taken. Rejects with `JOB_PUBLISH_TIMEOUT` when no answer came in time.
 */
export async function publishJob(
  to: QstashClientLike | QstashEndpoint,
  message: JobMessage,
  nowMs: number = systemEffects.now().wallMs,
): Promise<{ readonly messageId: string; readonly deduplicated: boolean }> {
  checkMessage(to, message);
  const { url, body, retries = RETRIES, delaySeconds, timeoutMs } = message;
  const dedupId = deduplicationId(message, nowMs);
  if ('publishJSON' in to) {
    const delay = delaySeconds === undefined ? {} : { delay: delaySeconds };
    const headers = { [FORWARDED_DEDUP_ID]: dedupId };
    const job = { url, body, deduplicationId: dedupId, retries, retryDelay: RETRY_DELAY, headers, ...delay };
    // It takes no signal: what it still does then is one job by its id.
    const late = Promise.withResolvers<never>();
    const sent = within(timeoutMs ?? CLIENT_TIMEOUT_MS, (signal) => {
      signal.addEventListener('abort', () => late.reject(signal.reason), { once: true });
      return Promise.race([to.publishJSON(job), late.promise]);
    });
    return readAnswer(await sent);
  }
  const limitMs = timeoutMs ?? to.timeoutMs ?? TIMEOUT_MS;
  return publishByHttp(to, { url, body, dedupId, retries, delaySeconds }, limitMs);
}

async function publishByHttp(
  { baseUrl, token }: QstashEndpoint,
  message: {
    readonly url: string;
    readonly body: unknown;
    readonly dedupId: string;
    readonly retries: number;
    readonly delaySeconds: number | undefined;
  },
  timeoutMs: number,
): Promise<{ readonly messageId: string; readonly deduplicated: boolean }> {
  const headers: Record<string, string> = {
    Authorization: `Bearer ${token}`,
    'Content-Type': 'application/json',
    'Upstash-Method': 'POST',
    'Upstash-Deduplication-Id': message.dedupId,
    [`Upstash-Forward-${FORWARDED_DEDUP_ID}`]: message.dedupId,
    'Upstash-Retries': String(message.retries),
    'Upstash-Retry-Delay': RETRY_DELAY,
  };
  if (message.delaySeconds !== undefined) headers['Upstash-Delay'] = `${message.delaySeconds}s`;
  const address = `${baseUrl.replace(/\/+$/, '')}/v2/publish/${message.url}`;
  return within(timeoutMs, async (signal) => {
    const response = await fetch(address, { method: 'POST', headers, body: JSON.stringify(message.body), signal });
    const answer: unknown = await response.json().catch((error: unknown) => {
      if (signal.aborted) throw error;
    });
    // What answers with something else is not such a sender.
    if (!response.ok || typeof answer !== 'object') {
      throw new HoldfastError('JOB_NOT_PUBLISHED', { status: response.status });
    }
    return readAnswer(answer);
  });
}

/** One limit for the whole exchange: a server may answer the head, and then nothing more. */
async function within<T>(timeoutMs: number, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const limit = new AbortController();
  const timer = systemEffects.setTimer(
    () => limit.abort(new HoldfastError('JOB_PUBLISH_TIMEOUT', { timeoutMs })),
    timeoutMs,
  );
  try {
    return await ask(limit.signal);
  } finally {
    systemEffects.clearTimer(timer);
  }
}

function readAnswer(answer: unknown): { readonly messageId: string; readonly deduplicated: boolean } {
  const { messageId, deduplicated } = (answer ?? {}) as { messageId?: unknown; deduplicated?: unknown };
  return { messageId: typeof messageId === 'string' ? messageId : '', deduplicated: deduplicated === true };
}

function checkMessage(to: QstashClientLike | QstashEndpoint, message: JobMessage): void {
  const check = new OptionCheck('publishJob()');
  const write = 'pass { baseUrl, token }, or a Client of @upstash/qstash';
  if (check.object('the first argument', to, write) && !('publishJSON' in to)) {
    const { baseUrl, token, timeoutMs } = to;
    if (typeof baseUrl !== 'string' || !/^https?:/i.test(baseUrl) || !URL.canParse(baseUrl))
      check.refuse('baseUrl', baseUrl, 'pass the address of the sender: https://qstash.upstash.io');
    if (typeof token !== 'string' || token === '') check.refuse('token', token, 'pass the value of QSTASH_TOKEN');
    if (timeoutMs !== undefined) check.number('timeoutMs', timeoutMs, TIMEOUT_RULE);
  }
  if (!check.object('the message', message, 'pass { job, resourceId, url, body }')) check.done();
  if (!isJson(message.body)) check.refuse('body', message.body, 'pass something that JSON can hold');
  for (const name of ['job', 'resourceId'] as const) {
    // It becomes a part of a header.
    if (typeof message[name] !== 'string' || !/^[\x21-\x7e]+$/.test(message[name]))
      check.refuse(name, message[name], 'name it: visible ASCII without spaces');
  }
  // A path with dots is resolved through the whole address on its way, and would reach other routes of the sender.
  if (!isPlainAddress(message.url))
    check.refuse('url', message.url, 'pass a full http or https address without dot segments');
  if (message.bucketSeconds !== undefined)
    check.number('bucketSeconds', message.bucketSeconds, { min: 1, write: 'write seconds from 1' });
  if (message.delaySeconds !== undefined)
    check.number('delaySeconds', message.delaySeconds, { min: 0, write: 'write seconds from 0' });
  if (message.timeoutMs !== undefined) check.number('timeoutMs', message.timeoutMs, TIMEOUT_RULE);
  if (message.retries !== undefined)
    check.number('retries', message.retries, { min: 0, integer: true, write: 'write a whole number' });
  check.done();
}

function isJson(body: unknown): boolean {
  try {
    return JSON.stringify(body) !== undefined;
  } catch {
    return false;
  }
}

function isPlainAddress(url: unknown): boolean {
  // A backslash is read as a slash, and tabs and line ends are dropped, when the whole address is.
  if (typeof url !== 'string' || !/^https?:\/\/[\x21-\x5b\x5d-\x7e]+$/i.test(url)) return false;
  return !/\/(\.|%2e){1,2}(\/|$|\?|#)/i.test(url) && URL.canParse(url);
}
