import type { Deliveries } from '../delivery/deliveries.ts';
import { OptionCheck } from '../kernel/check-options.ts';
import type { Effects } from '../kernel/effects.ts';
import type { Logger } from '../kernel/log.ts';
import type { EndedSessions } from '../operator/ended-sessions.ts';
import type { PolicyLookup } from '../operator/forecast.ts';
import type { Operator } from '../operator/operator.ts';
import { type Role, ROLES } from './route.ts';
import type { Token, Who } from './sessions.ts';

/** What is known of a request besides itself. */
export interface RequestFacts {
  /** The address it came from. Without it `localOnly` lets in nobody. */
  readonly peer?: string | undefined;
  /** The port that listened; with `localOnly` the `Host` must name it. */
  readonly port?: number | undefined;
  /** `1.1`; with `localOnly` 1.0 is refused, which proxies speak and programs do not. */
  readonly httpVersion?: string | undefined;
}

/** What viewers must not see. */
export interface Redaction {
  /**
   * Places in payloads: `customer.email`, `card.*`, `items.*.iban`; in headers, wherever they stand: `headers.x-user-email`. Case does not
   * count, and a place in a list is any place: `items[0].iban` hides every `iban`.
   */
  readonly paths: readonly string[];
  /** Who sees them nevertheless: this role and above. Default `admin`; `nobody`. */
  readonly visibleTo?: Role | 'nobody' | undefined;
  /**
   * Texts of errors are written by handlers and may quote what is hidden. Default: whoever may not see the one does not see the other;
   * `true` shows them to everybody.
   */
  readonly showErrors?: boolean | undefined;
  /**
   * Keys are made of payloads, and may be what is hidden. Default: whoever may not see the one does not see the other, nor acts on
   * keys; `true` where keys say nothing, such as random ids.
   */
  readonly showKeys?: boolean | undefined;
}

/** What `operatorServer` takes. */
export interface OperatorServerOptions {
  /** Such as `postgresOperator({ pool })`. */
  readonly operator: Operator;
  /** `postgresDelivery({ pool, … })`: then its part of the API is there too, below `api/delivery`. */
  readonly deliveries?: Deliveries | undefined;
  /** Who asks; nothing: nobody we know. For applications that have users: look at their session. */
  readonly auth?: ((request: Request, facts: RequestFacts) => Promise<Who | undefined> | Who | undefined) | undefined;
  /** Secrets that let in, each with a name and a role. */
  readonly tokens?: readonly Token[] | undefined;
  /**
   * Needed where there are neither tokens nor `auth`: only this machine is answered, as admin. With a key, whoever shows it: by opening
   * the console with `?key=…`, or as a bearer token; make one for each start. With `true` everybody on this machine, and whoever a proxy on
   * it lets through that cannot be told from a program.
   */
  readonly localOnly?: true | { readonly key: string } | undefined;
  /** Makes a logout hold for all processes that share it, such as `postgresSessions({ pool })`. Default: for this process alone. */
  readonly endedSessions?: EndedSessions | undefined;
  /** Where it is mounted: `/ops`. Default `/`, or where Express has mounted it. */
  readonly basePath?: string | undefined;
  readonly redact?: readonly string[] | Redaction | undefined;
  /** Pages of `relayMetrics()` and the like, shown with the numbers of the database. */
  readonly metrics?: readonly { readonly text: () => string }[] | undefined;
  /** Reasons why this process is not ready, besides the database. */
  readonly isReady?: (() => Promise<readonly string[]> | readonly string[]) | undefined;
  /** The folder of the console, or `false` for none. Default: the console of this package. */
  readonly consoleFiles?: string | URL | false | undefined;
  /** Answers at `mcp`, to whoever may read; guard writes by `who`. `operator` hides what `who` may not see. */
  readonly mcp?: ((request: Request, who: Who, operator: Operator) => Promise<Response>) | undefined;
  /** The policies of handlers, for forecasts. */
  readonly policyOf?: PolicyLookup | undefined;
  /** Nobody may change anything here. Default false. */
  readonly isReadOnly?: boolean | undefined;
  /** Is told of refused writes, failed logins and errors. */
  readonly logger?: Logger | undefined;
  /** Of the release that is served. Default: that of this package. */
  readonly version?: string | undefined;
  /** Who acts where there is no auth: the name in the audit. Default `local`. */
  readonly localActor?: string | undefined;
  /** Origins of pages that may write, besides the server's own: where a proxy changes the name. */
  readonly origins?: readonly string[] | undefined;
  /** How long one answer may take, in milliseconds. Default 30,000. */
  readonly requestTimeoutMs?: number | undefined;
  /** The most a body may have. Default 2 MiB. */
  readonly maxBodyBytes?: number | undefined;
  /** Live connections at once. Default 100. */
  readonly maxStreams?: number | undefined;
  /** How often the database is asked what changed while somebody watches, in milliseconds. Default 2,000. */
  readonly pollMs?: number | undefined;
  /** Writes of one actor a minute. Default 600. */
  readonly writesPerMinute?: number | undefined;
  /** Failed logins from one address a minute. Default 20. */
  readonly failedLoginsPerMinute?: number | undefined;
  /** For tests. */
  readonly effects?: Effects | undefined;
}

