import { OptionCheck } from '../kernel/check-options.ts';
import type { EntryOptions, IdempotencyOptions } from './idempotency.ts';

const DAY_MS = 86_400_000;
const MOST_KEY = 255;

type TimeName = 'leaseMs' | 'keepMs' | 'maxRunMs' | 'storeTimeoutMs' | 'waitMs';

/** The bounds of every time that may be given, in milliseconds. */
const TIMES: Readonly<Record<TimeName, { readonly min: number; readonly max: number; readonly write: string }>> = {
  leaseMs: { min: 100, max: DAY_MS, write: 'write milliseconds from 100 to a day' },
  keepMs: { min: 1_000, max: 3_650 * DAY_MS, write: 'write milliseconds from 1,000 to ten years' },
  maxRunMs: { min: 100, max: 30 * DAY_MS, write: 'write milliseconds from 100 to thirty days' },
  storeTimeoutMs: { min: 10, max: 600_000, write: 'write milliseconds from 10 to ten minutes' },
  waitMs: { min: 0, max: DAY_MS, write: 'write milliseconds from 0 to a day' },
};

const STORE_CALLS = ['claim', 'renew', 'end', 'find', 'erase', 'reap'] as const;
const STORE_WRITE = 'pass a store: redisIdempotency(…), postgresIdempotency(…), memoryIdempotency() or layered(…)';

/** Throws `INVALID_OPTIONS` with all that is wrong. */
export function checkIdempotencyOptions(options: IdempotencyOptions): void {
  const check = new OptionCheck('idempotency()');
  if (check.object('options', options, 'pass { store, service }')) {
    check.known(options, [
      'store',
      'service',
      'leaseMs',
      'keepMs',
      'maxRunMs',
      'storeTimeoutMs',
      'whenStoreDown',
      'observers',
      'effects',
    ]);
    const { store, service, whenStoreDown, observers } = options;
    const isStore =
      typeof store === 'object' &&
      store !== null &&
      STORE_CALLS.every((name) => typeof Reflect.get(store, name) === 'function');
    if (!isStore) check.refuse('store', store, STORE_WRITE);
    if (typeof service !== 'string' || service === '') check.refuse('service', service, "write its name: 'orders'");
    checkTimes(check, options, ['leaseMs', 'keepMs', 'maxRunMs', 'storeTimeoutMs']);
    if (whenStoreDown !== undefined) check.word('whenStoreDown', whenStoreDown, ['refuse', 'run']);
    if (observers !== undefined && !(Array.isArray(observers) && observers.every((one) => typeof one === 'function'))) {
      check.refuse('observers', observers, 'pass a list of functions');
    }
  }
  check.done();
}

/** Throws `INVALID_OPTIONS` for a request that would be mistaken for another, or could not be kept. */
export function checkEntryRequest(request: EntryOptions): void {
  const { domain, key, person, fingerprint } = request;
  const isPerson = person === null || (typeof person === 'string' && person !== '');
  const isRight =
    isText(domain) && isText(key) && isPerson && typeof fingerprint === 'string' && hasRightTimes(request);
  if (isRight) return;
  const check = new OptionCheck('enter()');
  if (!isText(domain)) check.refuse('domain', domain, `name what is done, in at most ${MOST_KEY} characters`);
  if (!isText(key)) check.refuse('key', key, `write a text of 1 to ${MOST_KEY} characters`);
  // An id that could not be read must not become a person that everybody shares.
  if (!isPerson)
    check.refuse(
      'person',
      person,
      'pass who asks as a text, such as String(user.id), or null where the key alone says it',
    );
  if (typeof fingerprint !== 'string') check.refuse('fingerprint', fingerprint, 'pass a text');
  checkTimes(check, request, ENTRY_TIMES);
  check.done();
}

const ENTRY_TIMES = ['waitMs', 'leaseMs', 'keepMs', 'maxRunMs'] as const;

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && value.length <= MOST_KEY;
}

function hasRightTimes(request: EntryOptions): boolean {
  for (const name of ENTRY_TIMES) {
    const value = request[name];
    if (value !== undefined && !(value >= TIMES[name].min && value <= TIMES[name].max)) return false;
  }
  return true;
}

/** Notes every time that is given and out of its bounds. */
export function checkTimes(
  check: OptionCheck,
  options: { readonly [F in TimeName]?: number | undefined },
  names: readonly TimeName[],
): void {
  for (const name of names) if (options[name] !== undefined) check.number(name, options[name], TIMES[name]);
}
