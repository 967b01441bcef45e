import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';

/** A mail to be sent. */
export interface Mail {
  readonly email: string;
  /** The provider is away for that many requests of this mail. */
  readonly failures: number;
}

/** What a call to the provider carries. */
export interface MailCall {
  /** The same at every attempt: the provider sends one mail for it, however often it is asked. */
  readonly idempotencyKey: string;
  /** From 1. */
  readonly attempt: number;
  readonly signal: AbortSignal;
  /** Of the request that led to it. */
  readonly correlationId?: string | undefined;
}

/** How one request to the provider ended. */
export interface MailAnswer extends Pick<MailCall, 'idempotencyKey' | 'attempt'> {
  readonly requestId: string | undefined;
  readonly httpStatus: number;
  readonly latencyMs: number;
}

const TAKES_MS = 250;

/** A stand-in for a mail provider: slow, sometimes away, and one that honours idempotency keys as real ones do. */
export class MailProvider {
  readonly #pool: Pool;
  readonly #onAnswer: (answer: MailAnswer) => void;
  /** It answers nobody, until it is there again. */
  isAway = false;

  /** Its memory is a table of its own, written outside of any transaction of the shop. */
  constructor(pool: Pool, onAnswer: (answer: MailAnswer) => void = () => undefined) {
    this.#pool = pool;
    this.#onAnswer = onAnswer;
  }

  async send({ email, failures }: Mail, call: MailCall): Promise<void> {
    const { idempotencyKey, attempt, signal, correlationId: requestId } = call;
    const began = performance.now();
    await sleep(TAKES_MS, undefined, { signal });
    const isRefused = this.isAway || attempt <= failures;
    const latencyMs = Math.round(performance.now() - began);
    this.#onAnswer({ requestId, idempotencyKey, attempt, latencyMs, httpStatus: isRefused ? 503 : 202 });
    if (isRefused) {
      throw Object.assign(new Error('the mail provider is overloaded'), { status: 503 });
    }
    await this.#pool.query(
      `insert into shop.provider_mail (idempotency_key, email) values ($1, $2)
       on conflict (idempotency_key) do update set requests = provider_mail.requests + 1`,
      [idempotencyKey, email],
    );
  }
}
