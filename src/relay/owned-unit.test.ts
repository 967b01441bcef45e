import { beforeEach, describe, expect, test } from 'vitest';
import { bareEnvelope } from '../outbox/envelope.ts';
import type { KeyLine } from './key-line.ts';
import { OwnedUnit } from './owned-unit.ts';
import type { Lines } from './lines.ts';
import type { Delivery } from './relay-store.ts';

let runnable: Delivery[] = [];
let parked: number[] = [];
let wanted: { line: KeyLine; seqs: readonly number[]; isAhead: boolean }[] = [];

beforeEach(() => {
  runnable = [];
  parked = [];
  wanted = [];
});

function ownedUnit(options: { parks?: boolean; carefulStarts?: number; lines?: Lines } = {}): OwnedUnit {
  const sink = {
    runnable: (delivery: Delivery) => void runnable.push(delivery),
    parked: (_: OwnedUnit, { seq }: Delivery) => void parked.push(seq),
    wanted: (_: OwnedUnit, line: KeyLine, seqs: readonly number[], isAhead: boolean) =>
      void wanted.push({ line, seqs, isAhead }),
  };
  const { parks = false, carefulStarts = 0, lines } = options;
  const unit = new OwnedUnit({ unit: 7, epoch: 1 }, sink, { parks, carefulStarts, lines });
  unit.load({ unit: 7, poke: 0, holders: [] });
  return unit;
}

function row(seq: number, key?: string, more: Partial<Delivery> = {}): Delivery {
  return {
    ...bareEnvelope('s'),
    unit: 7,
    seq,
    state: 'ready',
    version: 0,
    id: `id-${seq}`,
    type: 't',
    key,
    payload: '{}',
    attempts: 0,
    cycle: 0,
    rerun: 0,
    retry: undefined,
    starts: 0,
    idempotencyKey: `id-${seq}`,
    createdAtMs: 0,
    ...more,
  };
}

const due = (seq: number, key?: string): Delivery => row(seq, key, { state: 'waiting' });

/** Starts the next one that may run, and gives its place in line. */
function start(unit: OwnedUnit): number | undefined {
  const next = runnable.shift();
  if (next) unit.started(next);
  return next?.seq;
}

function end(unit: OwnedUnit, delivery: Delivery, change: Parameters<OwnedUnit['ended']>[1] = 'done'): void {
  unit.ended(delivery, change);
  unit.settled(delivery, false);
}

