import { exponential, type Policy, policy } from 'holdfast';
import { codingAgent, gitHost, llm, productService, type ServiceClientOptions } from 'holdfast/http';
import { z } from 'zod';
import type { Settings } from '../settings.ts';

const Session = z.object({ sessionId: z.string(), status: z.literal('completed'), score: z.number() });

/** The clients of the other services. Each call is tried up to three times within one attempt of a command. */
export function makeClients(
  { partners, a2aKey, gitToken, speed, callTimeoutMs }: Settings,
  told: Pick<ServiceClientOptions, 'logger' | 'onAttempt'>,
) {
  const shared = { ...told, userHeader: 'x-growqr-user', policy: callPolicy(speed, callTimeoutMs) } as const;
  return {
    interview: productService({
      ...shared,
      name: 'interview',
      baseUrl: partners.interview,
      bearer: a2aKey,
      endpoints: { 'hold-session': { method: 'POST', path: '/sessions', schema: Session } },
    }),
    agent: codingAgent({ ...shared, baseUrl: partners.agent, bearer: a2aKey }),
    git: gitHost({ ...shared, baseUrl: new URL('/api/v1', partners.git), token: gitToken }),
    llm: llm({ ...shared, baseUrl: new URL('/v1', partners.llm), bearer: a2aKey }),
  };
}

export type Clients = ReturnType<typeof makeClients>;

/** 250 ms to 5 s between tries: the default of service calls, only faster. */
function callPolicy(speed: number, timeoutMs: number): Policy {
  return policy({
    maxAttempts: 3,
    schedule: exponential({ baseMs: 250 / speed, maxMs: 5_000 / speed }),
    timeoutMs,
  });
}
