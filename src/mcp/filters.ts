import { queryTime } from '../operator/message-query.ts';
import type { DeadLetterFilter } from '../operator/operator.ts';
import { refusal, textOf, type ToolArguments, type ToolRefusal } from './tool.ts';

/** Which dead letters are meant. */
export function deadLetterFilter(args: ToolArguments, nowMs: number): DeadLetterFilter | ToolRefusal {
  const since = textOf(args, 'since');
  const at = since === undefined ? undefined : queryTime(since, nowMs);
  if (since !== undefined && at === undefined) {
    return refusal('since is no time', 'write 15m, 2h or 7d, or a date such as 2026-01-31T12:00Z');
  }
  const fields = {
    service: textOf(args, 'service'),
    handler: textOf(args, 'handler'),
    type: textOf(args, 'type'),
    key: textOf(args, 'key'),
    since: at,
    errorCode: textOf(args, 'error_code'),
    group: textOf(args, 'group'),
    search: textOf(args, 'search'),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