describe('a line', () => {
  test('lets one of a key run at a time, and messages without a key all at once', () => {
    const unit = ownedUnit();
    for (const delivery of [row(1, 'a'), row(2, 'a'), row(3, 'b'), row(4), row(5)]) unit.addReady(delivery);
    expect(runnable.map(({ seq }) => seq)).toEqual([1, 3, 4, 5]);
    start(unit);
    end(unit, row(1, 'a'));
    expect(runnable.map(({ seq }) => seq)).toEqual([3, 4, 5, 2]);
  });

  test('stands still behind a failed one until that is due and done', () => {
    const unit = ownedUnit();
    unit.addReady(row(1, 'a'));
    unit.addReady(row(2, 'a'));
    start(unit);
    end(unit, row(1, 'a'), 'waits');
    unit.addReady(row(3, 'a'));
    expect(runnable).toEqual([]);
    unit.addDue(due(1, 'a'));
    expect(start(unit)).toBe(1);
    end(unit, due(1, 'a'));
    expect(start(unit)).toBe(2);
  });

  test('runs several holders of a key in their order, whichever is due first', () => {
    const unit = ownedUnit();
    unit.forget();
    unit.load({
      unit: 7,
      poke: 1,
      holders: [
        { key: 'a', seq: 2, isDead: false },
        { key: 'a', seq: 5, isDead: false },
        { key: 'a', seq: 3, isDead: false },
      ],
    });
    unit.addDue(due(5, 'a'));
    unit.addDue(due(3, 'a'));
    expect(runnable).toEqual([]);
    unit.addDue(due(2, 'a'));
    for (const seq of [2, 3, 5]) {
      expect(start(unit)).toBe(seq);
      end(unit, due(seq, 'a'));
    }
  });

  test('goes on past a dead one that passes, and not past one that blocks', () => {
    const unit = ownedUnit();
    for (const key of ['a', 'b']) for (const seq of [1, 2]) unit.addReady(row(key === 'a' ? seq : seq + 10, key));
    expect([start(unit), start(unit)]).toEqual([1, 11]);
    end(unit, row(1, 'a'), 'passes');
    end(unit, row(11, 'b'), 'blocks');
    expect(runnable).toEqual([]);
    unit.passed(row(1, 'a'));
    expect(runnable.map(({ seq }) => seq)).toEqual([2]);
    expect(unit.skipsBlocked).toBe(true);
    expect(unit.waitingKeys).toBe(0);
  });

  test('is set aside behind a dead one where the handler parks, what comes later too', () => {
    const unit = ownedUnit({ parks: true });
    for (const seq of [1, 2, 3]) unit.addReady(row(seq, 'a'));
    start(unit);
    end(unit, row(1, 'a'), 'blocks');
    unit.addReady(row(4, 'a'));
    unit.addReady(row(5, 'b'));
    expect(parked).toEqual([2, 3, 4]);
    expect(runnable.map(({ seq }) => seq)).toEqual([5]);
  });

  test('keeps only places beyond the first few, and asks for their deliveries when their turn comes', () => {
    const unit = ownedUnit();
    for (let seq = 1; seq <= 100; seq += 1) unit.addReady(row(seq, 'a'));
    const run: number[] = [];
    for (let seq = start(unit); seq !== undefined; seq = start(unit)) {
      run.push(seq);
      end(unit, row(seq, 'a'));
    }
    expect(run).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(wanted.map(({ seqs }) => seqs.length)).toEqual([50]);
    const [first] = wanted;
    if (!first) throw new Error('nothing was asked for');
    unit.addReady(row(101, 'a'));
    unit.addFetched(
      first.line,
      first.seqs.map((seq) => row(seq, 'a')),
    );
    expect(start(unit)).toBe(10);
  });
});

