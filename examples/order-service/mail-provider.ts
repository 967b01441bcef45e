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
}

const TAKES_MS = 250;

/** A stand-in for a mail provider: slow, sometimes away, and one that honours idempotency keys as real ones do. */
export class MailProvider {
  readonly #pool: Pool;

  /** Its memory is a table of its own, written outside of any transaction of the shop. */
  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async send({ email, failures }: Mail, { idempotencyKey, attempt, signal }: MailCall): Promise<void> {
    await sleep(TAKES_MS, undefined, { signal });
    if (attempt <= failures) {
      throw Object.assign(new Error('the mail provider is overloaded'), { status: 503 });
    }
    await this.#pool.query(
      `insert into shop.provider_mail (idempotency_key, email) values ($1, $2)
       on conflict (idempotency_key) do update set requests = provider_mail.requests + 1`,
      [idempotencyKey, email],
    );
  }
}
