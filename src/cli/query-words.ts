import { type MessageQuery, parseMessageQuery } from '../operator/message-query.ts';
import { usageError } from './cli-error.ts';
import type { Io } from './io.ts';

/**
 * The query that stands on the command line. The shell has taken the quotes away, so a word with spaces is one value. What cannot
 * be read ends the command with exit code 2.
 */
export function queryOf(words: readonly string[], { effects }: Pick<Io, 'effects'>): MessageQuery {
  const text = words.map(requoted).join(' ');
  const query = parseMessageQuery(text, effects.now().wallMs);
  const [problem] = query.problems;
  if (problem !== undefined) throw usageError(problem.problem);
  return query;
}

function requoted(word: string): string {
  const colon = word.indexOf(':');
  if (colon < 0 || !/\s/.test(word) || word.includes('"')) return word;
  return `${word.slice(0, colon)}:"${word.slice(colon + 1)}"`;
}
