import { describe, expect, test } from 'vitest';
import { claimRecord, endRecord, renewRecord } from '../../src/idempotency/record-rules.ts';
import { beginning, movesFrom, type Policy, type Setup, textOf, type World } from './caller-model.ts';

interface Found {
  /** How many different worlds there are. */
  readonly worlds: number;
  /** The shortest way to something that must never be, if there is one. */
  readonly fault: { readonly problem: string; readonly steps: readonly string[] } | undefined;
  /** How those who have made an effect ended, over all worlds in which nothing more happens by itself. */
  readonly reached: ReadonlySet<string>;
}

/** Goes through every world that any order of steps leads to, the nearest first. */
function explore(setup: Setup): Found {
  interface Place {
    readonly world: World;
    readonly from: Place | undefined;
    readonly what: string;
  }
  const first: Place = { world: beginning(setup), from: undefined, what: '' };
  const seen = new Set([textOf(first.world)]);
  const reached = new Set<string>();
  const queue = [first];
  for (let at = 0; at < queue.length; at++) {
    const place = queue[at] ?? first;
    for (const { what, world, problem } of movesFrom(place.world, setup)) {
      if (problem !== undefined) {
        const steps = [what];
        for (let back: Place | undefined = place; back?.from; back = back.from) steps.unshift(back.what);
        return { worlds: seen.size, fault: { problem, steps }, reached };
      }
      const text = textOf(world);
      if (seen.has(text)) continue;
      seen.add(text);
      const makers = world.callers.filter(({ hasEffect }) => hasEffect);
      reached.add(`${makers.length} effects, record ${world.record?.status ?? 'gone'}`);
      queue.push({ world, from: place, what });
    }
  }
  return { worlds: seen.size, fault: undefined, reached };
}

// Up to a hundred thousand worlds each: a second or two on a machine that does nothing else.
const EXPLORING = { timeout: 300_000 };

describe('all interleavings of three callers and a crash', EXPLORING, () => {
  test.each<[string, readonly Policy[]]>([
    ['all refuse unknown outcomes', ['tell', 'tell', 'tell']],
    ['one of them runs again', ['tell', 'tell', 'take']],
    ['two of them run again', ['tell', 'take', 'take']],
    ['all run again', ['take', 'take', 'take']],
  ])(
    '%s: no second effect without an unknown outcome, no late end counts, no reply changes [X.15] [S1.1]',
    (_, policies) => {
      const { fault, reached, worlds } = explore({ policies });
      expect(fault).toBeUndefined();
      // The model is not idle: what may happen does.
      expect(worlds).toBeGreaterThan(10_000);
      expect(reached).toContain('0 effects, record gone');
      expect(reached).toContain('1 effects, record completed');
      expect(reached).toContain('1 effects, record processing');
      expect(reached.has('2 effects, record completed')).toBe(policies.includes('take'));
    },
  );
});

describe('a fault is found', EXPLORING, () => {
  test('an end that does not look at the owner, so that a late one counts', () => {
    const end: typeof endRecord = (found, claim, how, now) =>
      endRecord(found && { ...found, owner: claim.owner, status: 'processing' }, claim, how, now);
    const { fault } = explore({ policies: ['tell', 'tell', 'take'], rules: { end } });
    expect(fault?.problem).toMatch(/a finished reply changed|two effects, and both|let in after/);
  });

  test('a lease that ends and lets the next one in, whoever that is', () => {
    const claim: typeof claimRecord = (found, one, now) => claimRecord(found, { ...one, takeUnknown: true }, now);
    const { fault } = explore({ policies: ['tell', 'tell', 'tell'], rules: { claim } });
    expect(fault?.problem).toBe('let in after an effect, without being told');
    expect(fault?.steps).toContain('the lease ends');
  });

  test('a claim without an answer that is released, although it had taken over an unknown outcome', () => {
    const { fault } = explore({ policies: ['tell', 'tell', 'take'], undo: 'release' });
    expect(fault?.problem).toBe('let in after an effect, without being told');
    expect(fault?.steps.join()).toMatch(/takes effect.*the lease ends.*takes its claim back/);
  });

  test('one that is released because it was the first when it was asked, and has taken over since', () => {
    const { fault } = explore({ policies: ['tell', 'take', 'take'], undo: 'release-what-was-first' });
    expect(fault?.problem).toBe('let in after an effect, without being told');
    expect(fault?.steps).toContain('1 asks what it was given');
  });

  test('a sign of life that takes a claim back from the one that has taken over', () => {
    const renew: typeof renewRecord = (found, claim, now) =>
      renewRecord(found && { ...found, owner: claim.owner }, claim, now);
    const { fault } = explore({ policies: ['tell', 'take', 'take'], rules: { renew } });
    expect(fault?.problem).toBeDefined();
  });

  test('a claim that is granted while another runs', () => {
    const claim: typeof claimRecord = (found, one, now) =>
      claimRecord(found && { ...found, leaseUntil: 0 }, { ...one, takeUnknown: true }, now);
    const { fault } = explore({ policies: ['take', 'take', 'take'], rules: { claim } });
    expect(fault?.problem).toBe('two effects, and nothing was unknown in between');
  });
});
