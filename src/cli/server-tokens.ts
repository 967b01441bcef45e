import { type Role, ROLES } from '../server/route.ts';
import type { Token } from '../server/sessions.ts';
import { usageError } from './cli-error.ts';
import type { Io } from './io.ts';
import type { OptionValues } from './option-values.ts';

const FORM = 'admin:ann=<secret of 16 characters or more>';

/** Who may come in: `--token role:actor=secret`, repeatable, and HOLDFAST_TOKENS, the same with commas between. */
export function serverTokens(options: OptionValues, { env }: Pick<Io, 'env'>): readonly Token[] {
  const inEnvironment = (env['HOLDFAST_TOKENS'] ?? '').split(',').map((one) => one.trim());
  return [...options.list('token'), ...inEnvironment.filter(Boolean)].map(readToken);
}

function readToken(text: string): Token {
  const [, role = '', actor = '', token = ''] = /^(\w+):([^=]+)=(.+)$/.exec(text) ?? [];
  // What was written is not shown: it holds the secret.
  if (!ROLES.some((one) => one === role)) throw usageError(`a token is written ${FORM}; roles are ${ROLES.join(', ')}`);
  if (token.length < 16) throw usageError(`the token of ${actor} has ${token.length} characters; write ${FORM}`);
  return { role: role as Role, actor: actor.trim(), token };
}
