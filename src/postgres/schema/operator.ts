import { auditChain } from '../operator/audit-chain.ts';
import { messageFunctions } from '../operator/message-functions.ts';
import { operatorFunctions } from '../operator/functions.ts';
import { operatorViews } from '../operator/views.ts';

/** What operators read and call: the views `outbox` and `dead_letters`, the audit, and the function `outbox_replay`. */
export function operatorSurface(schema: string): readonly string[] {
  return [
    // What was changed by hand, by whom and why. tx: by which its entries are found when they are linked.
    `create table ${schema}.audit (
      id bigint generated always as identity primary key,
      at timestamptz not null default clock_timestamp(),
      actor text not null,
      verb text not null,
      reason text,
      message_id uuid,
      handler smallint,
      details jsonb not null default '{}',
      tx xid8 not null default pg_current_xact_id())`,
    ...auditChain(schema),
    `create index audit_message on ${schema}.audit (message_id)`,
    // Payloads as they were before an edit.
    `create table ${schema}.edit (
      id uuid not null, version int not null, payload jsonb not null, edited_at timestamptz not null default clock_timestamp(),
      actor text not null, reason text, primary key (id, version))`,
    `create index edit_at on ${schema}.edit (edited_at)`,
    ...operatorViews(schema),
    ...operatorFunctions(schema),
    ...messageFunctions(schema),
  ];
}
