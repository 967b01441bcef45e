/** The application's own tables. What the engine keeps, commands and messages, is in the schema `holdfast`. */
export const GROWTH_TABLES = `
  create schema if not exists growth;
  create table if not exists growth.workflow_run (
    run_id text primary key,
    user_id text not null,
    org_id text,
    mission_id text not null,
    mission_instance_id text not null,
    request_id text not null,
    created_at timestamptz not null default now());
  -- Everything that was made at the Git host, or may have been: a row is there before the host is asked.
  create table if not exists growth.git_resource (
    run_id text not null,
    kind text not null check (kind in ('user', 'repo', 'file')),
    name text not null,
    state text not null check (state in ('wanted', 'there')),
    primary key (run_id, kind, name));
  create table if not exists growth.plan (run_id text primary key, title text not null, steps text[] not null);

  -- What is known of missions: how far each stage brings one, and what each signal counts.
  create table if not exists growth.mission_stage (
    mission_id text not null, stage_id text not null, progress int not null, next_step text,
    primary key (mission_id, stage_id));
  insert into growth.mission_stage values
    ('career', 'interview', 30, 'Draft a plan'), ('career', 'plan', 60, 'Write it down'), ('career', 'document', 100, null)
    on conflict do nothing;
  create table if not exists growth.signal (signal_id text primary key, weight numeric not null);
  insert into growth.signal values ('speaking', 0.5), ('planning', 0.3), ('writing', 0.2) on conflict do nothing;

  -- The record of canonical events, and what the projectors make of them.
  create table if not exists growth.grow_event (
    dedupe_key text primary key,
    event_id uuid not null,
    type text not null,
    source text not null,
    user_id text not null,
    request_id text,
    payload jsonb not null,
    recorded_at timestamptz not null default now());
  create table if not exists growth.score (
    user_id text not null, signal_id text not null, points numeric not null, occurred_at timestamptz not null,
    event_id uuid not null, primary key (user_id, signal_id));
  create table if not exists growth.service_session (
    service_id text not null, external_id text not null, user_id text not null, mission_instance_id text, status text not null,
    event_id uuid not null, primary key (service_id, external_id));
  create table if not exists growth.artifact (
    mission_instance_id text not null, service_id text not null, external_id text not null, type text not null,
    title text not null, event_id uuid not null, primary key (mission_instance_id, service_id, external_id, type));
  create table if not exists growth.mission (
    mission_instance_id text primary key, mission_id text not null, user_id text not null, progress int not null);
  create table if not exists growth.stage (
    mission_instance_id text not null, stage_id text not null, status text not null, event_id uuid not null,
    primary key (mission_instance_id, stage_id));
  create table if not exists growth.suggestion (
    mission_instance_id text not null, stage_id text not null, suggestion text not null, event_id uuid not null,
    primary key (mission_instance_id, stage_id, suggestion));

  -- The relations that the retry plan of this backend names, over the tables of the engine.
  -- A command has its key as it was given; of a request only a hash of the key is stored, and of its user one of the user.
  create or replace view growth.idempotency_keys as
    select c.idempotency_key as key, split_part(c.idempotency_key, ':', 1) as domain, c.correlation ->> 'userId' as user_id,
      case when c.state = 'done' then 'completed' when c.closed_at is not null or c.state in ('blocked', 'dlq') then 'failed'
        else 'processing' end as status,
      encode(c.request_hash, 'hex') as request_hash, c.answer as response, c.error ->> 'message' as error, c.expires_at,
      c.created_at, c.updated_at
    from holdfast.command c
    union all
    select i.id, i.domain, i.person, case i.status when 'unknown' then 'processing' else i.status end, i.fingerprint,
      i.head::jsonb || jsonb_build_object('body', convert_from(i.body, 'UTF8')), case i.status when 'failed' then i.head end,
      i.expires_at, i.created_at, i.updated_at
    from holdfast.idempotency i;
  create or replace view growth.grow_event_dlq as
    select id, source_stream, source_message_id, payload, last_error as error, attempts, last_attempt_at, status, created_at,
      updated_at
    from holdfast.dead_letters where service = 'projections';
  create or replace view growth.grow_event_projector_runs as
    select event_id, projector, status, attempt, error, started_at, completed_at
    from holdfast.run_log where service = 'projections';
`;
