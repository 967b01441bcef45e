import { describe, expect, onTestFinished } from 'vitest';
import { constant, event, holdfast, policy } from '../../src/index.ts';
import { idempotency } from '../../src/idempotency/index.ts';
import { needs, type TestServer } from '../support/needs.ts';
import type { EscapeKind, EscapeStage } from './escape-kind.ts';

const test = needs('postgres');
const placed = event<{ n: number }>('order.placed');
const tries = policy({ maxAttempts: 3, schedule: constant(1) });

/** Runs work as an effect. Gives `kept`, or the code with which it failed in the end, and how often it was run. */
type Perform<Tx> = (work: (tx: Tx) => Promise<unknown>) => Promise<readonly [outcome: string, runs: number]>;

interface Way {
  readonly name: string;
  open<Tx>(stage: EscapeStage<Tx>): Promise<Perform<Tx>>;
}

/** Effects of messages: in `ctx.commit`, or as a handler of `project`. */
function messageWay(name: 'ctx.commit' | 'project'): Way {
  return {
    name,
    open: async <Tx>(stage: EscapeStage<Tx>): Promise<Perform<Tx>> => {
      const hf = holdfast({ service: 'orders', store: stage.store });
      const works: ((tx: Tx) => Promise<unknown>)[] = [];
      const runs: number[] = [];
      const effect = async (n: number, tx: Tx): Promise<void> => {
        runs[n] = (runs[n] ?? 0) + 1;
        await works[n]?.(tx);
      };
      if (name === 'project') hf.project(placed, 'book', ({ n }, tx) => effect(n, tx), { policy: tries });
      else hf.on(placed, 'book', ({ n }, ctx) => ctx.commit((tx) => effect(n, tx)), { policy: tries });
      const relay = await hf.start({ leaseMs: 5_000, pollMs: 20 });
      onTestFinished(() => relay.stop({ drainMs: 50 }));
      return async (work) => {
        const n = works.push(work) - 1;
        await stage.within(async (tx) => void (await hf.send(tx as Tx, placed, { n })));
        const outcome = `select coalesce(error ->> 'code', 'no code') from $.delivery
          where state = 2 and payload ->> 'n' = '${n}' union all
          select 'kept' from $.delivered where payload ->> 'n' = '${n}'`;
        await expect.poll(() => stage.column(outcome), { timeout: 10_000 }).toHaveLength(1);
        return [String((await stage.column(outcome))[0]), runs[n] ?? 0];
      };
    },
  };
}

/** Effects of a run under an idempotency key. */
const RUN: Way = {
  name: 'run.commit',
  open: async <Tx>(stage: EscapeStage<Tx>): Promise<Perform<Tx>> => {
    const once = idempotency({ service: 'orders', store: stage.idempotency });
    let keys = 0;
    return async (work) => {
      let runs = 0;
      const done = once.once(`key-${(keys += 1)}`, (run) =>
        run.commit(async (tx) => {
          runs += 1;
          await work(tx);
          return { ok: true };
        }),
      );
      const outcome = await done.then(() => 'kept', codeOf);
      return [outcome, runs];
    };
  },
};

const MESSAGES = [messageWay('ctx.commit'), messageWay('project')];

/** The code of ours in an error, also where a query builder has wrapped it. */
function codeOf(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code } = at as { code?: unknown };
    if (typeof code === 'string' && code.startsWith('TRANSACTION_')) return code;
  }
  return error instanceof Error
    ? `${(error as { code?: string }).code ?? error.name}: ${error.message}`
    : String(error);
}

/** What it is refused with, or `done`. */
async function outcomeOf(work: () => unknown): Promise<string> {
  try {
    await work();
    return 'done';
  } catch (error) {
    return codeOf(error);
  }
}

const REFUSED = [
  'commit',
  'Rollback;',
  '/* a /* nested */ comment */ commit',
  '-- a comment\nabort',
  ';end',
  'commit and chain',
  'rollback and chain',
  `prepare transaction 'escape'`,
  `commit prepared 'escape'`,
  `rollback prepared 'escape'`,
  'begin isolation level serializable',
  'set transaction read only',
  'set session characteristics as transaction read only',
  'set local transaction_read_only = on',
  'discard all',
];
const REFUSED_AMONG_OTHERS = ['select 1; commit', 'commit; begin', `select 'a;'';', $$;$$;/**/rollback;begin`];

/** One way to run effects of one client. */
interface Place<Tx> {
  readonly kind: EscapeKind<Tx>;
  readonly perform: Perform<Tx>;
  readonly insert: (tx: Tx, line: string) => PromiseLike<unknown>;
  /** What effects have left. */
  readonly lines: () => Promise<unknown[]>;
}

async function openPlace<Tx>(kind: EscapeKind<Tx>, way: Way, server: TestServer): Promise<Place<Tx>> {
  const stage = await kind.open(server);
  return {
    kind,
    perform: await way.open(stage),
    insert: (tx, line) => kind.insert(tx, `${stage.schema}.effect`, line),
    lines: () => stage.column('select line from $.effect order by line'),
  };
}

