import type { HttpReply } from '../idempotency/http/http-reply.ts';
import { HttpRun } from '../idempotency/http/http-run.ts';
import { HoldfastError } from '../kernel/error.ts';
import { GuardedResponse } from './guarded-response.ts';
import type { NodeResponse } from './node-response.ts';

/**
 * Makes `reply` what is sent, whatever the framework ends this response with: for frameworks that answer every request themselves and
 * cannot be told that it was done. `kept` are headers of the response that go out too, such as those of CORS.
 */
export function answerInstead(res: NodeResponse, reply: HttpReply, kept: HttpReply['headers']): void {
  const names = new Set(reply.headers.map(([name]) => name.toLowerCase()));
  const headers = [...kept.filter(([name]) => !names.has(name.toLowerCase())), ...reply.headers];
  const run = {
    number: 0,
    signal: new AbortController().signal,
    childKey: () => '',
    // It has lost to the reply that is there.
    end: async () => 'late' as const,
    commit: async () => {
      throw new HoldfastError('IDEMPOTENCY_NO_RUN', {});
    },
  };
  void new GuardedResponse(res, new HttpRun<never>(run, {}, async () => ({ ...reply, headers })), undefined);
}