describe('a wide line', () => {
  const places = { width: 3 };
  const lines = { width: () => places.width, retryHolds: () => true, onChange: () => () => undefined };
  const startAll = (unit: OwnedUnit): (number | undefined)[] => runnable.map(() => 0).map(() => start(unit));

  beforeEach(() => {
    places.width = 3;
  });

  /** Answers what the unit asked for last. */
  function bring(unit: OwnedUnit): readonly number[] {
    const { line, seqs } = wanted.pop() ?? { line: undefined, seqs: [] };
    if (line)
      unit.addFetched(
        line,
        seqs.map((seq) => row(seq, line.key)),
      );
    return seqs;
  }

  test('lets as many of a key run at once as it is wide, in their order', () => {
    const unit = ownedUnit({ lines });
    for (const seq of [1, 2, 3, 4, 5]) unit.addReady(row(seq, 'a'));
    expect(startAll(unit)).toEqual([1, 2, 3]);
    end(unit, row(2, 'a'));
    expect(startAll(unit)).toEqual([4]);
  });

  test('keeps a place for one that waits for its retry, and the others go on', () => {
    const unit = ownedUnit({ lines });
    for (const seq of [1, 2, 3, 4, 5, 6]) unit.addReady(row(seq, 'a'));
    startAll(unit);
    end(unit, row(1, 'a'), 'waits');
    expect(startAll(unit)).toEqual([]);
    end(unit, row(2, 'a'));
    end(unit, row(3, 'a'));
    expect(startAll(unit)).toEqual([4, 5]);
    unit.addDue(due(1, 'a'));
    expect(startAll(unit)).toEqual([1]);
    end(unit, due(1, 'a'));
    expect(startAll(unit)).toEqual([6]);
  });

  test('gives the place of one that yields to the next, and takes it back in line when it is due', () => {
    places.width = 1;
    const unit = ownedUnit({ lines });
    for (const seq of [1, 2, 3]) unit.addReady(row(seq, 'a'));
    expect(startAll(unit)).toEqual([1]);
    end(unit, row(1, 'a'), 'yields');
    expect(startAll(unit)).toEqual([2]);
    unit.addDue(due(1, 'a'));
    end(unit, row(2, 'a'));
    expect(startAll(unit)).toEqual([3]);
    end(unit, row(3, 'a'));
    expect(startAll(unit)).toEqual([1]);
  });

  test('stands still behind a dead one that blocks, but for what stands before that', () => {
    const unit = ownedUnit({ lines });
    for (const seq of [1, 2, 3, 4]) unit.addReady(row(seq, 'a'));
    startAll(unit);
    end(unit, row(1, 'a'), 'waits');
    end(unit, row(2, 'a'), 'blocks');
    end(unit, row(3, 'a'), 'waits');
    unit.addDue(due(3, 'a'));
    expect(startAll(unit)).toEqual([]);
    unit.addDue(due(1, 'a'));
    expect(startAll(unit)).toEqual([1]);
    end(unit, due(1, 'a'));
    expect(startAll(unit)).toEqual([]);
  });

  test('of width 0 starts nothing and keeps only places in line, until it hears that it is wider', () => {
    places.width = 0;
    const unit = ownedUnit({ lines });
    for (let seq = 1; seq <= 5_000; seq += 1) unit.addReady(row(seq, 'a'));
    expect([runnable.length, unit.bufferedChars, wanted.length]).toEqual([0, 0, 0]);
    places.width = 2;
    unit.widened('a');
    expect(bring(unit).length).toBeGreaterThan(1);
    expect(startAll(unit)).toEqual([1, 2]);
  });

  test('drops the payloads of what waits in it when it becomes 0 wide', () => {
    const unit = ownedUnit({ lines });
    for (let seq = 1; seq <= 100; seq += 1) unit.addReady(row(seq, 'a'));
    startAll(unit);
    expect(unit.bufferedChars).toBeGreaterThan(0);
    places.width = 0;
    for (const seq of [1, 2, 3]) end(unit, row(seq, 'a'));
    expect([runnable.length, unit.bufferedChars]).toEqual([0, 0]);
    places.width = 1;
    unit.widened('a');
    expect(runnable.map(({ seq, payload }) => [seq, payload])).toEqual([[4, undefined]]);
  });

  test('asks for more of its tail before it runs dry, in large parts, in its order', () => {
    const unit = ownedUnit({ lines });
    for (let seq = 1; seq <= 5_000; seq += 1) unit.addReady(row(seq, 'a'));
    const run: number[] = [];
    let dry = 0;
    let asked = 0;
    while (run.length < 5_000) {
      const seq = start(unit);
      if (seq === undefined) break;
      run.push(seq);
      if (runnable.length === 0 && unit.runningCount === 1 && run.length < 5_000) dry += 1;
      end(unit, row(seq, 'a'));
      asked += Number(bring(unit).length > 0);
    }
    expect(run).toEqual(Array.from({ length: 5_000 }, (_, i) => i + 1));
    expect(dry).toBe(0);
    expect(asked).toBeLessThan(20);
  });

  test('fetches fewer at once where they are large', () => {
    const unit = ownedUnit({ lines });
    for (let seq = 1; seq <= 2_000; seq += 1) unit.addReady(row(seq, 'a', { payload: 'x'.repeat(4_000) }));
    expect(unit.bufferedChars).toBeLessThan(600_000);
    const asked: number[] = [];
    for (let seq = start(unit); seq !== undefined; seq = start(unit)) {
      end(unit, row(seq, 'a'));
      const { line, seqs } = wanted.pop() ?? { line: undefined, seqs: [] };
      if (line) {
        asked.push(seqs.length);
        unit.addFetched(
          line,
          seqs.map((at) => row(at, 'a', { payload: 'x'.repeat(4_000) })),
        );
      }
    }
    expect(Math.max(...asked)).toBeLessThan(100);
  });

  test('counts one that runs again once, also when the unit is loaded meanwhile', () => {
    places.width = 2;
    const unit = ownedUnit({ lines });
    unit.addReady(row(1, 'a'));
    startAll(unit);
    end(unit, row(1, 'a'), 'waits');
    unit.addDue(due(1, 'a'));
    startAll(unit);
    unit.forget();
    unit.load({ unit: 7, poke: 1, holders: [{ key: 'a', seq: 1, isDead: false }] });
    unit.addReady(row(2, 'a'));
    unit.addReady(row(3, 'a'));
    expect(startAll(unit)).toEqual([2]);
  });

  test('keeps the order where its width cannot be told', () => {
    const told = {
      ...lines,
      width: (key: string): number => {
        if (key === 'throws') throw new Error('no idea');
        return Number.NaN;
      },
    };
    const unit = ownedUnit({ lines: told });
    for (const key of ['throws', 'none'])
      for (const seq of [1, 2]) unit.addReady(row(key === 'none' ? seq : seq + 5, key));
    expect(runnable.map(({ seq }) => seq)).toEqual([6, 1]);
  });

  test('does not wait for the results of its key, which are written without end', () => {
    const unit = ownedUnit({ lines });
    unit.addReady(row(1, 'a'));
    startAll(unit);
    unit.ended(row(1, 'a'), 'done');
    expect(unit.whenSettled('a')).toBeUndefined();
    places.width = 1;
    expect(unit.whenSettled('a')).toBeDefined();
  });
});

