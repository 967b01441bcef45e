import type { HandlerOverview, Overview } from '../../src/operator/overview.ts';

/** An overview with two handlers, one of them paused and late. */
export function overviewOf(): Overview {
  const at = new Date(0);
  return {
    at,
    verdict: '1 thing needs you',
    attention: [{ kind: 'late', text: 'billing/charge is late', link: 'handlers' }],
    range: 'hour',
    stepMs: 60_000,
    points: [],
    handlers: [
      handler({ handler: 'charge', pending: 12, waiting: 3, oldestMs: 90_000, pausedAt: at, workers: ['a', 'b'] }),
      handler({ handler: 'mail', failed: 4 }),
    ],
    breakers: [],
    audit: [],
  };
}

function handler(own: Partial<HandlerOverview>): HandlerOverview {
  return {
    service: 'billing',
    handler: 'charge',
    types: ['order.placed'],
    isPinned: false,
    isRepeatable: false,
    pausedAt: undefined,
    limit: undefined,
    registeredAt: new Date(0),
    workers: [],
    pending: 0,
    waiting: 0,
    failed: 0,
    oldestMs: undefined,
    donePerSecond: 0,
    errorShare: undefined,
    ...own,
  };
}
