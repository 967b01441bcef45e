/** Something that is not set, or set to what cannot be; the message names all of it. */
export class SettingsError extends Error {}

/** Reads what a program is told by its environment, and remembers what is wrong with it. An empty variable is one that is not set. */
export class Environment {
  readonly #env: NodeJS.ProcessEnv;
  readonly #problems: string[] = [];

  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
  }

  /** What must be set; `example` is shown where it is not. */
  text(name: string, example: string): string {
    const value = this.#env[name] ?? '';
    if (value === '') this.#problems.push(`${name} is not set; for example ${name}=${example}`);
    return value;
  }

  number(name: string, normal: number, [min, max]: readonly [number, number]): number {
    const given = this.#env[name];
    const value = given ? Number(given) : normal;
    if (!(value >= min && value <= max)) this.#problems.push(`${name} is "${given}"; write a number, ${min} to ${max}`);
    return value;
  }

  /** An address of HTTP with its port, such as `http://127.0.0.1:3101`. */
  url(name: string, normal: string): URL {
    const given = this.#env[name] || normal;
    const url = URL.parse(given);
    if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
    this.#problems.push(`${name} is "${given}"; write an address, for example ${name}=${normal}`);
    return new URL(normal);
  }

  /** Throws `SettingsError` if anything was wrong. */
  check(): void {
    if (this.#problems.length > 0) throw new SettingsError(this.#problems.join('\n'));
  }
}
