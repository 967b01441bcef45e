import type { DeliverySelection } from '../../delivery/delivery-messages.ts';
import { DEFAULT_TENANT } from '../../delivery/tenants.ts';
import { OptionCheck } from '../../kernel/check-options.ts';
import { storedNameSql } from './tenant-sql.ts';

/** A message's id. Whatever is not one belongs to nothing. */
export const MESSAGE_ID: RegExp = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The selection as the functions below read it, as fields of a JSON text. */
export function selectionFields(selection: DeliverySelection): Readonly<Record<string, unknown>> {
  const { messageIds, host, path, labels, from, to, tenant } = selection;
  const values = Object.fromEntries(VALUES.map((name) => [name, listOf(selection[name])]));
  return {
    ...values,
    ids: messageIds?.filter((id) => MESSAGE_ID.test(id)),
    host: listOf(host)?.map((one) => one.toLowerCase()),
    path: listOf(path),
    labels,
    from,
    to,
    tenant,
  };
}

/** One value as a list of one. */
export function listOf<T extends string | number>(value: T | readonly T[] | undefined): readonly T[] | undefined {
  return value === undefined || typeof value === 'object' ? value : [value];
}

/** Fields of a request that are compared as they are, and those that are names of its tenant. */
const PLAIN = ['url', 'callerIp'] as const;
const NAMES = ['group', 'scheduleId', 'queue', 'flowKey'] as const;
const VALUES = [...PLAIN, ...NAMES] as const;
const LISTS = [...VALUES, 'host', 'path', 'labels'] as const;

/** A field of the filter `f` as an array; null: it is not given. */
export function arrayOf(field: string, type: string): string {
  return `case when f ? '${field}' then array(select i::${type} from jsonb_array_elements_text(f -> '${field}') i) end`;
}

/** The variables of a function that has its selection as `filter text`. */
export const SELECTION_VARIABLES: string = `f constant jsonb := filter::jsonb;
      t_ids constant uuid[] := ${arrayOf('ids', 'uuid')};
      ${LISTS.map((name) => `t_${name} constant text[] := ${arrayOf(name, 'text')};`).join('\n      ')}
      t_tenant constant text := f ->> 'tenant';
      t_from constant timestamptz := (f ->> 'from')::timestamptz;
      t_to constant timestamptz := (f ->> 'to')::timestamptz;`;

/** Whether the variables say nothing about a request: it need not be looked at. */
export const FITS_ANY_REQUEST: string = ['tenant', ...LISTS].map((name) => `t_${name} is null`).join(' and ');

/** Whether a request (an expression) fits the variables. Those that are null vanish from the plan. */
export function requestFits(request: string): string {
  const host = `lower(substring(${request} ->> 'url' from '^[^:]+://([^/?#]*)'))`;
  const path = `coalesce(nullif(substring(${request} ->> 'url' from '^[^:]+://[^/?#]*([^?#]*)'), ''), '/')`;
  const plain = PLAIN.map((name) => `(t_${name} is null or ${request} ->> '${name}' = any (t_${name}))`);
  const names = NAMES.map((name) => `(t_${name} is null or ${storedNameSql(request, name)} = any (t_${name}))`);
  return `(t_tenant is null or coalesce(${request} ->> 'tenant', '${DEFAULT_TENANT}') = t_tenant and ${request} is not null)
      and ${[...plain, ...names].join('\n      and ')}
      and (t_host is null or t_host && array[${host}, regexp_replace(${host}, ':[0-9]+$', '')])
      and (t_path is null or ${path} = any (t_path))
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