describe('what is known', () => {
  test('loading forgets a holder that was freed by somebody else after its run ended', () => {
    const unit = ownedUnit();
    unit.addReady(row(1, 'a'));
    start(unit);
    unit.forget();
    end(unit, row(1, 'a'), 'waits');
    unit.load({ unit: 7, poke: 1, holders: [] });
    unit.addReady(row(2, 'a'));
    expect(runnable.map(({ seq }) => seq)).toEqual([2]);
  });

  test('a row that runs or is being written is not started again when it is read again', () => {
    const unit = ownedUnit();
    unit.addReady(row(1));
    start(unit);
    unit.forget();
    unit.load({ unit: 7, poke: 0, holders: [] });
    unit.addReady(row(1));
    unit.ended(row(1), 'done');
    unit.addReady(row(1));
    expect(runnable).toEqual([]);
  });

  test('a row that was settled while a read was on its way is not taken from that read', () => {
    const unit = ownedUnit();
    unit.addDue(due(1));
    start(unit);
    unit.ended(due(1), 'waits');
    unit.settled(due(1), true);
    unit.addDue(due(1));
    expect(runnable).toEqual([]);
    unit.faded();
    unit.addDue(due(1));
    expect(runnable.map(({ seq }) => seq)).toEqual([1]);
  });

  test('starting over keeps the key of what runs busy', () => {
    const unit = ownedUnit();
    unit.addReady(row(1, 'a'));
    unit.addReady(row(2, 'a'));
    start(unit);
    unit.forget();
    unit.load({ unit: 7, poke: 0, holders: [] });
    unit.addReady(row(1, 'a'));
    unit.addReady(row(2, 'a'));
    expect(runnable).toEqual([]);
    end(unit, row(1, 'a'));
    expect(runnable.map(({ seq }) => seq)).toEqual([2]);
  });

  test('a key is settled when the last of its results is written', async () => {
    const unit = ownedUnit();
    unit.addReady(row(1, 'a'));
    start(unit);
    unit.ended(row(1, 'a'), 'done');
    expect(unit.whenSettled('b')).toBeUndefined();
    const settled = unit.whenSettled('a');
    unit.settled(row(1, 'a'), false);
    await settled;
    expect(unit.isQuiet).toBe(true);
  });
});

describe('starts', () => {
  test('what this process marked itself does not count against a message', () => {
    const unit = ownedUnit({ carefulStarts: 1 });
    const suspect = row(1, undefined, { starts: 1 });
    expect(unit.needsMark(suspect)).toBe(true);
    unit.noteMark(suspect, true);
    const again = row(1, undefined, { starts: 2 });
    expect([unit.startsOf(again), unit.needsMark(again)]).toEqual([1, false]);
    unit.started(again);
    unit.ended(again, 'waits');
    unit.settled(again, false);
    expect(unit.startsOf(again)).toBe(2);
    expect(unit.takeMarks()).toEqual([]);
  });

  test('a mark is taken back as long as the result is not written', () => {
    const unit = ownedUnit({ carefulStarts: 1 });
    const suspect = row(1, undefined, { starts: 1 });
    unit.noteMark(suspect, true);
    unit.started(suspect);
    unit.ended(suspect, 'waits');
    expect(unit.takeMarks()).toEqual([1]);
  });
});
