import { describe, expect, test } from 'vitest';
import { idempotency, memoryIdempotency } from '../../src/idempotency/index.ts';
import { Pauses, type Step } from '../idempotency-http/pauses.ts';
import { type Calls, NoStock, type Shop, SHOPS } from './rpc-shops.ts';

/** Where a client leaves; `never` is the one that stays, whose outcome all others must find. */
const LEAVES = ['never', 'auth', 'claim', 'handler', 'end'] as const satisfies readonly (Step | 'never')[];
type Leave = (typeof LEAVES)[number];

const BIG = `${'x'.repeat(300_000)}ü€😀`;

function fail(error: Error): never {
  throw error;
}

/** What the handler does, and what a repetition gets. */
const REPLIES: Readonly<Record<string, readonly [make: () => string | null, again: RegExp]>> = {
  text: [() => 'placed', /placed/],
  nothing: [() => null, /null/],
  'big-text': [() => BIG, /xü€😀/],
  'too-big-to-store': [() => BIG + BIG, /not (?:been )?kept|not-kept/i],
  refusal: [() => fail(new NoStock()), /no stock/],
  'thrown-error': [() => fail(new Error('boom')), /^(?:200 .*errors|500|2 )/],
};

const effects = new Map<string, number>();

/** What one that sends it again gets, and how often it took effect. */
type Outcome = readonly [again: string | undefined, isReplay: boolean | undefined, effects: number];

async function outcomeOf(shop: Shop, pauses: Pauses, order: string, leave: Leave): Promise<Outcome> {
  if (leave === 'never') await shop.ask(order);
  else {
    const stop = pauses.hold(leave, order);
    await shop.leave(order, stop.reached);
    stop.go();
  }
  await expect.poll(() => shop.ask(order)).toBeDefined();
  // Where the handler was not called for a client that had left, that call was the first to run it.
  const again = await shop.ask(order);
  return [again?.text, again?.isReplay, effects.get(order) ?? 0];
}

describe.each(Object.entries(SHOPS))('%s and clients that leave', (name, open) => {
  test(`${name}: wherever its client leaves, before the guard too, the next gets what one that stayed would have got [S1.1] [X.15]`, async () => {
    const pauses = new Pauses('shop');
    effects.clear();
    // A claim that took too long would be taken back, whoever waits for it.
    const idem = idempotency({ service: 'shop', store: pauses.store(memoryIdempotency()), storeTimeoutMs: 60_000 });
    const calls: Calls = {
      auth: (order) => pauses.at('auth', order),
      place: async (order) => {
        effects.set(order, (effects.get(order) ?? 0) + 1);
        await pauses.at('handler', order);
        return REPLIES[order.split('.')[0] ?? '']?.[0]() ?? null;
      },
    };
    const shop = await open(idem, calls);
    const met = await Promise.all(
      Object.keys(REPLIES).map(async (kind) => {
        const outcomes = LEAVES.map((leave) => outcomeOf(shop, pauses, `${kind}.${leave}`, leave));
        return [kind, await Promise.all(outcomes)] as const;
      }),
    );
    for (const [kind, [stayed, ...left]] of met) {
      const isStored = kind !== 'too-big-to-store';
      expect([kind, ...(stayed ?? [])]).toEqual([kind, expect.stringMatching(REPLIES[kind]?.[1] ?? ''), isStored, 1]);
      expect([kind, left]).toEqual([kind, left.map(() => stayed)]);
    }
  });
});
