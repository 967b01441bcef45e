import type { BreakerRecord } from './breaker-record.ts';
import type { Bulk } from './bulk.ts';
import type { ErrorGroup } from './error-group.ts';
import type { Attention, HandlerOverview } from './overview.ts';
import { counted, formatDuration } from './words.ts';

/** What is looked at to say whether somebody is needed. */
export interface AttentionFacts {
  /** Everything is paused. */
  readonly isPaused: boolean;
  /** Live ones. */
  readonly workers: number;
  readonly handlers: readonly HandlerOverview[];
  /** Those that are not closed. */
  readonly breakers: readonly BreakerRecord[];
  /** Destinations of HTTP deliveries whose breakers are not closed; at most 100. `isHeld`: somebody has opened it. */
  readonly destinations: readonly {
    readonly destination: string;
    readonly isHeld: boolean;
    readonly error: string | undefined;
  }[];
  /** Open ones with dead letters. Those that are ignored are nobody's business. */
  readonly groups: readonly Pick<ErrorGroup, 'id' | 'service' | 'handler' | 'pending' | 'error'>[];
  /** There are more groups than these. */
  readonly hasMoreGroups: boolean;
  /** Keys that stand still behind a dead letter; counted up to 1,000. */
  readonly heldKeys: number;
  /** Messages whose type no handler takes. */
  readonly withoutHandler: readonly { readonly type: string; readonly count: number }[];
  readonly isFull: boolean;
  readonly pausedBulks: readonly Pick<Bulk, 'id' | 'pausedFor'>[];
  /** How long ago the housekeeper looked last; absent: never. */
  readonly sampledMsAgo: number | undefined;
  /** How long the first of the live workers has lived. */
  readonly aliveMs: number | undefined;
}

/** A ready delivery that waits for longer is late. */
const LATE_MS = 60_000;
/** The housekeeper looks every few seconds. */
const SILENT_MS = 120_000;

/** What needs somebody, the worst first: nothing runs, then nothing is taken, then something stands still, then what has failed. */
export function attentionOf(facts: AttentionFacts): readonly Attention[] {
  const stopped = stoppedBreakers(facts);
  return [
    ...noWorker(facts),
    ...full(facts),
    ...pausedAll(facts),
    ...stopped.attention,
    ...stoppedDestinations(facts),
    ...late(facts, stopped.handlers),
    ...withoutHandler(facts),
    ...deadLetters(facts),
    ...heldKeys(facts),
    ...pausedHandlers(facts),
    ...pausedBulks(facts),
    ...notSampled(facts),
  ];
}

/** One sentence. `oldestMs`: of the oldest ready delivery. */
export function verdictOf(attention: readonly Attention[], oldestMs: number | undefined): string {
  if (attention.length === 1) return '1 thing needs you';
  if (attention.length > 1) return `${attention.length} things need you`;
  return oldestMs === undefined ? 'All good: nothing waits' : `All good: oldest message ${inWords(oldestMs)}`;
}

/** `0.4 s`, `12 s`, `3 min`. */
function inWords(ms: number): string {
  return ms < 10_000 ? `${(ms / 1_000).toFixed(1)} s` : formatDuration(ms);
}

function noWorker({ workers, handlers }: AttentionFacts): readonly Attention[] {
  const unserved = handlers.filter((one) => one.workers.length === 0 && one.pending + one.waiting > 0);
  if (workers === 0) {
    const open = unserved.reduce((sum, one) => sum + one.pending + one.waiting, 0);
    const waits = open === 0 ? 'what is sent waits' : counted(open, 'delivery waits', 'deliveries wait');
    return [{ kind: 'no-worker', text: `No worker is running: ${waits}`, link: 'system' }];
  }
  return unserved.map((one): Attention => {
    const open = counted(one.pending + one.waiting, 'delivery waits', 'deliveries wait');
    return { kind: 'no-worker', text: `${nameOf(one)} has no worker: ${open}`, link: handlerLink('messages', one) };
  });
}

function full({ isFull }: AttentionFacts): readonly Attention[] {
  if (!isFull) return [];
  return [{ kind: 'outbox-full', text: 'The outbox is full: sending is refused', link: 'messages?status=pending' }];
}

function pausedAll({ isPaused }: AttentionFacts): readonly Attention[] {
  return isPaused ? [{ kind: 'paused', text: 'Everything is paused', link: 'handlers' }] : [];
}

function stoppedBreakers({ breakers }: AttentionFacts): {
  readonly attention: readonly Attention[];
  readonly handlers: ReadonlySet<string>;
} {
  const open = breakers.filter(({ state }) => state !== 'closed');
  const handlers = open.flatMap(({ service, handlers: names }) => names.map((name) => fullName(service, name)));
  const attention = open.map(({ service, name, error, waiting }): Attention => {
    const why = error === undefined ? '' : ` (${error.code ?? error.name})`;
    const text = `The breaker ${service}/${name} is open${why}: ${counted(waiting, 'message waits', 'messages wait')}`;
    return { kind: 'breaker-open', text, link: 'breakers' };
  });
  return { attention, handlers: new Set(handlers) };
}

