import {
  DEFAULT_GRACE_HOURS,
  DEFAULT_RETRY_SECONDS,
  endpointProblem,
  MAX_GRACE_HOURS,
  secretProblem,
} from '../../delivery/check-endpoint.ts';
import type {
  ChangedBy,
  EndpointOutcome,
  WebhookEndpointChange,
  WebhookEndpointInput,
  WebhookEndpointRecord,
  WebhookEndpoints,
} from '../../delivery/webhook-endpoints.ts';
import { newWebhookSecret } from '../../delivery/webhook-secret.ts';
import { newId } from '../../system/new-id.ts';
import { type Fields, readJson, readRecord } from '../operator/read-record.ts';
import type { SqlRunner } from '../sql-runner.ts';
import { EndpointSecrets } from './endpoint-secrets.ts';
import { sendWebhook } from './send-webhook.ts';

/** What endpoints are told by the server's settings. */
export interface EndpointRules {
  readonly secret: string | undefined;
  /** How large the body of an event may be. */
  readonly maxBodyBytes: number;
  /** How long the id of an event is remembered. */
  readonly eventDedupMs: number;
  /** Why nothing may be sent to an address; nothing: it may. */
  readonly refuseUrl: ((url: string) => string | undefined) | undefined;
  /** Is told the line of an endpoint that was changed. */
  readonly onChanged: (line: string) => Promise<void>;
  /** What the sender of this process remembers of an endpoint is not so any more. */
  readonly forget: (id: string) => void;
}

/** Messages that one statement cancels or puts back in line. */
const AT_ONCE = 1_000;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Registered endpoints. Each change is one statement, with its entry in the audit. */
export function webhookEndpoints(sql: SqlRunner, schema: string, rules: EndpointRules): WebhookEndpoints {
  const store = new EndpointStore(sql, schema, rules);
  return {
    list: () => store.read(undefined),
    get: (id) => store.get(id),
    create: (input, by) => store.create(input, by),
    update: (id, change, by) => store.update(id, change, by),
    delete: (id, by) => store.delete(id, by),
    enable: (id, by) => store.switch(id, true, by),
    disable: (id, by) => store.switch(id, false, by),
    secrets: (id, by) => store.secrets.get(id, by),
    rotateSecret: (id, by, options = {}) => store.rotate(id, by, options),
    send: (event, options = {}) => sendWebhook(sql, schema, rules, event, options),
    resend: (id, messageId, by) => store.resend(id, messageId, by),
    recover: (id, since, by) => store.recover(id, since, by),
  };
}

class EndpointStore {
  readonly secrets: EndpointSecrets;
  readonly #sql: SqlRunner;
  readonly #schema: string;
  readonly #rules: EndpointRules;

  constructor(sql: SqlRunner, schema: string, rules: EndpointRules) {
    this.#sql = sql;
    this.#schema = schema;
    this.#rules = rules;
    this.secrets = new EndpointSecrets(sql, schema, rules.secret);
  }

  async read(id: string | undefined): Promise<readonly WebhookEndpointRecord[]> {
    const endpointRead = `select json_build_object('id', e.id, 'url', e.url, 'description', e.description,
        'eventTypes', case when e.event_types = '["*"]' then '[]' else e.event_types end, 'headers', e.headers,
        'retrySeconds', e.retry_seconds, 'timeoutMs', e.timeout_ms, 'ratePerSecond', e.rate_per_second,
        'state', case when e.is_enabled then 'enabled' else 'disabled' end, 'disabledBecause', e.disabled_because,
        'disabledAt', e.disabled_at, 'failingSince', e.failing_since, 'createdAt', e.created_at, 'updatedAt', e.updated_at)::text as row
      from ${this.#schema}.http_endpoint e where $1::text is null or e.id = $1::text order by e.created_at, e.id`;
    const rows = await this.#sql.query(endpointRead, [id ?? null]);
    const dates = ['disabledAt', 'failingSince', 'createdAt', 'updatedAt'] as const;
    return rows.map((row) => readRecord<WebhookEndpointRecord>(readJson(row, 'row') as Fields, dates));
  }

  async get(id: string): Promise<WebhookEndpointRecord | undefined> {
    return (await this.read(id))[0];
  }

  async create(input: WebhookEndpointInput, by: ChangedBy): Promise<EndpointOutcome> {
    const problem = this.#problem(input);
    if (problem !== undefined) return { kind: 'refused', message: problem };
    const id = `ep_${newId().replaceAll('-', '')}`;
    const secret = await this.secrets.seal(input.secret ?? newWebhookSecret());
    return this.#put(id, { ...rowOf(input), secrets: [{ sealed: secret }] }, true, by);
  }

  async update(id: string, change: WebhookEndpointChange, by: ChangedBy): Promise<EndpointOutcome> {
    const known = await this.get(id);
    if (known === undefined) return { kind: 'not-found' };
    const merged: Record<string, unknown> = { ...known };
    for (const [field, value] of Object.entries(change)) {
      if (value !== undefined) merged[field] = value === null ? undefined : value;
    }
    const input = merged as unknown as WebhookEndpointInput;
    const problem = this.#problem(input);
    if (problem !== undefined) return { kind: 'refused', message: problem };
    return this.#put(id, rowOf(input), false, by);
  }

