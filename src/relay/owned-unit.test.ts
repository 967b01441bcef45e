import { beforeEach, describe, expect, test } from 'vitest';
import { due, end, forgetTold, ownedUnit, row, start, told } from '../../test/support/watched-unit.ts';

beforeEach(forgetTold);

describe('a line', () => {
  test('lets one of a key run at a time, and messages without a key all at once', () => {
    const unit = ownedUnit();
    for (const delivery of [row(1, 'a'), row(2, 'a'), row(3, 'b'), row(4), row(5)]) unit.addReady(delivery);
    expect(told.runnable.map(({ seq }) => seq)).toEqual([1, 3, 4, 5]);
    start(unit);
    end(unit, row(1, 'a'));
    expect(told.runnable.map(({ seq }) => seq)).toEqual([3, 4, 5, 2]);
  });

  test('stands still behind a failed one until that is due and done', () => {
    const unit = ownedUnit();
    unit.addReady(row(1, 'a'));
    unit.addReady(row(2, 'a'));
    start(unit);
    end(unit, row(1, 'a'), 'waits');
    unit.addReady(row(3, 'a'));
    expect(told.runnable).toEqual([]);
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
    expect(told.runnable).toEqual([]);
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
    expect(told.runnable).toEqual([]);
    unit.passed(row(1, 'a'));
    expect(told.runnable.map(({ seq }) => seq)).toEqual([2]);
    expect(unit.skipsBlocked).toBe(true);
    expect(unit.waitingKeys).toBe(0);
  });

  test('is parked behind a dead one where the handler parks, together and once that is written, what comes later after it', () => {
    const unit = ownedUnit({ parks: true });
    for (const seq of [1, 2, 3]) unit.addReady(row(seq, 'a'));
    start(unit);
    end(unit, row(1, 'a'), 'blocks');
    unit.addReady(row(4, 'a'));
    unit.addReady(row(5, 'b'));
    expect(told.parked).toEqual([]);
    unit.buried(row(1, 'a'));
    unit.addReady(row(6, 'a'));
    expect(told.parked).toEqual([2, 3, 4]);
    for (const seq of [2, 3, 4]) {
      unit.settled(row(seq, 'a'), false);
      expect(told.parked).toEqual([2, 3, 4]);
      unit.buried(row(seq, 'a'));
    }
    expect(told.parked).toEqual([2, 3, 4, 6]);
    expect(told.runnable.map(({ seq }) => seq)).toEqual([5]);
  });

  test('is not parked while some of it that stand before still run: they may go back in line', () => {
    const unit = ownedUnit({ parks: true });
    for (const seq of [1, 2, 3]) unit.addReady(row(seq, 'a'));
    start(unit);
    expect(unit.takeMore('a', 1).map(({ seq }) => seq)).toEqual([2]);
    unit.started(row(2, 'a'));
    end(unit, row(1, 'a'), 'blocks');
    unit.buried(row(1, 'a'));
    expect(told.parked).toEqual([]);
    unit.interrupted(row(2, 'a'));
    unit.forget();
    unit.load({ unit: 7, poke: 0, holders: [{ key: 'a', seq: 1, isDead: true }] });
    unit.addReady(row(2, 'a'));
    expect(told.parked).toEqual([2]);
    unit.addReady(row(3, 'a'));
    unit.buried(row(2, 'a'));
    expect(told.parked).toEqual([2, 3]);
  });

  test('of a unit that was lost starts nothing more, whatever results of it still come in', () => {
    const unit = ownedUnit();
    for (const seq of [1, 2]) unit.addReady(row(seq, 'a'));
    start(unit);
    unit.ended(row(1, 'a'), 'passes');
    unit.forget();
    unit.settled(row(1, 'a'), false);
    unit.passed(row(1, 'a'));
    expect(told.runnable).toEqual([]);
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
    expect(told.wanted.map(({ seqs }) => seqs.length)).toEqual([50]);
    const [first] = told.wanted;
    if (!first) throw new Error('nothing was asked for');
    unit.addReady(row(101, 'a'));
    unit.addFetched(
      first.line,
      first.seqs.map((seq) => row(seq, 'a')),
    );
    expect(start(unit)).toBe(10);
  });
});

describe('a unit that is to leave', () => {
  test('tells when nothing runs there and nothing is being written any more', () => {
    const unit = ownedUnit();
    for (const delivery of [row(1), row(2), row(3)]) unit.addReady(delivery);
    for (let left = 3; left > 0; left -= 1) start(unit);
    end(unit, row(1));
    unit.phase = 'leaving';
    unit.interrupted(row(2));
    unit.ended(row(3), 'done');
    expect(told.quiet).toEqual([]);
    unit.settled(row(3), false);
    expect(told.quiet).toEqual([true]);
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
    expect(told.runnable.map(({ seq }) => seq)).toEqual([2]);
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
    expect(told.runnable).toEqual([]);
  });

  test('a row that was settled while a read was on its way is not taken from that read', () => {
    const unit = ownedUnit();
    unit.addDue(due(1));
    start(unit);
    unit.ended(due(1), 'waits');
    unit.settled(due(1), true);
    unit.addDue(due(1));
    expect(told.runnable).toEqual([]);
    unit.faded();
    unit.addDue(due(1));
    expect(told.runnable.map(({ seq }) => seq)).toEqual([1]);
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
    expect(told.runnable).toEqual([]);
    end(unit, row(1, 'a'));
    expect(told.runnable.map(({ seq }) => seq)).toEqual([2]);
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
    expect(unit.marks.isNeeded(suspect)).toBe(true);
    unit.marks.note(suspect, true);
    const again = row(1, undefined, { starts: 2 });
    expect([unit.marks.startsOf(again), unit.marks.isNeeded(again)]).toEqual([1, false]);
    unit.started(again);
    unit.ended(again, 'waits');
    unit.settled(again, false);
    expect(unit.marks.startsOf(again)).toBe(2);
    expect(unit.marks.takeAll()).toEqual([]);
  });

  test('a mark is taken back as long as the result is not written', () => {
    const unit = ownedUnit({ carefulStarts: 1 });
    const suspect = row(1, undefined, { starts: 1 });
    unit.marks.note(suspect, true);
    unit.started(suspect);
    unit.ended(suspect, 'waits');
    expect(unit.marks.takeAll()).toEqual([1]);
  });
});
