import { expect, test } from 'vitest';
import { FAULT_NAMES, type FaultName, usualFaults, WOVEN } from './fault-names.ts';
import { mixOf, planOf } from './plan.ts';
import { kindAt } from './step.ts';
import { StepSource } from './step-source.ts';

const ALL = { hasBroker: true, hasOwnServer: true, hasFront: true, hasOwnRedis: true };
const NONE = { hasBroker: false, hasOwnServer: false, hasFront: false, hasOwnRedis: false };

test('the same seed makes the same plan, and every fault of a moment is in it as often as there are rounds [X.11]', () => {
  const faults = FAULT_NAMES;
  const plan = planOf({ faults, rounds: 3, seed: 5 });
  expect(plan).toEqual(planOf({ faults, rounds: 3, seed: 5 }));
  expect(plan).not.toEqual(planOf({ faults, rounds: 3, seed: 6 }));
  for (const fault of FAULT_NAMES) {
    expect(plan.filter((one) => one === fault).length, fault).toBe(WOVEN.includes(fault) ? 0 : 3);
  }
});

test('faults that need a broker or a server of its own are left out where there is none [X.11]', () => {
  const missing = (usual: readonly FaultName[]): readonly FaultName[] =>
    FAULT_NAMES.filter((fault) => !usual.includes(fault));
  const ofFront = ['kill-api', 'kill-relay', 'redis-crash', 'redis-flush', 'redis-outage', 'api-failure'];
  expect(missing(usualFaults('chaos', NONE))).toEqual(['broker-outage', 'restart', ...ofFront]);
  expect(missing(usualFaults('chaos', { ...NONE, hasBroker: true, hasOwnServer: true }))).toEqual(ofFront);
  expect(usualFaults('load', ALL)).toEqual(expect.arrayContaining(ofFront));
  const given = usualFaults('load', { ...NONE, hasFront: true });
  expect(ofFront.filter((fault) => !given.includes(fault as FaultName))).toEqual(['kill-relay', 'redis-crash']);
});

test.each([10, 100, 2_000])('of %i messages some are flaky, some poison and some mended later [X.11]', (messages) => {
  const mix = mixOf({ messages, faults: FAULT_NAMES });
  const kinds = Array.from({ length: messages }, (_, at) => kindAt(at, mix));
  expect(new Set(kinds)).toEqual(new Set(['plain', 'flaky', 'poison', 'mended']));
  expect(mixOf({ messages, faults: ['cut'] })).toEqual({ flakyEvery: 0, poisonEvery: 0, mendedEvery: 0 });
});

test('one in a hundred of many messages fails, and one in two hundred is poison [S1.12]', () => {
  const mix = mixOf({ messages: 10_000, faults: FAULT_NAMES });
  const kinds = Array.from({ length: 10_000 }, (_, at) => kindAt(at, mix));
  expect(kinds.filter((kind) => kind === 'flaky').length).toBe(100);
  expect(kinds.filter((kind) => kind === 'poison').length).toBe(50);
});

test('connections have keys of their own, and each key is numbered without a gap [X.11]', () => {
  const mix = mixOf({ messages: 100, faults: [] });
  const source = new StepSource({ keys: 7, mix, seed: 1, reached: new Map([['k0', 4]]) });
  const [first, second] = [source.take(50, 0, 2), source.take(50, 1, 2)];
  const own = new Set(first.map(({ key }) => key));
  expect(second.filter(({ key }) => own.has(key))).toEqual([]);
  for (const [key, steps] of Map.groupBy([...first, ...second], (step) => step.key)) {
    const from = key === 'k0' ? 5 : 1;
    expect(steps.map(({ n }) => n)).toEqual(Array.from({ length: steps.length }, (_, at) => from + at));
  }
});