const KNOWN: readonly (keyof OperatorServerOptions)[] = [
  'operator',
  'deliveries',
  'auth',
  'tokens',
  'localOnly',
  'endedSessions',
  'basePath',
  'redact',
  'metrics',
  'isReady',
  'consoleFiles',
  'mcp',
  'policyOf',
  'isReadOnly',
  'logger',
  'version',
  'localActor',
  'origins',
  'requestTimeoutMs',
  'maxBodyBytes',
  'maxStreams',
  'pollMs',
  'writesPerMinute',
  'failedLoginsPerMinute',
  'effects',
];

// What a header can hold.
const GOOD_TOKEN = /^[!-~]{16,1000}$/;

/** Refuses options that cannot work. Throws `INVALID_OPTIONS`. */
export function checkServerOptions(options: OperatorServerOptions): void {
  const check = new OptionCheck('operatorServer()');
  if (!check.object('options', options, 'pass { operator: postgresOperator({ pool }) }')) check.done();
  check.known(options, KNOWN);
  check.object('operator', options.operator, 'pass postgresOperator({ pool })');
  checkTokens(check, options.tokens ?? []);
  checkWhoMayCome(check, options);
  if (options.auth !== undefined && typeof options.auth !== 'function') {
    check.refuse('auth', options.auth, 'pass a function of the request that answers { actor, role }');
  }
  if (options.basePath !== undefined && !isPath(options.basePath)) {
    check.refuseName('basePath', options.basePath, 'write a path such as /ops');
  }
  const { redact } = options;
  if (redact !== undefined) checkRedaction(check, Array.isArray(redact) ? { paths: redact } : (redact as Redaction));
  for (const [name, max] of Object.entries(NUMBERS)) {
    const value = options[name as keyof typeof NUMBERS];
    if (value !== undefined) {
      check.number(name, value, { min: 1, max, integer: true, write: `write a whole number from 1 to ${max}` });
    }
  }
  check.done();
}

const NUMBERS = {
  requestTimeoutMs: 600_000,
  maxBodyBytes: 100_000_000,
  maxStreams: 10_000,
  pollMs: 3_600_000,
  writesPerMinute: 1_000_000,
  failedLoginsPerMinute: 1_000_000,
} as const;

function isPath(path: unknown): boolean {
  return typeof path === 'string' && /^\/(?:[\w.~-]+(?:\/[\w.~-]+)*\/?)?$/.test(path);
}

/** Nobody is let in without anything because a setting was forgotten. */
function checkWhoMayCome(check: OptionCheck, { tokens = [], auth, localOnly }: OperatorServerOptions): void {
  const key = typeof localOnly === 'object' ? localOnly.key : undefined;
  if (localOnly !== undefined && localOnly !== true && !(typeof key === 'string' && GOOD_TOKEN.test(key))) {
    check.refuse('localOnly', localOnly, 'write true, or { key } with 16 to 1,000 characters that cannot be guessed');
  }
  if (localOnly === undefined && auth === undefined && Array.isArray(tokens) && tokens.length === 0) {
    check.refuse('tokens', tokens, 'pass tokens, auth, or localOnly: true where only programs of this machine can ask');
  }
}

function checkTokens(check: OptionCheck, given: unknown): void {
  if (!Array.isArray(given)) return check.refuse('tokens', given, 'pass a list of { token, role, actor }');
  const tokens = given as readonly Token[];
  for (const [i, one] of tokens.entries()) {
    const at = `tokens[${i}]`;
    if (typeof one !== 'object') {
      check.refuse(at, one, 'write { token, role, actor }');
      continue;
    }
    check.known(one, ['token', 'role', 'actor'], `${at}.`);
    if (typeof one.token !== 'string' || !GOOD_TOKEN.test(one.token)) {
      check.refuse(`${at}.token`, one.token, 'write 16 to 1,000 characters without spaces that cannot be guessed');
    }
    check.word(`${at}.role`, one.role, ROLES);
    if (typeof one.actor !== 'string' || one.actor.trim() === '' || one.actor.length > 200) {
      check.refuse(`${at}.actor`, one.actor, 'write a name of 1 to 200 characters');
    }
  }
  if (new Set(tokens.map(({ token }) => token)).size !== tokens.length) {
    check.refuse('tokens', tokens, 'give each holder a token of its own');
  }
}

function checkRedaction(check: OptionCheck, redact: Redaction): void {
  if (!check.object('redact', redact, "write ['customer.email'] or { paths, visibleTo }")) return;
  check.known(redact, ['paths', 'visibleTo', 'showErrors', 'showKeys'], 'redact.');
  const { paths, visibleTo } = redact;
  if (!Array.isArray(paths) || !paths.every(isPlace)) {
    check.refuse('redact.paths', paths, "write paths such as 'customer.email' or 'card.*'");
  }
  if (visibleTo !== undefined) check.word('redact.visibleTo', visibleTo, [...ROLES, 'nobody']);
}

function isPlace(path: unknown): boolean {
  return typeof path === 'string' && path !== '' && path.split('.').every((part) => part !== '');
}
