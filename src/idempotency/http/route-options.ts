import { OptionCheck } from '../../kernel/check-options.ts';
import { checkTimes } from '../check-idempotency-options.ts';
import type { CapturedReply, HttpReply } from './http-reply.ts';

/** What to do with a reply: keep it and answer it again, forget that the request was there, or say that its outcome is unknown. */
export type KeepVerdict = 'keep' | 'release' | 'doubt';

/** What somebody who can look found out about a run that was lost: its reply, that it may run again, or nothing. */
export type Resolution = HttpReply | 'rerun' | 'refuse';

/** How one route (or all of them) is guarded. Only `person` must be given. */
export interface RouteOptions<Request> {
  /**
   * Who asks, so that nobody is ever answered with somebody else's reply: the id of the user or tenant, not a token that changes.
   * `''`, `null` and nothing are nobody, who is refused (403); what is no text is an error of the route (`INVALID_OPTIONS`).
   * `'anyone'` for routes where the key alone may say it.
   */
  readonly person: ((request: Request) => string | Promise<string>) | 'anyone';
  /** What the key is for. Default: method and route. */
  readonly domain?: string | undefined;
  /** Whether a request without a key is refused (400) or passed on unguarded. Default `true`. */
  readonly required?: boolean | undefined;
  /** What a key must look like. Default: anything of 1 to 255 visible ASCII characters. */
  readonly keyFormat?: 'uuid-v4' | RegExp | undefined;
  /** How long to wait for one that runs, in milliseconds, before 409 is answered. Default 0. */
  readonly waitMs?: number | undefined;
  /** How long a run holds its claim without a sign of life, in milliseconds. Default 30,000. */
  readonly leaseMs?: number | undefined;
  /** How long a reply is kept, in milliseconds. Default: a day. */
  readonly keepMs?: number | undefined;
  /** How long a run may take, in milliseconds. Default: 15 minutes. */
  readonly maxRunMs?: number | undefined;
  /** Refuse (503) or run unguarded when no store answers. Default `'refuse'`. */
  readonly whenStoreDown?: 'refuse' | 'run' | undefined;
  /**
   * All effects happen inside `commit`. A run that was lost may then run again, and one that failed leaves nothing behind. Default
   * `false`.
   */
  readonly atomic?: boolean | undefined;
  /**
   * What to do when a run was lost. `'refuse'` answers 409 (the default), `'rerun'` runs again (the default of atomic routes); a
   * function is asked while nobody else can run.
   */
  readonly unknown?: 'refuse' | 'rerun' | ((request: Request, run: number) => Promise<Resolution>) | undefined;
  /** What to do with a reply. Default: keep every one, errors too; atomic routes release those from 500 on. */
  readonly keep?: ((reply: CapturedReply) => KeepVerdict) | undefined;
  /** Request headers that count as part of the request. Default: none. */
  readonly headers?: readonly string[] | undefined;
  /** Reply headers to keep although they usually are not, such as `set-cookie`: a replay sends their credentials again. */
  readonly keepHeaders?: readonly string[] | undefined;
  /** What to compare instead of the body: anything that JSON can hold, or a promise of it. */
  readonly compare?: ((request: Request) => unknown) | undefined;
  /** The largest reply that is kept, in bytes. Default: a mebibyte. A larger one is sent, and 410 is answered to a repetition. */
  readonly maxReplyBytes?: number | undefined;
  /** The largest body of a request, in bytes, where it is read by us. Default: ten mebibytes. */
  readonly maxRequestBytes?: number | undefined;
}

const FIELDS = [
  'person',
  'domain',
  'required',
  'keyFormat',
  'waitMs',
  'leaseMs',
  'keepMs',
  'maxRunMs',
  'whenStoreDown',
  'atomic',
  'unknown',
  'keep',
  'headers',
  'keepHeaders',
  'compare',
  'maxReplyBytes',
  'maxRequestBytes',
] as const;

export const MEBIBYTE = 1_048_576;

/** Refuses wrong options of a route, all at once. */
export function checkRouteOptions(
  of: string,
  idempotency: { readonly canCommit: boolean; readonly enter: unknown } | undefined,
  options: RouteOptions<never>,
): void {
  const check = new OptionCheck(of);
  if (typeof idempotency?.enter !== 'function')
    check.refuse('the first argument', idempotency, 'pass what idempotency({ service, store }) gave');
  const write = "pass { person: (request) => … }, or { person: 'anyone' } where the key alone may say it";
  if (check.object('options', options, write)) {
    check.known(options, FIELDS);
    const { person, domain, keyFormat, whenStoreDown, unknown } = options;
    if (typeof person !== 'function' && person !== 'anyone') check.refuse('person', person, write);
    if (domain !== undefined && (typeof domain !== 'string' || domain === '' || domain.length > 255))
      check.refuse('domain', domain, 'name it, in at most 255 characters');
    if (keyFormat !== undefined && !(keyFormat instanceof RegExp)) check.word('keyFormat', keyFormat, ['uuid-v4']);
    if (whenStoreDown !== undefined) check.word('whenStoreDown', whenStoreDown, ['refuse', 'run']);
    if (unknown !== undefined && typeof unknown !== 'function') check.word('unknown', unknown, ['refuse', 'rerun']);
    for (const name of ['required', 'atomic'] as const) {
      if (options[name] !== undefined && typeof options[name] !== 'boolean') {
        check.refuse(name, options[name], 'write true or false');
      }
    }
    for (const name of ['keep', 'compare'] as const) {
      if (options[name] !== undefined && typeof options[name] !== 'function')
        check.refuse(name, options[name], 'pass a function');
    }
    for (const name of ['headers', 'keepHeaders'] as const) {
      const names: unknown = options[name];
      if (names !== undefined && !(Array.isArray(names) && names.every((one) => typeof one === 'string')))
        check.refuse(name, names, "pass a list of names: ['x-api-version']");
    }
    checkNumbers(check, options);
    if (options.atomic === true && idempotency?.canCommit === false) {
      check.refuse('atomic', true, 'use a store with transactions, such as postgresIdempotency({ pool })');
    }
  }
  check.done();
}

function checkNumbers(check: OptionCheck, options: RouteOptions<never>): void {
  checkTimes(check, options, ['waitMs', 'leaseMs', 'keepMs', 'maxRunMs']);
  for (const name of ['maxReplyBytes', 'maxRequestBytes'] as const) {
    const value = options[name];
    if (value !== undefined) check.number(name, value, { min: 0, integer: true, write: 'write a whole number from 0' });
  }
}
