import { expect, test } from 'vitest';
import { attentionOf, type AttentionFacts, verdictOf } from './attention.ts';
import type { HandlerOverview } from './overview.ts';

const WELL: AttentionFacts = {
  isPaused: false,
  workers: 2,
  handlers: [],
  breakers: [],
  destinations: [],
  groups: [],
  hasMoreGroups: false,
  heldKeys: 0,
  withoutHandler: [],
  isFull: false,
  pausedBulks: [],
  sampledMsAgo: 3_000,
  aliveMs: 3_600_000,
};

function handler(name: string, changes: Partial<HandlerOverview> = {}): HandlerOverview {
  return {
    service: 'billing',
    handler: name,
    types: ['order.placed'],
    isPinned: false,
    isRepeatable: false,
    pausedAt: undefined,
    limit: undefined,
    registeredAt: new Date(0),
    workers: ['host 1'],
    pending: 0,
    waiting: 0,
    failed: 0,
    oldestMs: undefined,
    donePerSecond: 0,
    errorShare: undefined,
    ...changes,
  };
}

const BREAKER = {
  service: 'billing',
  name: 'stripe',
  handlers: ['charge'],
  state: 'open',
  since: undefined,
  failures: 5,
  probeAt: undefined,
  error: { name: 'Error', code: 'ECONN', message: 'no answer' },
  changed: undefined,
  waiting: 7,
} as const;
const GROUP = {
  id: '1-9f',
  service: 'billing',
  handler: 'charge',
  pending: 1_284,
  error: { name: 'CardError', code: undefined, message: 'declined' },
};

test('where nothing is wrong the verdict says how old the oldest message is [X.18]', () => {
  const attention = attentionOf({ ...WELL, handlers: [handler('charge', { oldestMs: 400, pending: 1 })] });
  expect(attention).toEqual([]);
  expect(verdictOf(attention, 400)).toBe('All good: oldest message 0.4 s');
  expect(verdictOf(attention, 61_000)).toBe('All good: oldest message 1 min');
  expect(verdictOf(attention, undefined)).toBe('All good: nothing waits');
});

test('everything that needs somebody is told once, the worst first [X.18]', () => {
  const attention = attentionOf({
    ...WELL,
    isPaused: true,
    isFull: true,
    handlers: [
      handler('orphan', { workers: [], pending: 2, waiting: 1 }),
      handler('charge', { pending: 7, oldestMs: 900_000 }),
      handler('resting', { pausedAt: new Date(0) }),
    ],
    breakers: [BREAKER],
    destinations: [{ destination: 'https://shop.example', isHeld: false, error: 'it answered 503' }],
    groups: [GROUP],
    heldKeys: 3,
    withoutHandler: [{ type: 'order.lost', count: 1 }],
    pausedBulks: [{ id: 'b1', pausedFor: 'the canary failed' }],
    sampledMsAgo: 600_000,
  });
  expect(attention.map(({ kind, text }) => [kind, text])).toEqual([
    ['no-worker', 'billing/orphan has no worker: 3 deliveries wait'],
    ['outbox-full', 'The outbox is full: sending is refused'],
    ['paused', 'Everything is paused'],
    ['breaker-open', 'The breaker billing/stripe is open (ECONN): 7 messages wait'],
    ['breaker-open', 'The breaker of https://shop.example is open (it answered 503): what goes there waits'],
    ['no-handler', 'No handler takes order.lost: 1 message waits'],
    ['dead-letters', '1,284 dead letters of billing/charge: CardError'],
    ['keys-held', '3 keys stand still behind a dead letter'],
    ['paused', 'billing/resting is paused'],
    ['bulk-paused', 'A bulk operation is paused: the canary failed'],
    ['not-sampled', 'No housekeeper has looked for 10 min: numbers are old'],
  ]);
  expect(verdictOf(attention, 900_000)).toBe('11 things need you');
});

test('a handler is late when it could run and does not: not while it is paused, stopped or without a worker [X.18]', () => {
  const old = { pending: 12, oldestMs: 180_000 };
  const kinds = (changes: Partial<AttentionFacts>): readonly string[] =>
    attentionOf({ ...WELL, ...changes }).map(({ kind }) => kind);
  const [late] = attentionOf({ ...WELL, handlers: [handler('charge', old), handler('mail', { oldestMs: 200_000 })] });
  expect(late?.text).toBe('billing/mail is 3 min late: 0 deliveries are ready');
  expect(late?.link).toBe('messages?handler=billing%2Fmail&status=pending');
  expect(kinds({ handlers: [handler('charge', { ...old, oldestMs: 59_000 })] })).toEqual([]);
  expect(kinds({ handlers: [handler('charge', old)], breakers: [BREAKER] })).toEqual(['breaker-open']);
  expect(kinds({ handlers: [handler('charge', { ...old, pausedAt: new Date(0) })] })).toEqual(['paused']);
  expect(kinds({ handlers: [handler('charge', { ...old, workers: [] })] })).toEqual(['no-worker']);
});

test('of open destinations one is told by its name and several by their number [X.10]', () => {
  const held = { destination: 'https://a.example', isHeld: true, error: undefined };
  const texts = (destinations: AttentionFacts['destinations']): readonly string[] =>
    attentionOf({ ...WELL, destinations }).map(({ text }) => text);
  expect(texts([held])).toEqual(['The breaker of https://a.example is open (opened by hand): what goes there waits']);
  expect(texts([held, { ...held, destination: 'https://b.example' }])).toEqual([
    'The breakers of 2 destinations are open: what goes there waits',
  ]);
});

test('without any worker that alone is told, and many causes are told as one thing [X.18]', () => {
  expect(attentionOf({ ...WELL, workers: 0, aliveMs: undefined, sampledMsAgo: undefined })).toEqual([
    { kind: 'no-worker', text: 'No worker is running: what is sent waits', link: 'system' },
  ]);
  const groups = [GROUP, { ...GROUP, id: '1-a0', pending: 1 }];
  expect(attentionOf({ ...WELL, groups })).toEqual([
    { kind: 'dead-letters', text: '1,285 dead letters of 2 causes', link: 'dead-letters' },
  ]);
  expect(verdictOf(attentionOf({ ...WELL, groups }), undefined)).toBe('1 thing needs you');
});
