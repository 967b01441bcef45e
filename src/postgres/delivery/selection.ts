import type { DeliverySelection } from '../../delivery/delivery-messages.ts';
import { OptionCheck } from '../../kernel/check-options.ts';

/** A message's id. Whatever is not one belongs to nothing. */
export const MESSAGE_ID: RegExp = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The selection as the functions below read it, as fields of a JSON text. */
export function selectionFields(selection: DeliverySelection): Readonly<Record<string, unknown>> {
  const { messageIds, url, host, path, group, scheduleId, queue, labels, flowKey, callerIp, from, to } = selection;
  const parts = { url, group, scheduleId, queue, flowKey, callerIp };
  const isPartGiven = Object.values(parts).some((part) => part !== undefined);
  return {
    ids: messageIds?.filter((id) => MESSAGE_ID.test(id)),
    parts: isPartGiven ? parts : undefined,
    host: host?.toLowerCase(),
    path,
    labels,
    from,
    to,
  };
}

/** The variables of a function that has its selection as `filter text`. */
export const SELECTION_VARIABLES = `f constant jsonb := filter::jsonb;
      t_ids constant uuid[] := case when f ? 'ids' then array(select i::uuid from jsonb_array_elements_text(f -> 'ids') i) end;
      t_parts constant jsonb := f -> 'parts';
      t_host constant text := f ->> 'host';
      t_path constant text := f ->> 'path';
      t_labels constant text[] := case when f ? 'labels' then array(select jsonb_array_elements_text(f -> 'labels')) end;
      t_from constant timestamptz := (f ->> 'from')::timestamptz;
      t_to constant timestamptz := (f ->> 'to')::timestamptz;`;

/** Whether a request (an expression) fits the variables. Those that are null vanish from the plan. */
export function requestFits(request: string): string {
  const host = `lower(substring(${request} ->> 'url' from '^[^:]+://([^/?#]*)'))`;
  const path = `coalesce(nullif(substring(${request} ->> 'url' from '^[^:]+://[^/?#]*([^?#]*)'), ''), '/')`;
  return `(t_parts is null or ${request} @> t_parts)
      and (t_host is null or t_host in (${host}, regexp_replace(${host}, ':[0-9]+$', '')))
      and (t_path is null or t_path = ${path})
      and (t_labels is null or ${request} -> 'labels' ?| t_labels)`;
}

/** Whether the time (an expression) is within the variables. */
export function timeFits(at: string): string {
  return `(t_from is null or ${at} >= t_from) and (t_to is null or ${at} <= t_to)`;
}

/** Refuses a cursor that none of our pages gave. */
export function readCursor(of: string, cursor: string | undefined, form: RegExp): RegExpExecArray | undefined {
  if (cursor === undefined) return undefined;
  const found = form.exec(cursor);
  if (found === null) {
    const check = new OptionCheck(of);
    check.refuse('cursor', cursor, 'pass what the page before gave as next');
    check.done();
  }
  return found ?? undefined;
}
