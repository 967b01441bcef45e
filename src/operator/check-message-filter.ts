import { OptionCheck } from '../kernel/check-options.ts';
import { checkLimit, checkPayloadMatches, checkText, checkTime, MAX_PAGE } from './check-request.ts';
import { MESSAGE_TABS, type MessageFilter } from './message-list.ts';
import type { Paging, PayloadMatch } from './operator.ts';

const TEXTS = ['type', 'key', 'service', 'handler', 'error'] as const;
const CURSOR = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Refuses a filter of messages that is not one, all wrong fields at once. Throws `INVALID_OPTIONS`. */
export function checkMessageFilter(filter: MessageFilter & Paging): void {
  const check = new OptionCheck('messages()');
  if (!check.object('filter', filter, 'pass an object such as { status: "failed" }')) check.done();
  check.known(filter, ['status', ...TEXTS, 'payload', 'since', 'until', 'limit', 'cursor']);
  const { status, payload, since, until, limit, cursor } = filter;
  if (status !== undefined) check.word('status', status, MESSAGE_TABS);
  for (const name of TEXTS) checkText(check, name, filter[name]);
  checkTime(check, 'since', since);
  checkTime(check, 'until', until);
  checkPayloadMatches(check, 'payload', payload);
  checkLimit(check, limit, MAX_PAGE);
  if (cursor !== undefined && !(typeof cursor === 'string' && CURSOR.test(cursor))) {
    check.refuse('cursor', cursor, 'pass what the page before gave as next');
  }
  check.done();
}

type Tree = Map<string, Tree | PayloadMatch['value']>;

/** The JSON document all payloads contain that fit; nothing where two values contradict each other, and none can. */
export function payloadDocument(matches: readonly PayloadMatch[]): unknown {
  const root: Tree = new Map();
  for (const { path, value } of matches) {
    let at = root;
    for (const name of path.slice(0, -1)) {
      const next = at.get(name) ?? new Map<string, never>();
      if (!(next instanceof Map)) return undefined;
      at.set(name, next);
      at = next;
    }
    const name = path.at(-1) ?? '';
    if (at.has(name) && at.get(name) !== value) return undefined;
    at.set(name, value);
  }
  return plain(root);
}

function plain(tree: Tree): unknown {
  return Object.fromEntries([...tree].map(([name, value]) => [name, value instanceof Map ? plain(value) : value]));
}
