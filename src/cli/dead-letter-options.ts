import { payloadPath, payloadValue } from '../operator/message-query.ts';
import type { DeadLetterFilter, Operator, PayloadMatch } from '../operator/operator.ts';
import type { DeadLetter, DeadLetterStatus } from '../operator/operator-records.ts';
import { usageError } from './cli-error.ts';
import type { Invocation, OptionSpec } from './command.ts';
import { parseDuration } from './duration.ts';

/** Options that say which dead letters are meant. */
export const FILTER_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  service: { value: '<name>', summary: 'whose handler failed' },
  handler: { value: '<name>', summary: 'the handler, or service/handler' },
  type: { value: '<type>', summary: 'the type of the message' },
  key: { value: '<key>', summary: 'the key of the message' },
  since: { value: '<time>', summary: 'failed within this time (15m, 2h), or after a date' },
  'error-code': { value: '<code>', summary: 'the code of the last error' },
  group: { value: '<id>', summary: 'the error group, from holdfast groups' },
  payload: { value: '<path=value>', summary: 'a value in the payload: customer.id=42', multiple: true },
  search: { value: '<text>', summary: 'part of the id, type, key, error or payload' },
};

/** The names of those that were given. */
export function givenFilters({ options }: Pick<Invocation, 'options'>): readonly string[] {
  return Object.keys(FILTER_OPTIONS).filter((name) => options.has(name));
}

/** Which dead letters are meant. */
export function readFilter({ io, options }: Pick<Invocation, 'io' | 'options'>): DeadLetterFilter {
  const [group, payload] = [options.text('group'), payloadOf(options.list('payload'))];
  return {
    service: options.text('service'),
    handler: options.text('handler'),
    type: options.text('type'),
    key: options.text('key'),
    since: sinceOf(options.text('since'), io.effects.now().wallMs),
    errorCode: options.text('error-code'),
    search: options.text('search'),
    ...(group !== undefined && { group }),
    ...(payload.length > 0 && { payload }),
  };
}

function payloadOf(texts: readonly string[]): readonly PayloadMatch[] {
  return texts.map((text) => {
    const [, place = '', value = ''] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
    const path = payloadPath(place);
    if (path === undefined) throw usageError(`--payload is ${JSON.stringify(text)}; write for example customer.id=42`);
    const quoted = /^"(.*)"$/s.exec(value)?.[1];
    return { path, value: quoted ?? payloadValue(value) };
  });
}

/** The time that `--since` means: so long ago, or a date. */
export function sinceOf(text: string | undefined, nowMs: number): Date | undefined {
  if (text === undefined) return undefined;
  const ago = parseDuration(text);
  const at = ago === undefined ? Date.parse(text) : nowMs - ago;
  if (!/^\d/.test(text) || Number.isNaN(at)) {
    throw usageError(
      `--since is ${JSON.stringify(text)}; write a time such as 15m or 2h, or a date such as 2026-01-31T12:00Z`,
    );
  }
  // Nothing of ours is older, and the database knows no year -270,000.
  return new Date(Math.max(0, at));
}

/** How many are asked for at once. */
const PAGE = 1_000;

/** The dead letters that fit, page after page, at most `limit`. */
export async function collectDeadLetters(
  operator: Operator,
  filter: DeadLetterFilter & { readonly status?: DeadLetterStatus | undefined },
  limit: number,
): Promise<{ readonly items: readonly DeadLetter[]; readonly isMore: boolean }> {
  const items: DeadLetter[] = [];
  let cursor: string | undefined;
  do {
    const page = await operator.deadLetters({ ...filter, limit: Math.min(PAGE, limit - items.length), cursor });
    items.push(...page.items);
    cursor = page.next;
  } while (cursor !== undefined && items.length < limit);
  return { items, isMore: cursor !== undefined };
}
