import { z } from 'zod';

/**
 * What is wrong with a partner: `status` answers with it · `hang` takes the request and never answers · `slow` answers after `ms` · `lost`
 * does what it is asked, then cuts the connection · `token` refuses every token. For the next `times` requests (default: until it is
 * taken back), of the operations named (default: all), the first `after` of which still go well.
 */
export const Trouble = z.object({
  kind: z.enum(['status', 'hang', 'slow', 'lost', 'token']),
  status: z.int().min(400).max(599).default(503),
  ms: z.int().min(0).max(600_000).default(1_000),
  times: z.int().min(1).optional(),
  after: z.int().min(0).default(0),
  operations: z.array(z.string()).optional(),
});

export type Trouble = z.infer<typeof Trouble>;

/** What a partner was told to do wrong, and how often it has. */
export class Troubles {
  #now: Trouble | undefined;
  #passed = 0;
  #hits = 0;

  /** Replaces what was wrong before; nothing is wrong any more without one. */
  set(trouble: Trouble | undefined): void {
    this.#now = trouble;
    this.#passed = 0;
    this.#hits = 0;
  }

  get now(): { readonly trouble: Trouble; readonly hits: number } | undefined {
    return this.#now && { trouble: this.#now, hits: this.#hits };
  }

  /** What is wrong with this request, if anything. */
  meet(operation: string): Trouble | undefined {
    const trouble = this.#now;
    if (trouble === undefined || trouble.operations?.includes(operation) === false) return undefined;
    if (this.#passed < trouble.after) {
      this.#passed += 1;
      return undefined;
    }
    if (this.#hits >= (trouble.times ?? Infinity)) return undefined;
    this.#hits += 1;
    return trouble;
  }
}
