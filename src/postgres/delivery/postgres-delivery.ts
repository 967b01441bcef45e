import type { Deliveries } from '../../delivery/deliveries.ts';
import type { SigningKeys } from '../../delivery/secrets.ts';
import type { SenderStore } from '../../delivery/sender-store.ts';
import { OptionCheck } from '../../kernel/check-options.ts';
import type { Effects } from '../../kernel/effects.ts';
import { systemEffects } from '../../system/effects.ts';
import { boundedRunner } from '../bounded-runner.ts';
import { named } from '../check-version.ts';
import { ANSWER_TIMEOUT_RULE } from '../driver/time-limit.ts';
import { repeatedRunner } from '../repeated-runner.ts';
import { DEFAULT_SCHEMA, quotedSchema } from '../schema-name.ts';
import { type SqlConnection, sqlRunner, type SqlRunner } from '../sql-runner.ts';
import { deadDeliveries } from './dead.ts';
import { destinationBreakers, destinations } from './destinations.ts';
import { endpointSights } from './endpoint-sights.ts';
import { webhookEndpoints } from './endpoints.ts';
import { flowControls } from './flow-controls.ts';
import { forgetDestinations, forgetFlows, forgetLog } from './forget-old.ts';
import { LineCopy } from './line-copy.ts';
import { deliveryLog } from './log.ts';
import { deliveryMessages } from './messages.ts';
import { DEFAULT_EVENT_DEDUP_MS } from './postgres-webhooks.ts';
import { publishing } from './publish.ts';
import { queues } from './queues.ts';
import { runsRegularly } from './regularly.ts';
import { reporting } from './report.ts';
import { schedules } from './schedules.ts';
import { signingKeys } from './signing-keys.ts';
import { takeRates } from './take-rate.ts';
import { apiTokens } from './tokens.ts';
import { urlGroups } from './url-groups.ts';

/** What `postgresDelivery` takes. */
export interface PostgresDeliveryOptions {
  /** A pg `Pool`, the `sql` of postgres.js, or a PGlite database. */
  readonly pool: SqlConnection;
  /** Where our tables are. Default `holdfast`. */
  readonly schema?: string | undefined;
  /** What keys and secrets are encrypted by: `HOLDFAST_SECRET`, at least 32 characters. Without it those throw `SECRET_MISSING`. */
  readonly secret?: string | undefined;
  /** How long a deduplication id, or a content, is remembered, in milliseconds. Default: ten minutes. */
  readonly dedupMs?: number | undefined;
  /** How long the id of a webhook's event is remembered, in milliseconds. Default: seven days. */
  readonly eventDedupMs?: number | undefined;
  /** After how long of nothing but failures a webhook endpoint is disabled, in milliseconds. Default: five days. */
  readonly endpointFailingMs?: number | undefined;
  /** How long the log is kept, in milliseconds. Default: 14 days. */
  readonly keepLogMs?: number | undefined;
  /** How large a body may be, in bytes. Default: a mebibyte; at most 16. */
  readonly maxBodyBytes?: number | undefined;
  /**
   * How many bytes of bodies one call may store, that of a URL group counted for each endpoint. Default: a hundred mebibytes; more is
   * refused with 413.
   */
  readonly maxPublishBytes?: number | undefined;
  /** Why nothing may be published to an address; nothing: it may. Whether the address may be connected to is the sender's to ask. */
  readonly refuseUrl?: ((url: string) => string | undefined) | undefined;
  /** The signing keys to begin with where there are none yet. Default: new ones. */
  readonly firstKeys?: Awaited<ReturnType<SigningKeys['get']>> | undefined;
  /** How long the database may take for one answer, in milliseconds, before that is `DATABASE_TIMEOUT`. Default 10,000. */
  readonly answerTimeoutMs?: number | undefined;
  /** Clock and timers; for tests. */
  readonly effects?: Effects | undefined;
}

const DEFAULTS = {
  dedupMs: 10 * 60_000,
  eventDedupMs: DEFAULT_EVENT_DEDUP_MS,
  endpointFailingMs: 5 * 86_400_000,
  keepLogMs: 14 * 86_400_000,
  maxBodyBytes: 1_048_576,
  maxPublishBytes: 104_857_600,
} as const;
const MOST_BODY_BYTES = 16 * 1_048_576;
const FORGET_EVERY_MS = 60_000;

/** Everything the delivery server knows and does on PostgreSQL, and what its sender needs. */
export type PostgresDelivery = Deliveries & {
  readonly sender: SenderStore;
};

