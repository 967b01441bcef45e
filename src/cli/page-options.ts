import type { Page, Paging } from '../operator/operator.ts';
import { nearest } from '../kernel/check-options.ts';
import { usageError } from './cli-error.ts';
import type { OptionSpec } from './command.ts';
import type { OptionValues } from './option-values.ts';
import type { Output } from './output.ts';

const LIMIT = 50;

/** Options of every list that comes in parts. */
export const PAGE_OPTIONS: Readonly<Record<'limit' | 'cursor', OptionSpec>> = {
  limit: { value: '<n>', summary: 'how many, up to 1000', default: String(LIMIT) },
  cursor: { value: '<text>', summary: 'go on from where the last list ended' },
};

/** Which part is asked for. */
export function pageOf(options: OptionValues): Required<Paging> & { readonly limit: number } {
  return { limit: options.count('limit') ?? LIMIT, cursor: options.text('cursor') };
}

/** Says that there is more, if there is. */
export function sayMore(
  output: Output,
  { next, note }: Pick<Page<unknown>, 'next'> & { readonly note?: string | undefined },
): void {
  if (note !== undefined) output.line(`\n${note}`);
  if (next !== undefined) output.line(`\nMore: add --cursor ${next}, or a larger --limit.`);
}

/** An option that is one of a few words. */
export function wordOf<Word extends string>(
  options: OptionValues,
  name: string,
  words: readonly Word[],
): Word | undefined {
  const text = options.text(name);
  if (text === undefined) return undefined;
  const word = words.find((one) => one === text);
  if (word === undefined) throw usageError(`--${name} is ${JSON.stringify(text)}; ${instead(text, words)}`);
  return word;
}

/** The verb after the name of a command. */
export function subVerb<Verb extends string>(command: string, verbs: readonly Verb[], word: string): Verb {
  const verb = verbs.find((one) => one === word);
  if (verb === undefined) throw usageError(`${command} cannot ${JSON.stringify(word)}; ${instead(word, verbs)}`);
  return verb;
}

function instead(word: string, words: readonly string[]): string {
  const near = nearest(word, words);
  return near === undefined ? `write ${words.join(', ')}` : `did you mean ${near}?`;
}
