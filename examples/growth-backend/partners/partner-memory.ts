import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** One request as the partner saw it. */
export interface LedgerEntry {
  readonly at: string;
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  /** `did`: it did it · `repeated`: it had done it before and gave the first answer again · `said`: nothing changed · `refused` ·
   * `trouble`: it was told to fail. `lost`: it did it, and the answer was lost. */
  readonly outcome: 'did' | 'repeated' | 'said' | 'refused' | 'trouble' | 'lost';
  readonly idempotencyKey?: string | undefined;
  readonly requestId?: string | undefined;
  readonly user?: string | undefined;
  /** All headers as they came, but for the value of the token. */
  readonly headers: Readonly<Record<string, string>>;
}

type Line = { readonly asked: LedgerEntry } | { readonly name: string; readonly value: unknown };

/**
 * What a partner knows and what it was asked. It is in a file before anything is answered, so that a partner which is killed
 * and started again has forgotten nothing, as a service with a database of its own.
 */
export class PartnerMemory {
  readonly #file: string;
  readonly #things = new Map<string, unknown>();
  readonly #asked: LedgerEntry[] = [];

  constructor(file: string) {
    this.#file = file;
    mkdirSync(dirname(file), { recursive: true });
    if (!existsSync(file)) return;
    // Killed in the middle of a line: what it says was never answered.
    const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
    for (const line of lines) this.#take(JSON.parse(line) as Line);
  }

  get asked(): readonly LedgerEntry[] {
    return this.#asked;
  }

  get(name: string): unknown {
    return this.#things.get(name);
  }

  set(name: string, value: unknown): void {
    this.#write({ name, value });
  }

  ask(entry: LedgerEntry): void {
    this.#write({ asked: entry });
  }

  #write(line: Line): void {
    this.#take(line);
    appendFileSync(this.#file, `${JSON.stringify(line)}\n`);
  }

  #take(line: Line): void {
    if ('asked' in line) this.#asked.push(line.asked);
    else this.#things.set(line.name, line.value);
  }
}