/** The delivery server's store on PostgreSQL; run `migrate` once before. Nothing is kept open but what `sender.open()` begins. */
export function postgresDelivery(options: PostgresDeliveryOptions): PostgresDelivery {
  const { schema, sql, secret, effects, firstKeys, rules } = checked(options);
  const copy = new LineCopy(sql, schema, effects);
  const onChanged = (line: string): Promise<void> => copy.changed(line);
  const keys = signingKeys(sql, schema, { secret, firstKeys, effects });
  const sights = endpointSights(sql, schema, { secret, effects, failingMs: rules.endpointFailingMs, onChanged });
  return {
    publishing: publishing(sql, schema, rules),
    messages: deliveryMessages(sql, schema),
    dead: deadDeliveries(sql, schema),
    log: deliveryLog(sql, schema),
    queues: queues(sql, schema, onChanged),
    urlGroups: urlGroups(sql, schema),
    flowControls: flowControls(sql, schema, onChanged),
    schedules: schedules(sql, schema, { ...rules, effects }),
    destinations: destinations(sql, schema),
    endpoints: webhookEndpoints(sql, schema, { ...rules, secret, onChanged, forget: sights.forget }),
    signingKeys: keys,
    tokens: apiTokens(sql, schema, effects),
    sender: {
      ...reporting(sql, schema, rules.dedupMs),
      ...destinationBreakers(sql, schema),
      ...following(copy, effects, async () => {
        await forgetLog(sql, schema, rules.keepLogMs);
        await forgetDestinations(sql, schema, rules.keepLogMs);
        await forgetFlows(sql, schema, rules.keepLogMs);
      }),
      takeRate: takeRates(sql, schema),
      signingKeys: (tenant) => keys.cached(tenant),
      endpoint: sights.endpoint,
      noteEndpoint: sights.noteEndpoint,
    },
  };
}

/** What goes on from `open` to `close`. */
function following(
  copy: LineCopy,
  effects: Effects,
  forget: () => Promise<unknown>,
): Pick<SenderStore, 'open' | 'close' | 'queue' | 'flow' | 'onChange'> {
  let stopForgetting: (() => Promise<void>) | undefined;
  return {
    open: async () => {
      stopForgetting ??= runsRegularly(effects, FORGET_EVERY_MS, forget);
      await copy.open();
    },
    close: async () => {
      const stop = stopForgetting;
      stopForgetting = undefined;
      await Promise.all([stop?.(), copy.close()]);
    },
    queue: (name) => copy.queue(name),
    flow: (key) => copy.flow(key),
    onChange: (listener) => copy.onChange(listener),
  };
}

interface Plan {
  readonly schema: string;
  readonly sql: SqlRunner;
  readonly secret: string | undefined;
  readonly effects: Effects;
  readonly firstKeys: PostgresDeliveryOptions['firstKeys'];
  readonly rules: { readonly [K in keyof typeof DEFAULTS]: number } & Pick<
    Required<PostgresDeliveryOptions>,
    'refuseUrl'
  >;
}

function checked(options: PostgresDeliveryOptions): Plan {
  const check = new OptionCheck('postgresDelivery()');
  if (!check.object('options', options, 'pass { pool }')) check.done();
  check.known(options, FIELDS);
  const { dedupMs = DEFAULTS.dedupMs, keepLogMs = DEFAULTS.keepLogMs, maxBodyBytes = DEFAULTS.maxBodyBytes } = options;
  const { maxPublishBytes = DEFAULTS.maxPublishBytes } = options;
  const { eventDedupMs = DEFAULTS.eventDedupMs, endpointFailingMs = DEFAULTS.endpointFailingMs } = options;
  const { pool, refuseUrl, answerTimeoutMs, secret, firstKeys, effects = systemEffects } = options;
  const whole = { min: 1_000, integer: true, write: 'write whole milliseconds from 1000' };
  check.number('dedupMs', dedupMs, whole);
  check.number('keepLogMs', keepLogMs, whole);
  check.number('eventDedupMs', eventDedupMs, whole);
  check.number('endpointFailingMs', endpointFailingMs, whole);
  check.number('maxBodyBytes', maxBodyBytes, {
    min: 0,
    max: MOST_BODY_BYTES,
    integer: true,
    write: `write whole bytes, at most ${MOST_BODY_BYTES}`,
  });
  const bytes = { min: 0, integer: true, write: 'write whole bytes' };
  check.number('maxPublishBytes', maxPublishBytes, bytes);
  if (refuseUrl !== undefined && typeof refuseUrl !== 'function')
    check.refuse('refuseUrl', refuseUrl, 'pass a function of the address');
  if (answerTimeoutMs !== undefined) check.number('answerTimeoutMs', answerTimeoutMs, ANSWER_TIMEOUT_RULE);
  check.done();
  const schema = quotedSchema('postgresDelivery()', options.schema ?? DEFAULT_SCHEMA);
  const sql = boundedRunner(namedRunner(repeatedRunner(sqlRunner(pool)), schema), answerTimeoutMs);
  return {
    schema,
    sql,
    secret,
    effects,
    firstKeys,
    rules: { dedupMs, eventDedupMs, endpointFailingMs, keepLogMs, maxBodyBytes, maxPublishBytes, refuseUrl },
  };
}

const FIELDS: readonly (keyof PostgresDeliveryOptions)[] = [
  'pool',
  'schema',
  'secret',
  'dedupMs',
  'eventDedupMs',
  'endpointFailingMs',
  'keepLogMs',
  'maxBodyBytes',
  'maxPublishBytes',
  'refuseUrl',
  'firstKeys',
  'answerTimeoutMs',
  'effects',
];

/** The same, telling by name that our tables are not there. */
function namedRunner(sql: SqlRunner, schema: string): SqlRunner {
  const query: SqlRunner['query'] = (text, params) =>
    sql.query(text, params).catch((error: unknown) => {
      throw named(error, schema);
    });
  return { ...sql, query };
}
