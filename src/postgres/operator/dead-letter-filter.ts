import { parseDeliveryId, isBadId } from '../../operator/delivery-id.ts';
import type { BulkFilter } from '../../operator/bulk.ts';
import type { PayloadMatch } from '../../operator/operator.ts';
import type { SqlParam } from '../sql-runner.ts';
import { hiddenBySender, mayMeetHidden, searchedPayload } from './searched-payload.ts';

/** A condition with its parameters. */
export interface Condition {
  readonly text: string;
  readonly params: readonly SqlParam[];
}

/**
 * Whether a row `l` of a branch of the view `dead_letters` fits, with parameters from `$<first>` on. Only what is asked for is in the
 * text: with "or it is null" beside it, a plan that is kept cannot use the indexes over groups and payloads.
 */
export function deadLetterCondition(filter: BulkFilter, first: number): Condition {
  const parts: string[] = [];
  const params: SqlParam[] = [];
  const add = (value: SqlParam | undefined, part: (param: string) => string): void => {
    if (value === undefined) return;
    parts.push(part(`$${first + params.length}::text${Array.isArray(value) ? '[]' : ''}`));
    params.push(value);
  };
  add(filter.service, (p) => `l.service = ${p}`);
  add(filter.handler, (p) => `(l.handler = ${p} or l.service || '/' || l.handler = ${p})`);
  add(filter.type, (p) => `l.type = ${p}`);
  add(filter.key, (p) => `l.key = ${p}`);
  add(filter.since?.toISOString(), (p) => `l.updated_at >= ${p}::timestamptz`);
  add(filter.until?.toISOString(), (p) => `l.updated_at < ${p}::timestamptz`);
  add(filter.errorCode, (p) => `l.error ->> 'code' = ${p}`);
  add(filter.group, (p) => `l.error ->> 'group' = ${p}`);
  for (const match of filter.payload ?? []) add(payloadPattern(match), (p) => `l.payload @> ${p}::jsonb`);
  if (mayMeetHidden(filter.payload)) parts.push(`not ${hiddenBySender('l')}`);
  add(filter.ids && messageIds(filter.ids), (p) => `l.message_id = any (${p}::uuid[])`);
  add(filter.ids, (p) => `(l.id = any (${p}) or l.message_id::text = any (${p}))`);
  const words = `lower(concat_ws(' ', l.id, l.type, l.key, l.error ->> 'message', ${searchedPayload('l')}))`;
  add(filter.search, (p) => `position(lower(${p}) in ${words}) > 0`);
  return { text: parts.length === 0 ? 'true' : parts.join(' and '), params };
}

/** What a payload contains that has the value at that place. */
function payloadPattern({ path, value }: PayloadMatch): string {
  return JSON.stringify(path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value));
}

function messageIds(ids: readonly string[]): readonly string[] {
  return ids.map((id) => parseDeliveryId(id)).flatMap((id) => (isBadId(id) ? [] : [id.messageId]));
}
