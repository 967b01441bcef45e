import { usageError } from './cli-error.ts';
import { parseDuration } from './duration.ts';

/** The options that were given, read as what they should be. A value that is something else ends the command with exit code 2. */
export class OptionValues {
  readonly #given: ReadonlyMap<string, readonly (string | true)[]>;

  constructor(given: ReadonlyMap<string, readonly (string | true)[]>) {
    this.#given = given;
  }

  has(name: string): boolean {
    return this.#given.has(name);
  }

  flag(name: string): boolean {
    return this.#given.get(name)?.at(-1) === true;
  }

  text(name: string): string | undefined {
    const value = this.#given.get(name)?.at(-1);
    return typeof value === 'string' ? value : undefined;
  }

  required(name: string, example: string): string {
    const value = this.text(name);
    if (value === undefined) throw usageError(`--${name} is missing; write for example --${name} ${example}`);
    return value;
  }

  /** All values of an option that may be given several times or as `a,b`. */
  list(name: string): readonly string[] {
    const given = this.#given.get(name) ?? [];
    return given.flatMap((value) => (value === true ? [] : value.split(',').map((one) => one.trim()))).filter(Boolean);
  }

  /** A whole number from `min`. */
  count(name: string, min = 1): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = Number(text);
    if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < min) {
      throw usageError(`--${name} is ${JSON.stringify(text)}; write a whole number from ${min}`);
    }
    return value;
  }

  durationMs(name: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const ms = parseDuration(text);
    if (ms === undefined) {
      throw usageError(`--${name} is ${JSON.stringify(text)}; write a time such as 30s, 15m, 2h or 7d`);
    }
    return ms;
  }
}
