import type { Io } from './io.ts';

/** Colours text, or leaves it as it is. */
export interface Paint {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
}

/** Colours for a person at a terminal who has not asked for none (NO_COLOR, TERM=dumb); otherwise plain text. */
export function paintFor({ isTty, env }: Pick<Io, 'isTty' | 'env'>): Paint {
  const isPlain = !isTty || (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb';
  const code =
    (on: number, off: number) =>
    (text: string): string =>
      isPlain ? text : `\u001B[${on}m${text}\u001B[${off}m`;
  return { bold: code(1, 22), dim: code(2, 22), red: code(31, 39), green: code(32, 39), yellow: code(33, 39) };
}