/** Each way out of a transaction of ours, for one client. Every client and every adapter passes it. */
export function describeEscapes<Tx>(kind: EscapeKind<Tx>): void {
  describe.for([...MESSAGES, RUN])(`an effect in $name, over ${kind.name},`, (way) => {
    test('cannot end its transaction: what would do so is refused before it runs [X.3]', async ({ postgres }) => {
      await cannotEnd(await openPlace(kind, way, postgres));
    });

    test('reaches nobody after its end: not its connection, and not the effect that has it by then [X.3]', async ({
      postgres,
    }) => {
      await reachesNobody(await openPlace(kind, way, postgres));
    });

    test('nests transactions as savepoints, which are kept or undone with it [X.3]', async ({ postgres }) => {
      const place = await openPlace(kind, way, postgres);
      await nests(place, 'savepoint', inSavepoint(kind));
      if (kind.nested) await nests(place, 'own', (tx, work) => kind.nested?.(tx, work) ?? Promise.resolve());
    });
  });
}

async function cannotEnd<Tx>({ kind, perform, insert, lines }: Place<Tx>): Promise<void> {
  const texts = [...REFUSED, ...(kind.hasMultiStatements === false ? [] : REFUSED_AMONG_OTHERS)];
  const outcomes: Record<string, string> = {};
  const swallows = await perform(async (tx) => {
    await insert(tx, 'before');
    for (const text of texts) outcomes[text] = await outcomeOf(() => kind.run(tx, text));
    for (const misuse of Object.values(kind.misuses ?? {})) await outcomeOf(() => misuse(tx));
    await insert(tx, 'commit; after');
  });
  expect(outcomes).toEqual(Object.fromEntries(texts.map((text) => [text, 'TRANSACTION_CONTROL'])));
  expect(swallows).toEqual(['kept', 1]);
  const fails = await perform(async (tx) => {
    await insert(tx, 'of a failed effect');
    await kind.run(tx, 'commit');
  });
  expect(fails).toEqual(['TRANSACTION_CONTROL', 1]);
  expect(await lines()).toEqual(['before', 'commit; after']);
}

async function reachesNobody<Tx>({ kind, perform, insert, lines }: Place<Tx>): Promise<void> {
  let old: Tx | undefined;
  const statements: readonly ((tx: Tx) => unknown)[] = [
    (tx) => insert(tx, 'late'),
    ...['select 1', 'rollback', 'commit', 'savepoint late'].map((text) => (tx: Tx) => kind.run(tx, text)),
    ...(kind.nested ? [(tx: Tx) => kind.nested?.(tx, async (inner) => void (await insert(inner, 'late')))] : []),
  ];
  const late = async (): Promise<string[]> => {
    for (const misuse of Object.values(kind.misuses ?? {})) await outcomeOf(() => misuse(old as Tx));
    return Promise.all(statements.map((statement) => outcomeOf(() => statement(old as Tx))));
  };
  const refused = statements.map(() => 'TRANSACTION_NOT_OPEN');

  const items = Promise.withResolvers<void>();
  let item: Promise<string> | undefined;
  const [first] = await perform(async (tx) => {
    old = tx;
    await insert(tx, 'first');
    // The others go on when one of them has failed.
    item ??= items.promise.then(() => outcomeOf(() => insert(tx, 'item')));
    throw Object.assign(new TypeError('one item is wrong'), { code: 'ITEM' });
  });
  expect(first).toMatch(/^ITEM/);
  expect(await late()).toEqual(refused);
  const second = await perform(async (tx) => {
    await insert(tx, 'second before');
    items.resolve();
    expect(await item).toBe('TRANSACTION_NOT_OPEN');
    expect(await late()).toEqual(refused);
    await insert(tx, 'second after');
    old = tx;
  });
  expect(second).toEqual(['kept', 1]);
  expect(await late()).toEqual(refused);
  expect(await lines()).toEqual(['second after', 'second before']);
}

type Nested<Tx> = (tx: Tx, work: (tx: Tx) => Promise<void>) => Promise<unknown>;

function inSavepoint<Tx>(kind: EscapeKind<Tx>): Nested<Tx> {
  return async (tx, work) => {
    await kind.run(tx, 'savepoint own');
    try {
      await work(tx);
      await kind.run(tx, 'release savepoint own');
    } catch (error) {
      await kind.run(tx, 'rollback to savepoint own');
      throw error;
    }
  };
}

async function nests<Tx>({ perform, insert, lines }: Place<Tx>, name: string, nested: Nested<Tx>): Promise<void> {
  const before = await lines();
  const thrown = new Error('undo');
  const works = await perform(async (tx) => {
    await nested(tx, async (inner) => void (await insert(inner, `${name} kept`)));
    const undone = nested(tx, async (inner) => {
      await insert(inner, `${name} undone`);
      throw thrown;
    });
    await expect(undone).rejects.toBe(thrown);
    await insert(tx, `${name} kept after it`);
  });
  expect(works).toEqual(['kept', 1]);
  const [outcome] = await perform(async (tx) => {
    await nested(tx, async (inner) => void (await insert(inner, `${name} of a failed effect`)));
    throw Object.assign(new TypeError('after it'), { code: 'AFTER' });
  });
  expect(outcome).toMatch(/^AFTER/);
  expect(await lines()).toEqual(
    [...before, `${name} kept`, `${name} kept after it`].toSorted((a, b) => (String(a) < String(b) ? -1 : 1)),
  );
}
