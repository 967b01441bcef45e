import { describe, expect } from 'vitest';
import { needs } from '../support/needs.ts';
import { ADAPTERS } from './adapters.ts';
import { newOrder, openEffects, outcome, type Placed, send, settled } from './orders.ts';
import { stepProcess } from './step-process.ts';
import { type Step, STEPS } from './steps.ts';

const test = needs('postgres', 'redis');
const PROGRAM = new URL('step-server.ts', import.meta.url);

/** What the one who sends it again gets, and how often it has taken effect: when the process had died, and after that. */
type Outcome = readonly [answer: 'runs' | 'replayed' | 'found' | 'unknown', effectsThen: number, effectsNow: number];

/** Where some of the reply has been sent. */
const HALVES: ReadonlySet<string> = new Set<Step>(['sending', 'streaming', 'streamed']);

const UNCLAIMED: Outcome = ['runs', 0, 1];
const STORED: Outcome = ['replayed', 1, 1];
const WHOLE = { 'before-claim': UNCLAIMED, 'after-end': STORED, sending: STORED } as const;

const REFUSED: Readonly<Partial<Record<Step, Outcome>>> = {
  ...WHOLE,
  'after-claim': ['unknown', 0, 0],
  'before-effect': ['unknown', 0, 0],
  'before-end': ['unknown', 1, 1],
  streaming: ['unknown', 1, 1],
  streamed: ['unknown', 1, 1],
};

const PROMISED: Readonly<Record<string, Readonly<Partial<Record<Step, Outcome>>>>> = {
  refuse: REFUSED,
  postgres: REFUSED,
  // For handlers that may run twice.
  rerun: {
    ...WHOLE,
    'after-claim': ['runs', 0, 1],
    'before-effect': ['runs', 0, 1],
    'before-end': ['runs', 1, 2],
    streaming: ['runs', 1, 2],
    streamed: ['runs', 1, 2],
  },
  resolve: {
    ...WHOLE,
    'after-claim': ['runs', 0, 1],
    'before-effect': ['runs', 0, 1],
    'before-end': ['found', 1, 1],
    streaming: ['found', 1, 1],
    streamed: ['found', 1, 1],
  },
  // Both or neither; what is sent before it is stored cannot be.
  atomic: {
    ...WHOLE,
    'after-claim': ['runs', 0, 1],
    'before-effect': ['runs', 0, 1],
    'before-end': ['runs', 0, 1],
  },
};

function expected({ order, stopAt }: Placed, [answer]: Outcome): object {
  if (answer === 'unknown') return { status: 409, problem: 'unknown-outcome', isReplay: false };
  if (answer === 'found') return { status: 201, text: `found ${order}`, isReplay: true };
  const text = expect.stringMatching(`^placed (then|-- the middle --) ${order}$`) as string;
  return { stopAt, status: 201, text, isReplay: answer === 'replayed' };
}

describe.each(ADAPTERS)('$name whose process is killed', (adapter) => {
  test(`${adapter.name}: killed at any step, the next process does what the route's policy promises [S1.12] [X.15]`, async ({
    postgres,
    redis,
  }) => {
    const effects = await openEffects(postgres);
    const place = { redis: { url: redis.url, prefix: `${redis.namespace}:` }, effects: effects.place };
    const options = { ...place, adapter: adapter.name, leaseMs: 1_000 };
    const [dying, heir] = await Promise.all([
      stepProcess(PROGRAM, { ...options, stops: true }),
      stepProcess(PROGRAM, { ...options, stops: false }),
    ]);
    const orders = Object.entries(PROMISED).flatMap(([route, steps]) =>
      STEPS.flatMap((step) => (steps[step] === undefined ? [] : [{ ...newOrder(route, step), promised: steps[step] }])),
    );
    const first = orders.map((order) => outcome(send(dying.urls, order)));
    await dying.held(orders.length);
    await dying.kill();
    const met = await Promise.all(first);
    for (const [at, order] of orders.entries()) {
      const { stopAt, route, promised } = order;
      const half = HALVES.has(stopAt) ? 'half' : 'cut';
      expect([route, stopAt, met[at], await effects.count(order)]).toEqual([route, stopAt, half, promised[1]]);
    }
    await Promise.all(
      orders.map(async (order) => {
        const { stopAt, route, promised } = order;
        const again = { stopAt, ...(await settled(heir.urls, order)) };
        expect([route, stopAt, again]).toMatchObject([route, stopAt, expected(order, promised)]);
        expect([route, stopAt, await effects.count(order)]).toEqual([route, stopAt, promised[2]]);
        // From now on that is the answer.
        const isKnown = promised[0] !== 'unknown';
        const third = await send(heir.urls, order);
        expect([route, stopAt, third]).toMatchObject([route, stopAt, { status: again.status, isReplay: isKnown }]);
        expect([route, stopAt, third.text]).toEqual([route, stopAt, again.text]);
        expect([route, stopAt, await effects.count(order)]).toEqual([route, stopAt, promised[2]]);
      }),
    );
  });
});
