import { beforeEach, describe, expect, test } from 'vitest';
import { due, end, forgetTold, ownedUnit, row, start, told } from '../../test/support/watched-unit.ts';
import type { OwnedUnit } from './owned-unit.ts';

beforeEach(forgetTold);

describe('a wide line', () => {
  const places = { width: 3 };
  const lines = { width: () => places.width, retryHolds: () => true, onChange: () => () => undefined };
  const startAll = (unit: OwnedUnit): (number | undefined)[] => told.runnable.map(() => 0).map(() => start(unit));

  beforeEach(() => {
    places.width = 3;
  });

  /** Answers what the unit asked for last. */
  function bring(unit: OwnedUnit): readonly number[] {
    const { line, seqs } = told.wanted.pop() ?? { line: undefined, seqs: [] };
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
    expect([told.runnable.length, unit.bufferedChars, told.wanted.length]).toEqual([0, 0, 0]);
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
    expect([told.runnable.length, unit.bufferedChars]).toEqual([0, 0]);
    places.width = 1;
    unit.widened('a');
    expect(told.runnable.map(({ seq, payload }) => [seq, payload])).toEqual([[4, undefined]]);
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
      if (told.runnable.length === 0 && unit.runningCount === 1 && run.length < 5_000) dry += 1;
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
      const { line, seqs } = told.wanted.pop() ?? { line: undefined, seqs: [] };
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

  test('makes due ones ready that have no place, so that they are not read again and again', () => {
    places.width = 1;
    const unit = ownedUnit({ lines });
    for (let seq = 1; seq <= 1_000; seq += 1) unit.addDue(due(seq, 'a'));
    expect(told.runnable.map(({ seq }) => seq)).toEqual([1]);
    expect([told.linedUp[0], told.linedUp.length, unit.hasSettling]).toEqual([129, 872, true]);
    for (const seq of told.linedUp) unit.settled(due(seq, 'a'), true);
    unit.addDue(due(129, 'a'));
    expect([told.linedUp.length, unit.hasSettling]).toEqual([872, false]);
    unit.faded();
    unit.addReady(row(129, 'a'));
    unit.addDue(due(1_001, 'b'));
    expect(told.runnable.map(({ seq }) => seq)).toEqual([1, 1_001]);
  });

  test('takes one that was made ready also from a read that was faster than the answer to that', () => {
    places.width = 0;
    const unit = ownedUnit({ lines });
    unit.addDue(due(1, 'a'));
    places.width = 1;
    unit.addReady(row(1, 'a'));
    unit.settled(due(1, 'a'), false);
    expect([told.linedUp, told.runnable.map(({ state }) => state)]).toEqual([[1], ['ready']]);
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
    const unsure = {
      ...lines,
      width: (key: string): number => {
        if (key === 'throws') throw new Error('no idea');
        return Number.NaN;
      },
    };
    const unit = ownedUnit({ lines: unsure });
    for (const key of ['throws', 'none'])
      for (const seq of [1, 2]) unit.addReady(row(key === 'none' ? seq : seq + 5, key));
    expect(told.runnable.map(({ seq }) => seq)).toEqual([6, 1]);
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
