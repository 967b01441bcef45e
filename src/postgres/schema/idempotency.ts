/** The database's clock at this moment, in whole milliseconds as answers carry it. Not `now()`: that stands still in a commit. */
export const CLOCK = `date_trunc('milliseconds', clock_timestamp())`;

/** A time as milliseconds of the epoch, as text. */
export function epochMs(time: string): string {
  return `(extract(epoch from ${time}) * 1000)::bigint::text`;
}

/**
 * What was asked for under a key and what was answered. The key itself is not here, nor anything of the request but its hash.
 *
 *   id           hash of service, domain, person and key
 *   person       hash of who asked
 *   fingerprint  hash of the request
 *   status       `processing` with a lease that has ended means that nobody knows the outcome, as `unknown` does
 *   owner, run   who claimed last, and how many claims were granted; an end by another owner is late
 *   head, body   the reply, an error's too; null while there is none, and when it is forgotten
 *   has_reply    for those who may see that there is a reply, and not read it
 *   forget       the person was erased while it ran: its reply is not kept
 *   reap_at      `expires_at` as it was at the claim. Renewals and the end move `expires_at`; were that indexed, each of them
 *                would write to all indexes
 */
export function idempotencyTable(schema: string): readonly string[] {
  return [
    // A row grows when its run ends, and stays in its page if there is room, so that no index is written to: 98 of 100 did with
    // replies of 500 bytes and 64 runs at once, 79 in full pages. Half-full pages are little better and take a half more space.
    `create table ${schema}.idempotency (
      id text collate "C" primary key,
      domain text not null,
      person text collate "C",
      status text not null check (status in ('processing', 'completed', 'failed', 'unknown')),
      fingerprint text not null,
      owner text not null,
      run int not null check (run > 0),
      lease_until timestamptz not null,
      forget boolean not null default false,
      head text,
      body bytea,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      expires_at timestamptz not null,
      reap_at timestamptz not null,
      has_reply boolean not null generated always as (head is not null) stored,
      check (head is null or (status in ('completed', 'failed') and not forget)),
      check (body is null or head is not null)
    ) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05)`,
    `create index idempotency_person on ${schema}.idempotency (person) where person is not null`,
    `create index idempotency_reap on ${schema}.idempotency (reap_at)`,
    claimFunction(schema),
    endFunction(schema),
  ];
}

/**
 * `claimRecord` of `record-rules.ts`. `kind` is the answer's, with the status in place of `finished`; `n` is its number. What needs
 * no write is answered from what was read. What does is locked and looked at again: others may have been faster, and a lease
 * counts from when it is granted, however long that had to wait.
 */
function claimFunction(schema: string): string {
  return `create function ${schema}.idempotency_claim(
      claim_id text, claim_domain text, claim_person text, claim_fingerprint text, claim_owner text,
      lease_ms text, keep_ms text, takes_unknown text,
      out kind text, out n text, out reply_head text, out reply_body text, out finished text, out expires text)
    language plpgsql as $body$
    declare
      r record;
      t timestamptz;
      is_known boolean;
      is_mine boolean;
      is_locked boolean := false;
      lease constant interval := lease_ms::float8 * interval '1 millisecond';
      keep constant interval := keep_ms::float8 * interval '1 millisecond';
    begin
      loop
        select * into r from ${schema}.idempotency i where i.id = claim_id;
        t := ${CLOCK};
        if not found then
          insert into ${schema}.idempotency (id, domain, person, status, fingerprint, owner, run, lease_until,
            created_at, updated_at, expires_at, reap_at)
          values (claim_id, claim_domain, claim_person, 'processing', claim_fingerprint, claim_owner, 1, t + lease,
            t, t, t + keep, t + keep)
          on conflict do nothing;
          continue when not found;
          kind := 'claimed';
          n := 1;
          return;
        end if;
        is_known := r.expires_at > t;
        is_mine := is_known and r.fingerprint = claim_fingerprint and r.status = 'processing' and r.owner = claim_owner;
        if is_known and not is_mine then
          ${ANSWERS_WITHOUT_A_CLAIM}
        end if;
        if not is_locked then
          perform from ${schema}.idempotency i where i.id = claim_id for no key update;
          is_locked := found;
          continue;
        end if;
        ${grant(schema)}
        return;
      end loop;
    end $body$`;
}

