import type { ProviderRetryEvent } from 'holdfast/stream';
import type { Pool } from 'pg';
import type { HistoryEntry } from './turn-event.ts';

/** How far a turn has come; saved before anybody is told. */
export interface TurnProgress {
  /** Retries so far, the one that is waited for included. */
  readonly retries: number;
  readonly waitedMs: number;
  /** What has been shown of the answer. */
  readonly text: string;
  readonly wait?: { readonly retry: ProviderRetryEvent; readonly dueAtMs: number };
}

/** A conversation as it was saved. */
export interface SavedConversation {
  readonly id: string;
  readonly history: readonly HistoryEntry[];
  /** The turn that had not ended. */
  readonly open: { readonly turnId: string; readonly progress: TurnProgress } | null;
}

/** Where conversations outlive the process. */
export interface ChatStore {
  load(limit: number): Promise<readonly SavedConversation[]>;
  /** Adds the question and opens its turn. */
  begin(conversationId: string, question: HistoryEntry): Promise<void>;
  progress(turnId: string, progress: TurnProgress): Promise<void>;
  /** Adds what the turn ended with, an error too, and closes it. */
  end(conversationId: string, turnId: string, entries: readonly HistoryEntry[]): Promise<void>;
  forget(conversationId: string): Promise<void>;
}

/** For tests that need nothing of it. */
export const NO_STORE: ChatStore = {
  load: async () => [],
  begin: async () => {},
  progress: async () => {},
  end: async () => {},
  forget: async () => {},
};

const TABLES = `
  create schema if not exists chat;
  create table if not exists chat.entry (
    id bigint generated always as identity primary key, conversation_id text not null, entry jsonb not null);
  create index if not exists entry_conversation on chat.entry (conversation_id);
  create table if not exists chat.turn (
    turn_id text primary key, conversation_id text not null, progress jsonb not null);
`;
const LOAD = `
  with latest as (select conversation_id, max(id) as last from chat.entry group by 1 order by 2 desc limit $1)
  select conversation_id as id, jsonb_agg(entry order by id) as history,
    (select jsonb_build_object('turnId', turn_id, 'progress', progress)
       from chat.turn where turn.conversation_id = entry.conversation_id) as open
  from chat.entry join latest using (conversation_id) group by conversation_id, last order by last`;
const BEGIN = `
  with opened as (insert into chat.turn (turn_id, conversation_id, progress) values ($3, $1, $4))
  insert into chat.entry (conversation_id, entry) values ($1, $2)`;
const END = `
  with closed as (delete from chat.turn where turn_id = $3)
  insert into chat.entry (conversation_id, entry)
  select $1, entry from jsonb_array_elements($2::jsonb) with ordinality as one (entry, place) order by place`;
const FORGET = `
  with turns as (delete from chat.turn where conversation_id = $1) delete from chat.entry where conversation_id = $1`;

export const NOTHING_YET: TurnProgress = { retries: 0, waitedMs: 0, text: '' };

/** Conversations in PostgreSQL; makes its tables. Each step is one statement, so a process that dies leaves all of it or nothing. */
export async function postgresChats(pool: Pool): Promise<ChatStore> {
  await pool.query(TABLES);
  return {
    async load(limit) {
      return (await pool.query<SavedConversation>(LOAD, [limit])).rows;
    },
    async begin(conversationId, question) {
      await pool.query(BEGIN, [conversationId, JSON.stringify(question), question.turnId, JSON.stringify(NOTHING_YET)]);
    },
    async progress(turnId, progress) {
      await pool.query('update chat.turn set progress = $2 where turn_id = $1', [turnId, JSON.stringify(progress)]);
    },
    async end(conversationId, turnId, entries) {
      await pool.query(END, [conversationId, JSON.stringify(entries), turnId]);
    },
    async forget(conversationId) {
      await pool.query(FORGET, [conversationId]);
    },
  };
}