  async #put(id: string, row: object, isNew: boolean, by: ChangedBy): Promise<EndpointOutcome> {
    const endpointPut = `select ${this.#schema}.http_endpoint_put($1::text, $2::text::boolean, $3::text, $4::text)::text as is_there`;
    const params = [JSON.stringify({ id, ...row }), isNew, by.actor, by.reason ?? null];
    const [answer] = await this.#sql.query(endpointPut, params);
    return this.#after(id, answer?.['is_there'] === 'true');
  }

  async switch(id: string, isEnabled: boolean, { actor, reason }: ChangedBy): Promise<EndpointOutcome> {
    const endpointSwitch = `select ${this.#schema}.http_endpoint_switch($1::text, $2::text::boolean, 'operator', $3::text, $4::text)::text as is_there`;
    const [answer] = await this.#sql.query(endpointSwitch, [id, isEnabled, actor, reason ?? null]);
    return this.#after(id, answer?.['is_there'] === 'true');
  }

  /** What it is now; the line is told to look again. */
  async #after(id: string, isThere: boolean): Promise<EndpointOutcome> {
    this.#rules.forget(id);
    const endpoint = isThere ? await this.get(id) : undefined;
    if (endpoint === undefined) return { kind: 'not-found' };
    await this.#rules.onChanged(`flow:endpoint:${id}`);
    return { kind: 'done', endpoint };
  }

  async delete(id: string, { actor, reason }: ChangedBy): Promise<boolean> {
    const endpointDelete = `with gone as (delete from ${this.#schema}.http_endpoint where id = $1::text returning id, url),
      line as (delete from ${this.#schema}.http_flow where key in (select 'endpoint:' || id from gone)),
      audited as (insert into ${this.#schema}.audit (actor, verb, reason, details)
        select $2::text, 'delete-endpoint', $3::text, jsonb_build_object('endpoint', id, 'url', url) from gone)
      select id from gone`;
    const endpointCancel = `select ${this.#schema}.http_endpoint_cancel($1::text, ${AT_ONCE}, $2::text, $3::text) as n`;
    const isGone = (await this.#sql.query(endpointDelete, [id, actor, reason ?? null])).length > 0;
    this.#rules.forget(id);
    // Also where it was gone before: whoever deleted it may not have come to this.
    const why = reason ?? 'its endpoint was deleted';
    while (Number((await this.#sql.query(endpointCancel, [id, actor, why]))[0]?.['n']) > 0);
    return isGone;
  }

  async rotate(
    id: string,
    by: ChangedBy,
    {
      graceHours = DEFAULT_GRACE_HOURS,
      secret = newWebhookSecret(),
    }: NonNullable<Parameters<WebhookEndpoints['rotateSecret']>[2]>,
  ): ReturnType<WebhookEndpoints['rotateSecret']> {
    const problem = secretProblem(secret);
    if (problem !== undefined) return { kind: 'refused', message: problem };
    if (!(graceHours >= 0 && graceHours <= MAX_GRACE_HOURS)) {
      return {
        kind: 'refused',
        message: `graceHours is not within 0 and ${MAX_GRACE_HOURS}: write hours within these`,
      };
    }
    const turned = await this.secrets.rotate(id, secret, graceHours, by);
    this.#rules.forget(id);
    return turned === undefined ? { kind: 'not-found' } : { kind: 'rotated', secret, oldUntil: turned.oldUntil };
  }

  async resend(id: string, messageId: string, { actor, reason }: ChangedBy): Promise<boolean> {
    if (!UUID.test(messageId)) return false;
    const endpointResend = `select ${this.#schema}.http_endpoint_resend($1::text, $2::text::uuid, $3::text, $4::text)::text as is_there`;
    const [answer] = await this.#sql.query(endpointResend, [id, messageId, actor, reason ?? null]);
    return answer?.['is_there'] === 'true';
  }

  async recover(id: string, since: Date, { actor, reason }: ChangedBy): Promise<number | undefined> {
    if ((await this.get(id)) === undefined) return undefined;
    const endpointRecover = `select ${this.#schema}.http_endpoint_recover($1::text, $2::text::timestamptz, ${AT_ONCE}, $3::text, $4::text) as n`;
    let count = 0;
    for (;;) {
      const [row] = await this.#sql.query(endpointRecover, [id, since.toISOString(), actor, reason ?? null]);
      const n = Number(row?.['n']);
      count += n;
      if (n < AT_ONCE) return count;
    }
  }

  #problem(input: WebhookEndpointInput): string | undefined {
    return endpointProblem(input) ?? this.#rules.refuseUrl?.(input.url);
  }
}

function rowOf(input: WebhookEndpointInput): object {
  const { url, description, eventTypes = [], headers = {}, retrySeconds = DEFAULT_RETRY_SECONDS } = input;
  return {
    url,
    description: description === '' ? undefined : description,
    event_types: eventTypes.length === 0 || eventTypes.includes('*') ? ['*'] : [...new Set(eventTypes)],
    headers,
    retry_seconds: retrySeconds,
    timeout_ms: input.timeoutMs,
    rate_per_second: input.ratePerSecond,
  };
}
