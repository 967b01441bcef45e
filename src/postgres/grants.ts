import { OptionCheck } from '../kernel/check-options.ts';
import { HISTORY_SLOTS } from './schema/messages.ts';
import { quotedSchema } from './schema-name.ts';

/** What a database role does here. One process may need several: a service that sends and handles is `sender` and `worker`. */
export const DATABASE_ROLES = [
  'sender',
  'commands',
  'worker',
  'idempotency',
  'observer',
  'operator',
  'delivery',
] as const;

/** One of the roles that `grants` knows. */
export type DatabaseRole = (typeof DATABASE_ROLES)[number];

/** By relation, what may be done to it, with the columns in brackets where it is not all of them. `delivery_seq` is a sequence, all others are tables or views. */
export type Privileges = Readonly<Record<string, readonly string[]>>;

const READ = ['select'];
const WRITE = ['select', 'insert', 'update', 'delete'];

/** The views people read. */
const VIEWS = ['outbox', 'dead_letters', 'error_groups', 'event_handled', 'live_run', 'run_log'];

/** Sending, with idempotency keys, links for `trace`, and facts. It cannot read a message. */
const SENDER: Privileges = {
  meta: READ,
  subscription: READ,
  lane: READ,
  waiter: READ,
  delivery: ['insert'],
  delivery_seq: ['usage'],
  dedup: ['select', 'insert', 'update'],
  trace_link: ['insert'],
  fact: ['insert'],
};

/** Besides sending: asking for durable commands and looking at them. */
const COMMANDS: Privileges = {
  ...SENDER,
  delivery: READ.concat('insert'),
  handler: READ,
  command: ['select', 'insert', 'update'],
  command_event: ['select', 'insert'],
};

/** Running handlers, publishing to brokers and receiving from them, keeping house, carrying on bulk operations. */
const WORKER: Privileges = {
  migration: READ,
  meta: ['select', 'update'],
  handler: ['select', 'insert', 'update'],
  subscription: WRITE,
  lane: ['select', 'insert'],
  worker: WRITE,
  lease: ['select', 'insert', 'update'],
  poke: ['select', 'insert', 'update'],
  waiter: ['select', 'insert', 'delete'],
  running: WRITE,
  delivery: WRITE,
  delivery_seq: ['usage'],
  delivered: ['select', 'insert'],
  ...Object.fromEntries(
    Array.from({ length: HISTORY_SLOTS }, (_, slot) => [`delivered_${slot}`, ['select', 'truncate']]),
  ),
  history_count: ['select', 'insert', 'delete'],
  dedup: ['select', 'update', 'delete'],
  inbox: WRITE,
  command: ['select', 'update', 'delete'],
  command_event: ['insert'],
  trace_link: WRITE,
  fact: ['select', 'insert', 'delete'],
  breaker: ['select', 'insert', 'update'],
  error_group: WRITE,
  error_tally: WRITE,
  tally: ['select', 'insert', 'delete'],
  sample: WRITE,
  // Whether what waits is held up by its line, or late.
  http_destination: READ,
  http_queue: READ,
  http_flow: READ,
  bulk: ['select', 'update', 'delete'],
  bulk_item: WRITE,
  bulk_parcel: ['select', 'delete'],
  edit: ['select', 'delete'],
  audit: ['select', 'insert'],
  audit_chain: ['select', 'insert'],
};

/** What an observer does not see: keys that are sealed, hashes of tokens. */
const HIDDEN_FROM_OBSERVERS = ['http_signing_key', 'http_token'];
/** Of these it sees but some columns: no reply that was given to somebody, no secret of an endpoint. */
const SHOWN_TO_OBSERVERS: Privileges = {
  idempotency: [
    'select (id, domain, person, status, fingerprint, owner, run, lease_until, forget, has_reply, created_at, updated_at, expires_at, reap_at)',
  ],
  http_endpoint: [
    `select (id, url, description, event_types, headers, retry_seconds, timeout_ms, rate_per_second, is_enabled, disabled_because,
      disabled_at, failing_since, created_at, updated_at)`,
  ],
};

/** Every function of `Operator` that changes nothing. */
const OBSERVER: Privileges = {
  ...Object.fromEntries(
    [
      ...Object.keys(WORKER).filter((name) => name !== 'delivery_seq'),
      ...VIEWS,
      'erasure',
      'ended_session',
      'http_event',
      'http_group',
      'http_schedule',
    ]
      .filter((name) => !HIDDEN_FROM_OBSERVERS.includes(name))
      .map((name) => [name, READ]),
  ),
  delivery_seq: READ,
  ...SHOWN_TO_OBSERVERS,
};

