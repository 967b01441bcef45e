import { describe, expect, test } from 'vitest';
import { virtualTime } from '../testing/virtual-time.ts';
import type { SettleAnswer, Settlement } from './relay-store.ts';
import { type SettledAs, Settler } from './settler.ts';

const done = (seq: number, unit = 1): Settlement => ({
  kind: 'done',
  token: { unit, epoch: 1 },
  seq,
  state: 'ready',
  version: 0,
  cycle: 0,
  attempts: 1,
  durationMs: 1,
});

interface Batch {
  readonly seqs: readonly number[];
  readonly answer: PromiseWithResolvers<SettleAnswer>;
}

function settler(): { settler: Settler; batches: Batch[]; time: ReturnType<typeof virtualTime>; failures: unknown[] } {
  const time = virtualTime();
  const batches: Batch[] = [];
  const failures: unknown[] = [];
  const made = new Settler({
    effects: time,
    onFailure: (error) => void failures.push(error),
    settle: (settlements) => {
      const answer = Promise.withResolvers<SettleAnswer>();
      batches.push({ seqs: settlements.map(({ seq }) => seq), answer });
      return answer.promise;
    },
  });
  return { settler: made, batches, time, failures };
}

const all = ({ seqs }: Batch): SettleAnswer => ({ settled: new Set(seqs), lostUnits: new Set() });

describe('the settler', () => {
  test('writes results of the same moment in one batch, and what comes meanwhile in the next', async () => {
    const { settler: it, batches, time } = settler();
    for (const seq of [1, 2, 3]) it.add(done(seq), () => undefined);
    await time.advance(5);
    for (const seq of [4, 5]) it.add(done(seq), () => undefined);
    await time.advance(5);
    expect(batches.map(({ seqs }) => seqs)).toEqual([[1, 2, 3]]);
    for (const batch of batches) batch.answer.resolve(all(batch));
    await time.advance(0);
    expect(batches.map(({ seqs }) => seqs)).toEqual([
      [1, 2, 3],
      [4, 5],
    ]);
  });

  test('writes what is to be written together in one batch, however large that is then', async () => {
    const { settler: it, batches, time } = settler();
    for (let seq = 1; seq < 1_000; seq += 1) it.add(done(seq), () => undefined);
    const answers: SettledAs[] = [];
    const onAnswer = (answer: SettledAs): void => void answers.push(answer);
    it.addTogether([1_000, 1_001, 1_002].map((seq) => ({ settlement: done(seq), onAnswer })));
    for (let seq = 1_003; seq <= 2_002; seq += 1) it.add(done(seq), () => undefined);
    await time.advance(5);
    expect(batches.map(({ seqs }) => [seqs[0], seqs.at(-1)])).toEqual([
      [1, 1_002],
      [1_003, 2_002],
    ]);
    for (const batch of batches) batch.answer.resolve(all(batch));
    await time.advance(0);
    expect(answers).toEqual([{ kind: 'written' }, { kind: 'written' }, { kind: 'written' }]);
  });

  test('has at most two large batches on their way at once', async () => {
    const { settler: it, batches, time } = settler();
    for (let seq = 1; seq <= 3_500; seq += 1) it.add(done(seq), () => undefined);
    await time.advance(5);
    expect(batches.map(({ seqs }) => seqs.length)).toEqual([1_000, 1_000]);
    for (const batch of batches.slice()) batch.answer.resolve(all(batch));
    await time.advance(0);
    expect(batches.map(({ seqs }) => seqs.length)).toEqual([1_000, 1_000, 1_000, 500]);
  });

  test('tells each result apart: written, refused, of a lost unit, impossible', async () => {
    const { settler: it, batches, time } = settler();
    const answers = new Map<number, SettledAs>();
    for (const seq of [1, 2, 3, 4]) it.add(done(seq, seq === 3 ? 9 : 1), (answer) => void answers.set(seq, answer));
    await time.advance(5);
    const why = new Error('no');
    batches[0]?.answer.resolve({ settled: new Set([1]), lostUnits: new Set([9]), failed: new Map([[4, why]]) });
    await time.advance(0);
    expect([...answers.values()]).toEqual([
      { kind: 'written' },
      { kind: 'refused', isUnitLost: false },
      { kind: 'refused', isUnitLost: true },
      { kind: 'impossible', error: why },
    ]);
  });

  test('writes a batch again whose answer was lost', async () => {
    const { settler: it, batches, time, failures } = settler();
    let answered: SettledAs | undefined;
    it.add(done(1), (answer) => (answered = answer));
    await time.advance(5);
    batches[0]?.answer.reject(new Error('connection lost'));
    await time.advance(300);
    expect(batches.map(({ seqs }) => seqs)).toEqual([[1], [1]]);
    expect(failures).toHaveLength(1);
    // The lost one had been kept: the row is gone, so the second is refused, and nothing is done twice.
    batches[1]?.answer.resolve({ settled: new Set(), lostUnits: new Set() });
    await time.advance(0);
    expect(answered).toEqual({ kind: 'refused', isUnitLost: false });
    expect(it.isIdle).toBe(true);
  });

  test('leaves no timer behind when it is stopped, and takes nothing more', async () => {
    const { settler: it, batches, time } = settler();
    it.add(done(1), () => undefined);
    it.stop();
    it.add(done(2), () => undefined);
    await time.advance(1_000);
    expect(batches).toEqual([]);
    expect(time.pendingTimers).toBe(0);
    await it.whenIdle();
  });
});