/** Of what is there: the lease of its own run again, or a run of it that is the next, or the first of a record that has expired. */
function grant(schema: string): string {
  return `kind := 'claimed';
        if is_mine then
          n := r.run;
          update ${schema}.idempotency i set lease_until = t + lease where i.id = claim_id;
        else
          n := case when is_known then r.run + 1 else 1 end;
          update ${schema}.idempotency i set
            domain = claim_domain, person = claim_person, status = 'processing', fingerprint = claim_fingerprint,
            owner = claim_owner, run = n::int, lease_until = t + lease, forget = is_known and i.forget,
            head = null, body = null, created_at = case when is_known then i.created_at else t end,
            updated_at = t, expires_at = t + keep, reap_at = t + keep
          where i.id = claim_id;
        end if;`;
}

/** Of what is there and not to be claimed. */
const ANSWERS_WITHOUT_A_CLAIM = `if r.fingerprint <> claim_fingerprint then
            kind := 'mismatch';
            return;
          elsif r.status in ('completed', 'failed') then
            kind := r.status;
            reply_head := r.head;
            reply_body := encode(r.body, 'base64');
            finished := ${epochMs('r.updated_at')};
            expires := ${epochMs('r.expires_at')};
            return;
          elsif r.status = 'processing' and r.lease_until > t then
            kind := 'running';
            n := greatest(1, ceil(extract(epoch from r.lease_until - t) * 1000));
            return;
          elsif not takes_unknown::boolean then
            kind := 'unknown';
            n := r.run;
            return;
          end if;`;

/**
 * `endRecord` of `record-rules.ts`; without a status it is a release. Answers `ended` when it did so, `again` when the same owner
 * had ended it before, `late` when it has another owner.
 */
function endFunction(schema: string): string {
  return `create function ${schema}.idempotency_end(
      claim_id text, claim_domain text, claim_person text, claim_fingerprint text, claim_owner text, keep_ms text,
      new_status text, new_head text, new_body text)
    returns text language plpgsql as $body$
    declare
      r record;
      t timestamptz;
      keep constant interval := keep_ms::float8 * interval '1 millisecond';
    begin
      loop
        t := ${CLOCK};
        if new_status is null then
          delete from ${schema}.idempotency i
          where i.id = claim_id and i.owner = claim_owner and i.status = 'processing';
        else
          update ${schema}.idempotency i set
            status = new_status, lease_until = t, updated_at = t, expires_at = t + keep,
            reap_at = least(i.reap_at, t + keep), head = case when not i.forget then new_head end,
            body = case when not i.forget then decode(new_body, 'base64') end
          where i.id = claim_id and i.owner = claim_owner and i.status = 'processing' and i.expires_at > t;
        end if;
        if found then
          return 'ended';
        end if;
        select i.owner, i.status into r from ${schema}.idempotency i where i.id = claim_id and i.expires_at > t;
        if r.owner <> claim_owner then
          return 'late';
        elsif r.status <> 'processing' then
          return 'again';
        elsif not found then
          ${endOfWhatIsGone(schema)}
        end if;
      end loop;
    end $body$`;
}

/** The record has vanished or expired: what was done is written anew. */
function endOfWhatIsGone(schema: string): string {
  return `if new_status is null then
            return 'ended';
          end if;
          insert into ${schema}.idempotency as i (id, domain, person, status, fingerprint, owner, run, lease_until,
            forget, head, body, created_at, updated_at, expires_at, reap_at)
          values (claim_id, claim_domain, claim_person, new_status, claim_fingerprint, claim_owner, 1, t,
            false, new_head, decode(new_body, 'base64'), t, t, t + keep, t + keep)
          on conflict (id) do update set domain = excluded.domain, person = excluded.person, status = excluded.status,
            fingerprint = excluded.fingerprint, owner = excluded.owner, run = excluded.run,
            lease_until = excluded.lease_until, forget = excluded.forget, head = excluded.head, body = excluded.body,
            created_at = excluded.created_at, updated_at = excluded.updated_at, expires_at = excluded.expires_at,
            reap_at = excluded.reap_at
          where i.expires_at <= t;
          if found then
            return 'ended';
          end if;`;
}