/** Every function of `Operator`. */
const OPERATOR: Privileges = {
  ...OBSERVER,
  meta: ['select', 'update'],
  handler: ['select', 'update'],
  subscription: ['select', 'delete'],
  poke: ['select', 'insert', 'update'],
  delivery: WRITE,
  delivery_seq: ['select', 'usage'],
  delivered: ['select', 'insert', 'update', 'delete'],
  edit: ['select', 'insert', 'update'],
  command: ['select', 'update'],
  command_event: ['select', 'insert', 'update'],
  breaker: ['select', 'update'],
  error_group: ['select', 'update'],
  bulk: ['select', 'insert', 'update'],
  bulk_item: ['select', 'insert', 'update'],
  bulk_parcel: ['select', 'insert', 'delete'],
  ended_session: WRITE,
  audit: ['select', 'insert'],
  audit_chain: ['select', 'insert'],
  // Erasing what is known of somebody.
  erasure: ['select', 'insert', 'update'],
  inbox: ['select', 'update'],
  http_event: ['select', 'update'],
  fact: ['select', 'delete'],
  trace_link: ['select', 'delete'],
  idempotency: ['select', 'update'],
};

/** `holdfast serve --deliver`: all of the above, and what deliveries keep. */
const DELIVERY: Privileges = merged(SENDER, WORKER, OPERATOR, {
  http_event: WRITE,
  http_queue: WRITE,
  http_flow: WRITE,
  http_group: WRITE,
  http_destination: WRITE,
  http_schedule: WRITE,
  http_endpoint: WRITE,
  http_signing_key: ['select', 'insert', 'update'],
  http_token: WRITE,
});

/** The one list of what each role must be allowed. The check at the start of a relay, `holdfast migrate --grants` and the tests read it. */
export const PRIVILEGES: Readonly<Record<DatabaseRole, Privileges>> = {
  sender: SENDER,
  commands: COMMANDS,
  worker: WORKER,
  idempotency: { idempotency: WRITE },
  observer: OBSERVER,
  operator: OPERATOR,
  delivery: DELIVERY,
};

/** What `grantsScript` takes. */
export interface GrantsOptions {
  readonly schema?: string | undefined;
  /** Who gets what: `{ worker: 'app_worker' }`. The database roles must be there. */
  readonly to: Readonly<Partial<Record<DatabaseRole, string>>>;
}

/**
 * The statements that give database roles what they need here and nothing else, for the owner of the schema to run. Functions need no
 * grant of their own: everybody may call them, and each does what its caller may do.
 */
export function grantsScript(options: GrantsOptions): string {
  const check = new OptionCheck('grantsScript()');
  if (check.object('options', options, "pass { to: { worker: 'app_worker' } }")) {
    check.known(options, ['schema', 'to']);
    if (check.object('to', options.to, "pass who gets what: { worker: 'app_worker' }")) {
      check.known(options.to, DATABASE_ROLES);
      for (const [name, role] of Object.entries(options.to)) {
        if (typeof role !== 'string' || role === '' || role.length > 63 || role.includes('\u0000'))
          check.refuse(`to.${name}`, role, 'write the name of a database role, at most 63 characters');
      }
    }
  }
  check.done();
  const schema = quotedSchema('grantsScript()', options.schema);
  return DATABASE_ROLES.flatMap((name) => {
    const role = options.to[name];
    return role === undefined ? [] : grantsOf(schema, name, `"${role.replaceAll('"', '""')}"`);
  }).join('');
}

function grantsOf(schema: string, name: DatabaseRole, role: string): readonly string[] {
  const byRights = Map.groupBy(Object.entries(PRIVILEGES[name]), ([relation, rights]) =>
    relation === SEQUENCE ? `sequence ${rights.join(', ')}` : rights.join(', '),
  );
  return [
    `-- ${name}\n`,
    `grant usage on schema ${schema} to ${role};\n`,
    ...[...byRights].map(([rights, relations]) => {
      const names = relations.map(([relation]) => `${schema}.${relation}`).join(', ');
      const [first = ''] = relations;
      const kind = first[0] === SEQUENCE ? 'sequence ' : '';
      return `grant ${rights.replace(/^sequence /, '')} on ${kind}${names} to ${role};\n`;
    }),
  ];
}

/** The only sequence that is granted: those of identity columns need nothing. */
export const SEQUENCE = 'delivery_seq';

function merged(...parts: readonly Privileges[]): Privileges {
  const all = new Map<string, Set<string>>();
  for (const part of parts) {
    for (const [relation, rights] of Object.entries(part))
      all.set(relation, new Set([...(all.get(relation) ?? []), ...rights]));
  }
  return Object.fromEntries([...all].map(([relation, rights]) => [relation, [...rights]]));
}
