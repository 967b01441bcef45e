import type { DeadDeliveries, DeadDelivery, DeadSelection } from '../../delivery/dead-deliveries.ts';
import type { Fields } from '../operator/read-record.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { API } from './audited.ts';
import { toDelivery } from './messages.ts';
import { listOf, readCursor, selectionFields } from './selection.ts';
import { bytesOf } from './shown-request.ts';
import { walkOn } from './walk-on.ts';

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const UUID_LENGTH = 36;
const DLQ_ID = new RegExp(`^${UUID}-\\d{1,9}$`, 'i');
const CURSOR = new RegExp(`^(\\d{4,}-[-\\dT:.]+Z)~(${UUID})$`, 'i');

/** The reason where none is given: a discard has one. */
const DELETED = 'deleted through the API';

/** Dead deliveries: the engine's dead letters of our type, with the answers of the log. */
export function deadDeliveries(sql: SqlRunner, schema: string): DeadDeliveries {
  const deadList = `with p as materialized (select ids, next from ${schema}.http_dead_pick($1::text))
    select ${schema}.http_dead(p.ids) as row from p
    union all select json_build_object('next', p.next)::text from p`;
  const deadDiscard = `select ${schema}.operator_discard(p.ids, p.handlers, false, 1::smallint, $2::text, $3::text) as n, p.next
    from ${schema}.http_dead_pick($1::text) p`;
  const deadReplay = `select ids::text as ids, next from ${schema}.http_dead_replay($1::text, $2::text, $3::text, $4::text)`;
  const list: DeadDeliveries['list'] = (selection, { limit, cursor }) => {
    const page = async (from: string | undefined): ReturnType<DeadDeliveries['list']> => {
      const rows = await sql.query(deadList, [filterOf('dead.list()', selection, limit, from)]);
      const read = rows.map((row) => JSON.parse(String(row['row'])) as Fields);
      const { next } = read.at(-1) as { readonly next: string | null };
      return { items: read.slice(0, -1).map(toDead), next: next ?? undefined };
    };
    return walkOn(cursor, page, ({ items }) => items.length === 0);
  };
  return {
    list,
    get: async (dlqId) => (await list({ dlqIds: [dlqId] }, { limit: 1 })).items[0],
    discard: (selection, { limit, cursor }, { actor, reason = DELETED } = API) => {
      const step = async (from: string | undefined): ReturnType<DeadDeliveries['discard']> => {
        const filter = filterOf('dead.discard()', selection, limit, from);
        const [row] = await sql.query(deadDiscard, [filter, actor, reason]);
        return { count: Number(row?.['n']), next: nextOf(row) };
      };
      return walkOn(cursor, step, ({ count }) => count === 0);
    },
    replay: (selection, { limit, cursor }, rules, { actor, reason } = API) => {
      const changed = rules === undefined ? null : JSON.stringify(rules);
      const step = async (from: string | undefined): ReturnType<DeadDeliveries['replay']> => {
        const filter = filterOf('dead.replay()', selection, limit, from);
        const [row] = await sql.query(deadReplay, [filter, changed, actor, reason ?? null]);
        return { messageIds: JSON.parse(String(row?.['ids'])) as readonly string[], next: nextOf(row) };
      };
      return walkOn(cursor, step, ({ messageIds }) => messageIds.length === 0);
    },
  };
}

function filterOf(of: string, selection: DeadSelection, limit: number, cursor: string | undefined): string {
  const [, before, below] = readCursor(of, cursor, CURSOR) ?? [];
  const { dlqIds, responseStatus } = selection;
  const dead = dlqIds?.filter((id) => DLQ_ID.test(id)).map((id) => id.toLowerCase());
  const messageIds = dead === undefined ? selection.messageIds : dead.map((id) => id.slice(0, UUID_LENGTH));
  const fields = selectionFields({ ...selection, messageIds });
  return JSON.stringify({ ...fields, dead, status: listOf(responseStatus), limit, before, below });
}

/**
 * Puts dead deliveries back in line, as operators do: in place, under their ids. With `p_rules`, a JSON object that takes the place of what
 * the message says, its payload is edited, and its version raised.
 */
export function deadReplayFunction(schema: string): string {
  return `create function ${schema}.http_dead_replay(filter text, p_rules text, p_actor text, p_reason text, out ids json, out next text) language plpgsql as $body$
    declare
      p record;
      i int;
      done uuid[] := '{}';
    begin
      select * into p from ${schema}.http_dead_pick(filter);
      next := p.next;
      if p_rules is null then
        -- Locked before it is told which: what another replays meanwhile is the other's.
        with locked as (
          select d.id, k.place from ${schema}.delivery d join unnest(p.ids, p.handlers) with ordinality as k (id, handler, place)
            on d.id = k.id and d.handler = k.handler
          where d.state = 2 order by d.id, d.handler for update of d)
        select coalesce(array_agg(l.id order by l.place), '{}') into done from locked l;
        perform ${schema}.operator_replay(p.ids, p.handlers, null, p_actor, p_reason);
      else
        for i in 1 .. cardinality(p.ids) loop
          if ${schema}.operator_edit(p.ids[i], (select d.payload || p_rules::jsonb from ${schema}.delivery d
              where d.id = p.ids[i] and d.handler = p.handlers[i]), null, null, p_actor,
              coalesce(p_reason, 'rules of the retry')) ->> 'kind' = 'edited' then
            done := done || p.ids[i];
          end if;
        end loop;
      end if;
      ids := to_json(done);
    end $body$`;
}

function nextOf(row: Record<string, unknown> | undefined): string | undefined {
  return typeof row?.['next'] === 'string' ? row['next'] : undefined;
}

function toDead(fields: Fields): DeadDelivery {
  const { responseBase64, ...rest } = fields;
  const dead = toDelivery(rest) as DeadDelivery;
  return { ...dead, failedAt: new Date(String(rest['failedAt'])), ...bodyOf(responseBase64) };
}

/** As text where it is UTF-8, in base64 where it is not. */
function bodyOf(base64: unknown): Pick<DeadDelivery, 'responseBody' | 'responseBodyBase64'> {
  if (typeof base64 !== 'string') return {};
  const plain = base64.replaceAll('\n', '');
  try {
    return { responseBody: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytesOf(plain)) };
  } catch {
    return { responseBodyBase64: plain };
  }
}
