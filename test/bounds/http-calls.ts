import { systemEffects, withRetry } from '../../src/index.ts';
import { codingAgent, gitHost, llm, probeHealth, productService, serviceClient } from '../../src/http/index.ts';
import { alertOnDead, webhookAlerts } from '../../src/telemetry/index.ts';
import { publishJob } from '../../src/webhooks/index.ts';
import { type BoundedCall, endOf } from './bounded-call.ts';
import type { SilentPeer } from './silent-peer.ts';

const POLICY = { maxAttempts: 2, baseDelayMs: 1, maxDelayMs: 2, timeoutMs: 150 };
const urlOf = ({ port }: SilentPeer): string => `http://127.0.0.1:${port}`;
const options = (peer: SilentPeer) => ({ baseUrl: urlOf(peer), policy: POLICY });
const KEY = { idempotencyKey: 'key-1' };

/** Whatever waits, waits a twentieth: five attempts with their pauses are half a second. */
const hasty = {
  ...systemEffects,
  setTimer: (callback: () => void, ms: number): unknown => systemEffects.setTimer(callback, ms / 20),
};

const noAnswer = (call: string, run: (peer: SilentPeer) => Promise<unknown>): BoundedCall => {
  return { call, variant: 'fetch', ends: 'HTTP_NO_ANSWER', run: (peer) => endOf(run(peer)) };
};
const probed = (call: string, run: (peer: SilentPeer) => Promise<{ readonly kind: string }>): BoundedCall => {
  return { call, variant: 'fetch', ends: 'retryable', run: async (peer) => (await run(peer)).kind };
};

const git = (peer: SilentPeer) => gitHost({ ...options(peer), token: 'token' });
const agent = (peer: SilentPeer) => codingAgent({ ...options(peer), messageTimeoutMs: 150 });
const user = { username: 'ann', email: 'ann@example.org', password: 'secret-1' };

/** Every call over HTTP. */
export const HTTP_CALLS: readonly BoundedCall[] = [
  noAnswer('serviceClient().request', (peer) => serviceClient(options(peer)).request({ path: '/', operation: 'ask' })),
  noAnswer('serviceClient().createIfAbsent', (peer) => {
    const existing = { path: '/things/1' };
    return serviceClient(options(peer)).createIfAbsent({ path: '/things', operation: 'make', json: {}, existing });
  }),
  probed('probeHealth', (peer) => probeHealth(serviceClient(options(peer)), { timeoutMs: 150 })),
  noAnswer('productService().call', (peer) => {
    const endpoints = { start: { method: 'POST', path: '/start' } } as const;
    return productService({ ...options(peer), name: 'interview', endpoints }).call('start', { json: {}, ...KEY });
  }),
  noAnswer('gitHost().ensureUser', (peer) => git(peer).ensureUser(user)),
  noAnswer('gitHost().ensureRepo', (peer) => git(peer).ensureRepo({ owner: 'ann', name: 'plan' })),
  noAnswer('gitHost().ensureFile', (peer) =>
    git(peer).ensureFile({ owner: 'ann', repo: 'plan', path: 'a.md', content: 'a' }),
  ),
  probed('gitHost().health', (peer) => git(peer).health({ timeoutMs: 150 })),
  noAnswer('codingAgent().createSession', (peer) => agent(peer).createSession(KEY)),
  noAnswer('codingAgent().sendMessage', (peer) => agent(peer).sendMessage({ sessionId: 's', text: 'plan', ...KEY })),
  probed('codingAgent().health', (peer) => agent(peer).health({ timeoutMs: 150 })),
  noAnswer('llm().chat', (peer) =>
    llm({ ...options(peer) }).chat({ model: 'small', messages: [{ role: 'user', content: 'hello' }], ...KEY }),
  ),
  {
    call: 'withRetry',
    variant: 'a function that heeds no signal',
    ends: 'ATTEMPT_TIMEOUT',
    run: () => endOf(withRetry('wait', () => new Promise(() => undefined), { policy: POLICY })),
  },
  {
    call: 'publishJob',
    variant: 'plain HTTP',
    ends: 'JOB_PUBLISH_TIMEOUT',
    run: (peer) => endOf(publishJob({ baseUrl: urlOf(peer), token: 'token', timeoutMs: 150 }, JOB)),
  },
  {
    call: 'publishJob',
    variant: 'a client of the sender',
    ends: 'JOB_PUBLISH_TIMEOUT',
    run: () => endOf(publishJob({ publishJSON: () => new Promise(() => undefined) }, { ...JOB, timeoutMs: 150 })),
  },
  {
    call: 'webhookAlerts',
    variant: 'fetch',
    ends: '1 failed, 0 waiting',
    run: async (peer) => {
      const alerts = webhookAlerts({ url: urlOf(peer), timeoutMs: 2_000, effects: hasty });
      alertOnDead({ sink: alerts, storeFailures: 1 })({
        kind: 'store-failed',
        during: 'settle',
        error: new Error('away'),
        failures: 1,
      });
      await alerts.idle();
      const { failed, waiting } = alerts.counts();
      return `${failed} failed, ${waiting} waiting`;
    },
  },
  {
    call: 'alertOnDead',
    variant: 'a sink that never ends',
    ends: 'not waited for',
    run: async () => {
      const observe = alertOnDead({ sink: () => new Promise<void>(() => undefined), storeFailures: 1 });
      observe({ kind: 'store-failed', during: 'settle', error: new Error('away'), failures: 1 });
      observe({ kind: 'stopped' } as never);
      return 'not waited for';
    },
  },
];

const JOB = { job: 'remind', resourceId: '1', url: 'https://example.org/jobs', body: {} };
