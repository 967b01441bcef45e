import type { OnDead } from '../../src/relay/handler.ts';
import { type Effect, HANDLER_NAMES, type HandlerName, TYPES } from './handlers.ts';
import type { LedgerOfSends, SentMessage } from './ledger-of-sends.ts';
import type { Starts } from './starts.ts';

// Kills, pauses, lost leases and the search in a shared commit start it again; 30 s of four starts a second are far more.
const MOST_IN_VAIN = 60;

/** Faults of the way to the database that cost a message no attempt. */
const FREE_FAULTS = 2;

interface Finished {
  readonly id: string;
  readonly handler: string | undefined;
  readonly outcome: string;
  readonly version: number;
  readonly cycle: number;
  readonly rerun: number;
  readonly generation: number | undefined;
  readonly attempts: number;
  readonly error: { readonly code?: string | undefined } | undefined;
}

/** What is in a store at the end. */
export interface EndStore {
  deliveries(): readonly {
    readonly id: string;
    readonly handler: string | undefined;
    readonly state: string;
    readonly unit: number;
    readonly starts: number;
  }[];
  /** In the order of finishing. */
  delivered(): readonly Finished[];
  /** Effects of committed transactions, in their order. */
  recorded(): readonly unknown[];
}

/** What is known at the end of a schedule. */
export interface EndState {
  readonly store: EndStore;
  readonly sends: LedgerOfSends;
  /** What the handler without a transaction did. */
  readonly ran: readonly Effect[];
  /** How often each handler failed each message, by its own doing or by its time, by `handler/id`. */
  readonly failed: ReadonlyMap<string, number>;
  readonly starts: Starts;
  readonly onDead: Readonly<Record<HandlerName, OnDead>>;
  readonly deaths: number;
  /** Which generation a worker is of, where messages belong to one. */
  readonly generationOf: ((worker: number) => number | undefined) | undefined;
}

/** Everything that is not as promised. */
export function violations(end: EndState): readonly string[] {
  return [
    ...endings(end),
    ...effects(end),
    ...attempts(end),
    ...inVain(end),
    ...generations(end),
    ...HANDLER_NAMES.flatMap((name) => order(end, name)),
  ];
}

/**
 * Every committed message ends once for each of its handlers, and once more for each time that was run again on purpose; one
 * that was rolled back is nowhere.
 */
function endings({ store, sends }: EndState): readonly string[] {
  const problems: string[] = [];
  const ends = new Map<string, number[]>();
  for (const { id, handler, rerun } of store.delivered()) {
    const name = `${handler}/${id}`;
    ends.set(name, [...(ends.get(name) ?? []), rerun]);
  }
  for (const row of store.deliveries())
    problems.push(`not finished: ${row.handler}/${row.id} is ${row.state} (unit ${row.unit}, starts ${row.starts})`);
  for (const message of sends.messages.values()) {
    for (const handler of HANDLER_NAMES) {
      const name = `${handler}/${message.id}`;
      const isExpected = message.committedStep !== undefined && TYPES[handler].includes(message.type);
      const expected = Array.from({ length: isExpected ? 1 + (sends.reruns.get(name) ?? 0) : 0 }, (_, run) => run);
      const found = (ends.get(name) ?? []).toSorted((a, b) => a - b);
      if (found.join() !== expected.join())
        problems.push(`${name} ended as runs [${found.join()}], not [${expected.join()}]`);
      ends.delete(name);
    }
  }
  for (const name of ends.keys()) problems.push(`${name} ended and was never sent`);
  return problems;
}

/** The key a handler is given: the same at each attempt, another for an edited payload and for each run on purpose. */
function keyOf({ id, handler, version, rerun }: Finished): string {
  return `${id}:${handler}${version === 0 ? '' : `:v${version}`}${rerun === 0 ? '' : `:r${rerun}`}`;
}

/** An effect is kept exactly when its delivery is, once, and for the version that was delivered. */
function effects({ store, ran }: EndState): readonly string[] {
  const problems: string[] = [];
  const kept = new Map<string, Effect[]>();
  for (const effect of store.recorded() as readonly Effect[]) {
    kept.set(effect.key, [...(kept.get(effect.key) ?? []), effect]);
  }
  for (const row of store.delivered()) {
    const [key, { outcome, version }] = [keyOf(row), row];
    const found = kept.get(key) ?? [];
    if (row.handler === 'mail') {
      const isMissing = outcome === 'delivered' && !ran.some((effect) => effect.key === key);
      if (isMissing) problems.push(`${key} is delivered, but never ran`);
      continue;
    }
    const expected = outcome === 'delivered' ? 1 : 0;
    if (found.length !== expected) problems.push(`${key} is ${outcome} and has ${found.length} effects`);
    for (const effect of found) {
      if (effect.version !== version) problems.push(`${key} has the effect of version ${effect.version}`);
    }
    kept.delete(key);
  }
  for (const key of kept.keys()) problems.push(`${key} has an effect and no delivery`);
  return problems;
}

