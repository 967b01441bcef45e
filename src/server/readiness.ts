import type { Effects } from '../kernel/effects.ts';
import { isHoldfastError } from '../kernel/error.ts';
import type { Operator } from '../operator/operator.ts';
import type { OperatorServerOptions } from './server-options.ts';

/** Whether the process can do its work; without reasons it can. */
export interface Readiness {
  readonly reasons: readonly string[];
}

const KEPT_MS = 1_000;
const ANSWER_MS = 5_000;

/** Asks whether the database answers and its schema fits, at most once a second however often it is asked. */
export class ReadinessCheck {
  readonly #operator: Operator;
  readonly #effects: Effects;
  readonly #isReady: NonNullable<OperatorServerOptions['isReady']>;
  #last: { readonly atMs: number; readonly answer: Promise<Readiness> } | undefined;

  constructor(operator: Operator, effects: Effects, isReady: OperatorServerOptions['isReady']) {
    this.#operator = operator;
    this.#effects = effects;
    this.#isReady = isReady ?? ((): readonly string[] => []);
  }

  async read(): Promise<Readiness> {
    const atMs = this.#effects.monoMs();
    if (this.#last === undefined || atMs - this.#last.atMs > KEPT_MS) this.#last = { atMs, answer: this.#look() };
    return this.#last.answer;
  }

  async #look(): Promise<Readiness> {
    const [database, own] = await Promise.all([this.#database(), this.#own()]);
    return { reasons: [...database, ...own] };
  }

  async #database(): Promise<readonly string[]> {
    let timer: unknown;
    const late = new Promise<readonly string[]>((resolve) => {
      timer = this.#effects.setTimer(() => resolve([`the database did not answer within ${ANSWER_MS} ms`]), ANSWER_MS);
    });
    try {
      // A small table, and asked only once the schema is known to fit.
      const asked = this.#operator.handlers().then((): readonly string[] => []);
      return await Promise.race([asked, late]);
    } catch (error) {
      // Whoever asks may be anybody: no addresses, no names of users.
      return [isHoldfastError(error) ? error.message : 'the database cannot be asked'];
    } finally {
      this.#effects.clearTimer(timer);
    }
  }

  async #own(): Promise<readonly string[]> {
    try {
      return await this.#isReady();
    } catch {
      return ['isReady() failed'];
    }
  }
}
