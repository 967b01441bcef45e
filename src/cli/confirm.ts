import { CliError } from './cli-error.ts';
import type { Invocation } from './command.ts';

/** What happens without `--yes` where nobody can be asked. */
export type WithoutAnswer = 'refuse' | 'go-on';

/**
 * Whether to go on: with `--yes`, or when the person says so. Where nobody can be asked, what cannot be undone is refused and
 * the rest goes on.
 */
export async function confirm(
  { io, options }: Pick<Invocation, 'io' | 'options'>,
  question: string,
  withoutAnswer: WithoutAnswer,
): Promise<boolean> {
  if (options.flag('yes')) return true;
  if (!io.canAsk) {
    if (withoutAnswer === 'go-on') return true;
    const what = `${question.slice(0, 1).toLowerCase()}${question.slice(1, -1)}`;
    throw new CliError(`would ${what}, but nobody is here to say yes; pass --yes if that is meant`);
  }
  const answer = await io.ask(`${question} [y/N] `);
  return /^y(?:es)?$/i.test(answer.trim());
}
