import type { OnDead } from '../../src/relay/handler.ts';
import { type Effect, HANDLER_NAMES, type HandlerName, TYPES } from './handlers.ts';
import type { LedgerOfSends, SentMessage } from './ledger-of-sends.ts';

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
  delivered(): readonly {
    readonly id: string;
    readonly handler: string | undefined;
    readonly outcome: string;
    readonly version: number;
    readonly cycle: number;
    readonly attempts: number;
    readonly error: { readonly code?: string | undefined } | undefined;
  }[];
  /** Effects of committed transactions, in their order. */
  recorded(): readonly unknown[];
}

/** What is known at the end of a schedule. */
export interface EndState {
  readonly store: EndStore;
  readonly sends: LedgerOfSends;
  /** What the handler without a transaction did. */
  readonly ran: readonly Effect[];
  /** How often each handler threw for each message, by `handler/id`. */
  readonly threw: ReadonlyMap<string, number>;
  readonly onDead: Readonly<Record<HandlerName, OnDead>>;
  readonly deaths: number;
}

/** Everything that is not as promised. */
export function violations(end: EndState): readonly string[] {
  return [...endings(end), ...effects(end), ...attempts(end), ...HANDLER_NAMES.flatMap((name) => order(end, name))];
}

/** Every committed message ends once for each of its handlers; one that was rolled back is nowhere. */
function endings({ store, sends }: EndState): readonly string[] {
  const problems: string[] = [];
  const ends = new Map<string, number>();
  for (const { id, handler } of store.delivered()) {
    const name = `${handler}/${id}`;
    ends.set(name, (ends.get(name) ?? 0) + 1);
  }
  for (const row of store.deliveries())
    problems.push(`not finished: ${row.handler}/${row.id} is ${row.state} (unit ${row.unit}, starts ${row.starts})`);
  for (const message of sends.messages.values()) {
    for (const name of HANDLER_NAMES) {
      const isExpected = message.committedStep !== undefined && TYPES[name].includes(message.type);
      const found = ends.get(`${name}/${message.id}`) ?? 0;
      if (found !== (isExpected ? 1 : 0)) problems.push(`${name}/${message.id} ended ${found} times`);
      ends.delete(`${name}/${message.id}`);
    }
  }
  for (const name of ends.keys()) problems.push(`${name} ended and was never sent`);
  return problems;
}

/** An effect is kept exactly when its delivery is, once, and for the version that was delivered. */
function effects({ store, ran }: EndState): readonly string[] {
  const problems: string[] = [];
  const kept = new Map<string, Effect[]>();
  for (const effect of store.recorded() as readonly Effect[]) {
    const name = `${effect.handler}/${effect.id}`;
    kept.set(name, [...(kept.get(name) ?? []), effect]);
  }
  for (const { id, handler, outcome, version } of store.delivered()) {
    const name = `${handler}/${id}`;
    const found = kept.get(name) ?? [];
    if (handler === 'mail') {
      const isMissing =
        outcome === 'delivered' && !ran.some((effect) => effect.id === id && effect.version === version);
      if (isMissing) problems.push(`${name} is delivered, but never ran in version ${version}`);
      continue;
    }
    const expected = outcome === 'delivered' ? 1 : 0;
    if (found.length !== expected) problems.push(`${name} is ${outcome} and has ${found.length} effects`);
    for (const effect of found) {
      if (effect.version !== version)
        problems.push(`${name} has the effect of version ${effect.version}, not ${version}`);
    }
    kept.delete(name);
  }
  for (const name of kept.keys()) problems.push(`${name} has an effect and no delivery`);
  return problems;
}

/** Only what a handler threw counts as an attempt. */
function attempts({ store, threw, deaths }: EndState): readonly string[] {
  return store.delivered().flatMap(({ id, handler, attempts: counted, outcome, error }) => {
    const failed = outcome === 'delivered' ? counted - 1 : counted;
    const thrown = threw.get(`${handler}/${id}`) ?? 0;
    // Taken for the killer of its process: that needs three processes that died.
    const isBlamed = error?.code === 'PROCESS_KILLED' && deaths >= 3;
    return failed <= thrown || isBlamed ? [] : [`${handler}/${id} counts ${failed} failures and threw ${thrown} times`];
  });
}

/** Within a key, what was committed before another was sent takes effect before it. */
function order({ store, sends, ran, onDead }: EndState, name: HandlerName): readonly string[] {
  const problems: string[] = [];
  const finished = new Map(store.delivered().flatMap((row) => (row.handler === name ? [[row.id, row] as const] : [])));
  // Without a transaction a run may be repeated; what counts then is who ran first.
  const effectsInOrder = name === 'mail' ? ran : (store.recorded() as readonly Effect[]);
  const ids = new Set(effectsInOrder.filter(({ handler }) => handler === name).map(({ id }) => id));
  const lines = new Map<string, SentMessage[]>();
  for (const id of ids) {
    const message = sends.messages.get(id);
    const row = finished.get(id);
    if (
      message?.key === undefined ||
      !message.hasOrder ||
      message.isScheduled ||
      message.isFollowUp ||
      row?.outcome !== 'delivered'
    )
      continue;
    // A dead letter that lets the others pass comes back when it is replayed or edited, wherever they are then.
    if (onDead[name] === 'pass' && row.cycle + row.version > 0) continue;
    lines.set(message.key, [...(lines.get(message.key) ?? []), message]);
  }
  for (const line of lines.values()) {
    for (const [i, first] of line.entries()) {
      for (const later of line.slice(i + 1)) {
        if ((later.committedStep ?? Infinity) >= first.sentStep) continue;
        problems.push(`${name}: ${later.id} was committed before ${first.id} was sent, and took effect after it`);
      }
    }
  }
  return problems;
}
