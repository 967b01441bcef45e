import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type DeliveryFacts, describeReason, explain, type WhyReason } from './why.ts';

const now = new Date('2026-01-02T03:04:05Z');
const error = { name: 'Error', message: 'no answer', kind: 'network' };

const HANDLER = { service: 'mail', name: 'welcome', isPinned: true, pausedAt: undefined, workers: 1 };

/** In line, with nothing in its way. */
const queued: DeliveryFacts = {
  id: '00000000-0000-4000-8000-000000000000:1',
  type: 'order.placed',
  key: 'k',
  generation: 7,
  handler: HANDLER,
  state: 'ready',
  attempts: 0,
  dueInMs: undefined,
  dueAt: undefined,
  endedAt: undefined,
  error: undefined,
  reason: undefined,
  actor: undefined,
  running: undefined,
  lane: { workers: 1 },
  owner: 'host:7',
  ahead: undefined,
  isAllPaused: false,
};

// Each stands in the way by itself; where several do, the earlier in this list is the reason.
const OBSTACLES: readonly (readonly [kind: WhyReason['kind'], facts: Partial<DeliveryFacts>])[] = [
  ['running', { running: { worker: 'host:7', attempt: 1, startedAt: now } }],
  ['no-handler', { handler: undefined }],
  ['generation-unserved', { lane: undefined }],
  ['scheduled', { state: 'waiting', dueAt: now, dueInMs: 1 }],
  ['all-paused', { isAllPaused: true }],
  ['handler-paused', { handler: { service: 'mail', name: 'welcome', isPinned: true, pausedAt: now, workers: 1 } }],
  ['line-held', { heldLine: { line: 'to:https://shop.example', because: 'breaker', probeAt: now } }],
  [
    'breaker-open',
    {
      handler: { ...HANDLER, breaker: { name: 'smtp', probeAt: now } },
    },
  ],
  ['no-worker', { handler: { service: 'mail', name: 'welcome', isPinned: true, pausedAt: undefined, workers: 0 } }],
  ['generation-unserved', { lane: { workers: 0 } }],
  ['unit-unowned', { owner: undefined }],
  ['behind', { ahead: { messageId: 'm', state: 'failed' } }],
];

describe('explain', () => {
  test('queued is what is left when nothing stands in the way [X.6]', () => {
    expect(explain(queued)).toEqual({ kind: 'queued', owner: 'host:7' });
  });

  test.each(OBSTACLES)('%s is given where it alone stands in the way [X.6]', (kind, facts) => {
    expect(explain({ ...queued, ...facts }).kind).toBe(kind);
  });

  test('of several obstacles the first to deal with is given [X.6]', () => {
    const places = fc.uniqueArray(fc.nat({ max: OBSTACLES.length - 1 }), { minLength: 1 });
    fc.assert(
      fc.property(places, (chosen) => {
        // From the last to the first: a fact that two of them set is the earlier one's.
        const facts = chosen.toSorted((a, b) => b - a).map((place) => OBSTACLES[place]?.[1]);
        const first = OBSTACLES[Math.min(...chosen)]?.[0];
        expect(explain(Object.assign({}, queued, ...facts) as DeliveryFacts).kind).toBe(first);
      }),
    );
  });

  test.each([
    ['retry-wait', { state: 'waiting', attempts: 1, error, dueAt: now, dueInMs: 5 }],
    ['type-unknown', { state: 'waiting', error: { ...error, code: 'HANDLER_TYPE_UNKNOWN' }, dueAt: now, dueInMs: 5 }],
    ['postponed', { state: 'waiting', error: { ...error, code: 'POSTPONED' }, dueAt: now, dueInMs: 5 }],
    ['queued', { state: 'waiting', attempts: 1, error, dueAt: now, dueInMs: 0 }],
    [
      'breaker-open',
      {
        state: 'waiting',
        attempts: 0,
        error,
        dueAt: now,
        dueInMs: 5,
        handler: { ...HANDLER, breaker: { name: 'smtp', probeAt: undefined } },
      },
    ],
    ['failed', { state: 'failed', error, endedAt: now, isAllPaused: true }],
    ['delivered', { state: 'delivered', endedAt: now, handler: undefined }],
    ['discarded', { state: 'discarded', endedAt: now, actor: 'ann', reason: 'a test' }],
    ['cancelled', { state: 'cancelled', endedAt: now, actor: 'ann' }],
    ['queued', { key: undefined, ahead: { messageId: 'm', state: 'ready' } }],
  ] as const)('%s: %j [X.6]', (kind, facts) => {
    expect(explain({ ...queued, ...facts }).kind).toBe(kind);
  });
});

describe('the sentence', () => {
  test.each([
    [{ kind: 'scheduled', dueAt: now }, 'asked for 2026-01-02T03:04:05.000Z'],
    [{ kind: 'retry-wait', dueAt: now, attempts: 1, lastError: 'E: x' }, '1 attempt failed'],
    [{ kind: 'failed', attempts: 5, lastError: 'E: x', failedAt: now }, 'after 5 attempts: E: x'],
    [{ kind: 'behind', messageId: 'm', state: 'failed', key: 'k' }, 'Replay or discard that one'],
    [{ kind: 'behind', messageId: 'm', state: 'waiting', key: 'k' }, 'waits for its next attempt'],
    [{ kind: 'behind', messageId: 'm', state: 'ready', key: 'k' }, 'in line itself'],
    [{ kind: 'handler-paused', since: now }, 'Resume the handler'],
    [{ kind: 'all-paused' }, 'Resume all'],
    [{ kind: 'breaker-open', breaker: 'smtp', probeAt: now }, 'next probe at 2026-01-02T03:04:05.000Z'],
    [{ kind: 'breaker-open', breaker: 'smtp', probeAt: undefined }, 'somebody closes it'],
    [
      { kind: 'line-held', line: 'to:https://shop.example', because: 'breaker', probeAt: now },
      'The breaker of https://shop.example is open: one message tries again at 2026-01-02T03:04:05.000Z',
    ],
    [{ kind: 'line-held', line: 'to:https://a.example', because: 'breaker', probeAt: undefined }, 'somebody closes it'],
    [{ kind: 'line-held', line: 'queue:mails', because: 'paused', probeAt: undefined }, 'Its queue "mails" is paused'],
    [{ kind: 'line-held', line: 'flow:a:b', because: 'paused', probeAt: undefined }, 'key "a:b" is paused'],
    [{ kind: 'no-handler', type: 't' }, 'Start a service that does'],
    [{ kind: 'no-worker' }, 'Start one'],
    [{ kind: 'generation-unserved', generation: undefined }, 'generation (none)'],
    [{ kind: 'type-unknown', type: 't', dueAt: now }, 'Deploy code'],
    [{ kind: 'postponed', dueAt: now, reason: 'closed for lunch' }, ': closed for lunch.'],
    [{ kind: 'unit-unowned' }, 'Wait a few seconds'],
    [{ kind: 'running', worker: 'w', attempt: 2, startedAt: now }, 'attempt 2'],
    [{ kind: 'queued', owner: 'w' }, 'in line at worker w'],
    [{ kind: 'delivered', at: now }, 'Nothing is left to do'],
    [{ kind: 'discarded', at: now, actor: 'ann', reason: 'a test' }, 'ann discarded it'],
    [{ kind: 'cancelled', at: now, actor: 'ann', reason: undefined }, 'ann cancelled it'],
  ] as const)('of %j says the fact and ends as a sentence [X.6]', (reason, part) => {
    const sentence = describeReason(reason);
    expect(sentence).toContain(part);
    expect(sentence).toMatch(/\.$/);
  });
});