/** Several are told as one thing: a provider that is away has many names. */
function stoppedDestinations({ destinations }: AttentionFacts): readonly Attention[] {
  const [first] = destinations;
  if (first === undefined) return [];
  const link = 'destinations';
  if (destinations.length > 1) {
    const text = `The breakers of ${destinations.length} destinations are open: what goes there waits`;
    return [{ kind: 'breaker-open', text, link }];
  }
  const why = first.isHeld ? ' (opened by hand)' : first.error === undefined ? '' : ` (${first.error})`;
  return [
    { kind: 'breaker-open', text: `The breaker of ${first.destination} is open${why}: what goes there waits`, link },
  ];
}

/** One that stands still on purpose, or because something else does, is told of once. */
function late({ handlers, isPaused }: AttentionFacts, stopped: ReadonlySet<string>): readonly Attention[] {
  if (isPaused) return [];
  return handlers
    .filter((one) => one.workers.length > 0 && one.pausedAt === undefined && !stopped.has(nameOf(one)))
    .flatMap((one) => (one.oldestMs !== undefined && one.oldestMs >= LATE_MS ? [{ one, oldestMs: one.oldestMs }] : []))
    .sort((a, b) => b.oldestMs - a.oldestMs)
    .map(({ one, oldestMs }): Attention => {
      const text = `${nameOf(one)} is ${inWords(oldestMs)} late: ${counted(one.pending, 'delivery is', 'deliveries are')} ready`;
      return { kind: 'late', text, link: `${handlerLink('messages', one)}&status=pending` };
    });
}

function withoutHandler({ withoutHandler: types }: AttentionFacts): readonly Attention[] {
  return types.map(({ type, count }) => ({
    kind: 'no-handler',
    text: `No handler takes ${type}: ${counted(count, 'message waits', 'messages wait')}`,
    link: `messages?type=${encodeURIComponent(type)}`,
  }));
}

function deadLetters({ groups, hasMoreGroups }: AttentionFacts): readonly Attention[] {
  const [first] = groups;
  if (first === undefined) return [];
  const count = groups.reduce((sum, { pending }) => sum + pending, 0);
  const letters = counted(count, 'dead letter', 'dead letters');
  if (groups.length === 1 && !hasMoreGroups) {
    const text = `${letters} of ${nameOf(first)}: ${first.error.code ?? first.error.name}`;
    return [{ kind: 'dead-letters', text, link: `dead-letters?group=${encodeURIComponent(first.id)}` }];
  }
  const more = hasMoreGroups ? 'more than ' : '';
  return [{ kind: 'dead-letters', text: `${more}${letters} of ${more}${groups.length} causes`, link: 'dead-letters' }];
}

function heldKeys({ heldKeys: count }: AttentionFacts): readonly Attention[] {
  if (count === 0) return [];
  const text = `${counted(count, 'key stands', 'keys stand')} still behind a dead letter`;
  return [{ kind: 'keys-held', text, link: 'keys' }];
}

function pausedHandlers({ handlers }: AttentionFacts): readonly Attention[] {
  return handlers
    .filter(({ pausedAt }) => pausedAt !== undefined)
    .map((one) => ({ kind: 'paused', text: `${nameOf(one)} is paused`, link: handlerLink('handlers', one) }));
}

function pausedBulks({ pausedBulks: bulks }: AttentionFacts): readonly Attention[] {
  return bulks.map(({ id, pausedFor }) => ({
    kind: 'bulk-paused',
    text: `A bulk operation is paused${pausedFor === undefined ? '' : `: ${pausedFor}`}`,
    link: `bulk/${id}`,
  }));
}

function notSampled({ sampledMsAgo, aliveMs }: AttentionFacts): readonly Attention[] {
  // Without a worker there is nobody to look, and that is told already.
  if (aliveMs === undefined || aliveMs < SILENT_MS) return [];
  if (sampledMsAgo !== undefined && sampledMsAgo < SILENT_MS) return [];
  const since = sampledMsAgo === undefined ? 'ever' : `for ${inWords(sampledMsAgo)}`;
  return [{ kind: 'not-sampled', text: `No housekeeper has looked ${since}: numbers are old`, link: 'system' }];
}

function nameOf({ service, handler }: { readonly service: string; readonly handler: string }): string {
  return fullName(service, handler);
}

function fullName(service: string, name: string): string {
  return name.includes('/') ? name : `${service}/${name}`;
}

function handlerLink(page: string, one: { readonly service: string; readonly handler: string }): string {
  return `${page}?handler=${encodeURIComponent(nameOf(one))}`;
}
