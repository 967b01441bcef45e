import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { qstashToken } from './sign.ts';

/** What is delivered. */
export interface SentJob {
  readonly id: string;
  readonly path: '/plain' | '/keyed';
  readonly line: string;
}

/** What the sender has seen. */
export interface Sendings {
  tries: number;
  /** Deliveries that were answered with "already done". */
  suppressed: number;
  /** Requests that somebody else sent again under another id, and was refused. */
  replaysRefused: number;
  readonly statuses: Map<number | 'cut', number>;
}

const MOST_TRIES = 500;

/** Delivers jobs the way QStash does: signed anew for each try, again until it is answered with 2xx, now and then twice. */
export class JobSender {
  readonly seen: Sendings = { tries: 0, suppressed: 0, replaysRefused: 0, statuses: new Map() };
  readonly #urls: readonly string[];

  constructor(urls: readonly string[]) {
    this.#urls = urls;
  }

  /** One delivery; answers its status, and 0 when the connection was cut. */
  async deliver(job: SentJob, retried = 0, token: string = qstashToken(bodyOf(job))): Promise<number> {
    this.seen.tries++;
    const headers = {
      'content-type': 'application/json',
      'upstash-signature': token,
      'upstash-message-id': job.id,
      'upstash-retried': String(retried),
    };
    const url = `${this.#urls[Math.floor(Math.random() * this.#urls.length)]}${job.path}`;
    try {
      const signal = AbortSignal.timeout(15_000);
      const answer = await fetch(url, { method: 'POST', headers, body: bodyOf(job), signal });
      const { result } = (await answer.json()) as { result: string };
      if (result === 'already done') this.seen.suppressed++;
      this.#count(answer.status);
      return answer.status;
    } catch {
      this.#count('cut');
      return 0;
    }
  }

  /** Delivers until it is done, and answers the token that was let in. */
  async deliverUntilDone(job: SentJob): Promise<string> {
    for (let retried = 0; retried < MOST_TRIES; retried++) {
      const token = qstashToken(bodyOf(job));
      if ((await this.deliver(job, retried, token)) === 200) return token;
      await pause(retried);
    }
    throw new Error(`${job.line} was not done`);
  }

  /** Sends a token that was let in under another id, as somebody who has seen it would, until it is refused. */
  async replayUntilRefused(job: SentJob, token: string): Promise<void> {
    for (let retried = 0; retried < MOST_TRIES; retried++) {
      const status = await this.deliver({ ...job, id: randomUUID() }, 0, token);
      if (status === 200) throw new Error(`${job.line} was let in under another id`);
      if (status === 401) {
        this.seen.replaysRefused++;
        return;
      }
      await pause(retried);
    }
    throw new Error(`${job.line} under another id was not answered`);
  }

  #count(status: number | 'cut'): void {
    this.seen.statuses.set(status, (this.seen.statuses.get(status) ?? 0) + 1);
  }
}

/** The curve of the sender, a thousand times faster. */
async function pause(retried: number): Promise<void> {
  await sleep(Math.min(10 * 2 ** retried, 200) * (0.5 + Math.random()));
}

function bodyOf({ line }: SentJob): string {
  return JSON.stringify({ line });
}

/**
 * So many jobs, and `sendAll`: every tenth is delivered twice at once, every tenth once more after it was done, and every fifth with a
 * business key is published twice. What let every fiftieth in is sent once more by somebody else.
 */
export function jobs(count: number, prefix = 'job'): SentJob[] {
  return Array.from({ length: count }, (_, at) => ({
    id: randomUUID(),
    path: at % 2 === 0 ? '/keyed' : '/plain',
    line: `${prefix}-${at}`,
  }));
}

/** Delivers all, many at once. `onDone` is told how many are done after each. */
export async function sendAll(
  sender: JobSender,
  all: readonly SentJob[],
  onDone: (done: number) => void = () => undefined,
): Promise<void> {
  let next = 0;
  let done = 0;
  const one = async (job: SentJob, at: number): Promise<void> => {
    const same = [job, ...(at % 10 === 1 ? [job] : []), ...(at % 10 === 2 ? [{ ...job, id: randomUUID() }] : [])];
    const [token = ''] = await Promise.all(same.map((delivery) => sender.deliverUntilDone(delivery)));
    if (at % 50 === 4) await sender.replayUntilRefused(job, token);
    if (at % 10 === 3) await sender.deliverUntilDone(job);
    onDone(++done);
  };
  const worker = async (): Promise<void> => {
    for (let at = next++; at < all.length; at = next++) await one(all[at] as SentJob, at);
  };
  await Promise.all(Array.from({ length: 48 }, worker));
}
