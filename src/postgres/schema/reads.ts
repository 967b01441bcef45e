import { messageListFunction } from '../operator/message-list-function.ts';
import { messageTabsFunction } from '../operator/message-tabs.ts';
import { readFunctions } from '../operator/read-functions.ts';
import { sealedIndex } from '../operator/sealed-note.ts';
import { HISTORY_SLOTS } from './messages.ts';

/**
 * What lists of messages stand on. The indexes hold only what has failed, was replayed, or was given up: no other message pays for them but by the
 * look at the condition.
 */
export function messageReads(schema: string): readonly string[] {
  return [
    sealedIndex(schema),
    `create index delivery_dead on ${schema}.delivery (id, handler) where state = 2`,
    // The verbs on a key look its dead letters up several times each.
    `create index delivery_dead_key on ${schema}.delivery (key) where state = 2`,
    ...slots().map(
      (slot) => `create index delivered_${slot}_given_up on ${schema}.delivered_${slot} (id) where outcome > 0`,
    ),
    ...slots().map(
      (slot) =>
        `create index delivered_${slot}_replayed on ${schema}.delivered_${slot} (done_at) where outcome = 0 and failure_history <> '[]'`,
    ),
    messageListFunction(schema),
    messageTabsFunction(schema),
    historySearch(schema),
    ...readFunctions(schema),
  ];
}

function slots(): readonly number[] {
  return Array.from({ length: HISTORY_SLOTS }, (_, slot) => slot);
}

/**
 * Indexes the history by key and payload, or takes that back; by the owner of the tables. Not by default: it makes a finished
 * delivery cost several times as much to write (docs/decisions/0019).
 */
function historySearch(schema: string): string {
  return `create function ${schema}.history_search(is_on boolean) returns void language plpgsql as $body$
    begin
      if is_on then
        ${each((slot) => `create index if not exists delivered_${slot}_key on ${schema}.delivered_${slot} (key) where key is not null`)};
        ${each((slot) => `create index if not exists delivered_${slot}_payload on ${schema}.delivered_${slot} using gin (payload jsonb_path_ops) with (fastupdate = off)`)};
      else
        ${each((slot) => `drop index if exists ${schema}.delivered_${slot}_key, ${schema}.delivered_${slot}_payload`)};
      end if;
    end $body$`;
}

function each(statement: (slot: number) => string): string {
  return slots().map(statement).join('; ');
}
