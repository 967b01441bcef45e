import type { WebhookEvent, WebhookSent } from '../../delivery/webhook-endpoints.ts';
import { OptionCheck } from '../../kernel/check-options.ts';
import { named } from '../check-version.ts';
import { quotedSchema } from '../schema-name.ts';
import { type SqlTransaction, transactionRunner } from '../sql-runner.ts';
import { sendWebhook } from './send-webhook.ts';

/** What `postgresWebhooks` takes. Every field may be left out. */
export interface PostgresWebhooksOptions {
  /** Where our tables are. Default `holdfast`. */
  readonly schema?: string | undefined;
  /** How long the id of an event is remembered, in milliseconds. Default: seven days. */
  readonly eventDedupMs?: number | undefined;
  /** How large the body of an event may be, in bytes. Default: a mebibyte. */
  readonly maxBodyBytes?: number | undefined;
}

/** Sends events to registered endpoints, in the caller's own transaction. */
export interface PostgresWebhooks {
  /**
   * Sends to all endpoints that are enabled and want it, with the commit of `tx` or not at all. Throws `INVALID_OPTIONS` for what is no
   * event, `OUTBOX_FULL` where too much waits.
   */
  send(tx: SqlTransaction, event: WebhookEvent): Promise<WebhookSent>;
}

export const DEFAULT_EVENT_DEDUP_MS: number = 7 * 86_400_000;
const MAX_BODY_BYTES = 1_048_576;

/** Webhooks that leave with a transaction of yours. The endpoints are those of the delivery server on the same schema. */
export function postgresWebhooks(options: PostgresWebhooksOptions = {}): PostgresWebhooks {
  const check = new OptionCheck('postgresWebhooks()');
  if (!check.object('options', options, "pass { schema: 'holdfast' }")) check.done();
  check.known(options, ['schema', 'eventDedupMs', 'maxBodyBytes']);
  const { eventDedupMs = DEFAULT_EVENT_DEDUP_MS, maxBodyBytes = MAX_BODY_BYTES } = options;
  check.number('eventDedupMs', eventDedupMs, {
    min: 1_000,
    integer: true,
    write: 'write whole milliseconds from 1000',
  });
  check.number('maxBodyBytes', maxBodyBytes, { min: 1, integer: true, write: 'write whole bytes' });
  check.done();
  const schema = quotedSchema('postgresWebhooks()', options.schema);
  return {
    send: async (tx, event) => {
      const sql = transactionRunner(tx);
      try {
        return await sendWebhook(sql, schema, { eventDedupMs, maxBodyBytes }, event);
      } catch (error) {
        throw named(error, schema);
      }
    },
  };
}
