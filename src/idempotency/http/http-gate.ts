import { OptionCheck } from '../../kernel/check-options.ts';
import { sha256 } from '../../system/sha256.ts';
import type { Entry } from '../entry.ts';
import type { EntryOptions, Idempotency } from '../idempotency.ts';
import { knownPerson } from '../known-person.ts';
import { HttpRun } from './http-run.ts';
import { type HttpReply, keptHttpReply } from './http-reply.ts';
import { missedFormat, readKeyHeader } from './key-header.ts';
import { problemReply } from './problem-reply.ts';
import { requestFingerprint } from './request-fingerprint.ts';
import type { BodyFacts, RequestFacts } from './request-facts.ts';
import { checkRouteOptions, type Resolution, type RouteOptions } from './route-options.ts';

/** What to do with a request. */
type HttpEntry<Tx> =
  /** Not guarded: its method is safe, it needs no key, or no store answered and that was chosen. */
  | { readonly kind: 'pass' }
  /** Send this and do nothing else. */
  | { readonly kind: 'answer'; readonly reply: HttpReply }
  /** Let the handler run and end the run with its reply. */
  | { readonly kind: 'run'; readonly run: HttpRun<Tx> };

/** Decides what to do with each request of a route. One for each route, however many requests. */
export interface HttpGate<Request, Tx> {
  readonly options: RouteOptions<Request>;
  enter(request: Request, facts: RequestFacts, signal?: AbortSignal): Promise<HttpEntry<Tx>>;
}

const GUARDED = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);
const MOST_DOMAIN = 255;
const SHOWN_OF_LONG = 200;
const REPLAYED = ['Idempotent-Replayed', 'true'] as const;

/** The gate of a route. Throws `INVALID_OPTIONS`. `of` is the name of the adapter, for that error. */
export function httpGate<Request, Tx>(
  of: string,
  idempotency: Idempotency<Tx>,
  options: RouteOptions<Request>,
): HttpGate<Request, Tx> {
  checkRouteOptions(of, idempotency, options);
  const names = (options.headers ?? []).map((name) => name.toLowerCase());
  return {
    options,
    enter: async (request, facts, signal) => {
      if (!GUARDED.has(facts.method)) return { kind: 'pass' };
      const key = readKeyHeader(facts.header('idempotency-key'));
      if (key.kind === 'missing') {
        return options.required === false ? { kind: 'pass' } : answer(problemReply('key-missing'));
      }
      if (key.kind === 'invalid')
        return answer(problemReply('key-invalid', { detail: `The key is refused: ${key.problem}.` }));
      const wanted = missedFormat(key.key, options.keyFormat, 'route');
      if (wanted !== undefined) return answer(problemReply('key-invalid', { detail: `The key must be ${wanted}.` }));
      const { compare, person } = options;
      // What is there already is not waited for.
      const read = compare === undefined ? facts.body() : parsed(compare(request));
      const body = read instanceof Promise ? await read : read;
      if (body.kind === 'too-large') return answer(problemReply('body-too-large'));
      const fingerprint = requestFingerprint(facts, body, names);
      if (fingerprint === undefined) return answer(problemReply('body-unreadable'));
      const who = person === 'anyone' ? null : knownPerson(of, await person(request));
      if (who === undefined) return answer(problemReply('person-unknown'));
      return admit(idempotency, entryRequest(facts, key.key, who, fingerprint, options, signal), request, options);
    },
  };
}

async function parsed(value: unknown): Promise<BodyFacts> {
  return { kind: 'parsed', value: await value };
}

function entryRequest(
  facts: RequestFacts,
  key: string,
  person: string | null,
  fingerprint: string,
  options: RouteOptions<never>,
  signal: AbortSignal | undefined,
): EntryOptions {
  const { domain, waitMs, leaseMs, keepMs, maxRunMs, whenStoreDown } = options;
  return {
    domain: domain ?? domainOf(facts),
    key,
    person,
    fingerprint,
    unknown: (options.unknown ?? (options.atomic === true ? 'rerun' : 'refuse')) === 'refuse' ? 'tell' : 'take',
    signal,
    waitMs,
    leaseMs,
    keepMs,
    maxRunMs,
    whenStoreDown,
  };
}

/** A path may be longer than a domain. */
function domainOf({ method, route, path }: RequestFacts): string {
  const name = `${method} ${route ?? path}`;
  return name.length <= MOST_DOMAIN ? name : `${name.slice(0, SHOWN_OF_LONG)}…${sha256(name)}`;
}

async function admit<Request, Tx>(
  idempotency: Idempotency<Tx>,
  entryOf: EntryOptions,
  request: Request,
  options: RouteOptions<Request>,
): Promise<HttpEntry<Tx>> {
  const entry = await idempotency.enter(entryOf);
  if (entry.kind === 'unguarded') return { kind: 'pass' };
  if (entry.kind !== 'run') return answer(replyTo(entry));
  // Asked again after another run has taken over: whoever that was has the word.
  const winner = async (): Promise<HttpReply> => {
    const found = await idempotency.enter({ ...entryOf, unknown: 'tell', waitMs: 0, whenStoreDown: 'refuse' });
    // Its record may be gone by now; nothing is run here, and what is left to say is that it is not known.
    if (found.kind === 'run') await found.run.end({ kind: 'doubt' });
    return found.kind === 'run' || found.kind === 'unguarded' ? problemReply('unknown-outcome') : replyTo(found);
  };
  const run = new HttpRun(entry.run, options, winner);
  const { unknown } = options;
  if (entry.run.number === 1 || typeof unknown !== 'function') return { kind: 'run', run };
  return resolved(run, () => unknown(request, entry.run.number));
}

/** Lets the route find out what became of the run that was lost. What it cannot tell stays unknown. */
async function resolved<Tx>(run: HttpRun<Tx>, ask: () => Promise<Resolution>): Promise<HttpEntry<Tx>> {
  let found: Resolution;
  try {
    found = await ask();
    if (found !== 'rerun' && found !== 'refuse') checkFound(found);
  } catch (error) {
    await run.doubt();
    throw error;
  }
  if (found === 'rerun') return { kind: 'run', run };
  if (found === 'refuse') {
    await run.doubt();
    return answer(problemReply('unknown-outcome'));
  }
  const instead = await run.keep(found);
  return answer(instead ?? replayed(found));
}

function checkFound(found: HttpReply | undefined | null): void {
  if (typeof found?.status === 'number' && Array.isArray(found.headers)) return;
  const check = new OptionCheck('unknown()');
  check.refuse('what it answered', found, "answer { status, headers: [], body }, 'rerun' or 'refuse'");
  check.done();
}

function replyTo<Tx>(entry: Exclude<Entry<Tx>, { kind: 'run' | 'unguarded' }>): HttpReply {
  switch (entry.kind) {
    case 'mismatch':
      return problemReply('mismatch');
    case 'running':
      return problemReply('in-flight', {
        retryAfterS: Math.min(5, Math.max(1, Math.ceil(entry.leaseLeftMs / 10_000))),
      });
    case 'unknown':
      return problemReply('unknown-outcome');
    case 'store-down':
      return problemReply('store-down', { retryAfterS: 1 });
    case 'finished': {
      const kept = entry.reply === null ? undefined : keptHttpReply(entry.reply);
      return kept === undefined ? problemReply('reply-not-kept') : replayed(kept);
    }
  }
}

function replayed(reply: HttpReply): HttpReply {
  return { ...reply, headers: [...reply.headers, REPLAYED] };
}

function answer(reply: HttpReply): { readonly kind: 'answer'; readonly reply: HttpReply } {
  return { kind: 'answer', reply };
}
