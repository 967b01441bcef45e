/** How a command ended, as the shell is told: all well · it did not work, or a problem was found · it was called wrongly. */
export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;

/** A problem that is told to the person in one sentence, with what to do next. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: number;

  constructor(message: string, options: ErrorOptions & { readonly exitCode?: number } = {}) {
    super(message, options);
    this.exitCode = options.exitCode ?? EXIT.failed;
  }
}

/** The command was called wrongly: exit code 2. */
export function usageError(message: string): CliError {
  return new CliError(message, { exitCode: EXIT.usage });
}