/** Only what a handler threw, or did not end in time, counts as an attempt, and what lost its connection after others that did. */
function attempts({ store, failed, starts, deaths }: EndState): readonly string[] {
  return store.delivered().flatMap(({ id, handler, attempts: counted, outcome, error }) => {
    const counts = outcome === 'delivered' ? counted - 1 : counted;
    const had = failed.get(`${handler}/${id}`) ?? 0;
    // Taken for the killer of its process: that needs three processes that died.
    const isBlamed = error?.code === 'PROCESS_KILLED' && deaths >= 5;
    const isFaulty = counts <= starts.of(`${handler}/${id}`) - FREE_FAULTS;
    return counts <= had || isFaulty || isBlamed ? [] : [`${handler}/${id} counts ${counts} failures and had ${had}`];
  });
}

/** No delivery is started again and again without anything of it being counted. */
function inVain({ starts }: EndState): readonly string[] {
  return starts
    .inVain()
    .flatMap(([name, most]) => (most > MOST_IN_VAIN ? [`${name} was started ${most} times and nothing counted`] : []));
}

/** A message is handled by workers of its own generation alone, or of one it was replayed into. */
function generations({ store, sends, ran, generationOf }: EndState): readonly string[] {
  if (!generationOf) return [];
  const problems: string[] = [];
  for (const { id, handler, worker } of [...ran, ...(store.recorded() as readonly Effect[])]) {
    const its = [sends.messages.get(id)?.generation, ...(sends.moves.get(`${handler}/${id}`) ?? [])];
    const found = generationOf(worker);
    if (!its.includes(found))
      problems.push(`${handler}/${id} of generation ${its.join()} was handled by one of ${found}`);
  }
  const finished = new Map(store.delivered().map((row) => [keyOf(row), row]));
  for (const { key, worker } of store.recorded() as readonly Effect[]) {
    const { generation } = finished.get(key) ?? {};
    if (generation !== generationOf(worker)) problems.push(`${key} ended in generation ${generation}, elsewhere`);
  }
  return problems;
}

/** Within a key, what was committed before another was sent takes effect before it. */
function order(end: EndState, name: HandlerName): readonly string[] {
  const problems: string[] = [];
  for (const line of linesOf(end, name)) {
    for (const [i, first] of line.entries()) {
      for (const later of line.slice(i + 1)) {
        if ((later.committedStep ?? Infinity) >= first.sentStep) continue;
        problems.push(`${name}: ${later.id} was committed before ${first.id} was sent, and took effect after it`);
      }
    }
  }
  return problems;
}

/** The messages of each key that have an order with each other, as their effects came. */
function linesOf({ store, sends, ran, onDead, generationOf }: EndState, name: HandlerName): Iterable<SentMessage[]> {
  const finished = new Map(
    store.delivered().flatMap((row) => (row.handler === name && row.rerun === 0 ? [[row.id, row] as const] : [])),
  );
  // Without a transaction a run may be repeated; what counts then is who ran first.
  const effectsInOrder = name === 'mail' ? ran : (store.recorded() as readonly Effect[]);
  const ids = new Set(effectsInOrder.filter(({ handler }) => handler === name).map(({ id }) => id));
  const lines = new Map<string, SentMessage[]>();
  for (const id of ids) {
    const message = sends.messages.get(id);
    const row = finished.get(id);
    if (message?.key === undefined || message.isScheduled || message.isFollowUp || row?.outcome !== 'delivered')
      continue;
    // A dead letter that lets the others pass comes back when it is replayed or edited, wherever they are then.
    if (onDead[name] === 'pass' && row.cycle + row.version > 0) continue;
    if (sends.passed.has(`${name}/${id}`)) continue;
    // Each generation has its own line, and what is replayed into another leaves its own.
    const generation = generationOf ? message.generation : undefined;
    if (generationOf && row.generation !== generation) continue;
    const line = `${generation}/${message.key}`;
    lines.set(line, [...(lines.get(line) ?? []), message]);
  }
  return lines.values();
}
