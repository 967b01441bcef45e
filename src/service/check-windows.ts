import { OptionCheck } from '../kernel/check-options.ts';
import type { HandlerDefinition } from '../relay/handler.ts';
import { envelope } from '../retry/envelope.ts';

/** How long what is remembered. */
interface Windows {
  readonly inboxMs: number;
  readonly brokerKeepsMs: number;
}

/**
 * Refuses an inbox that forgets a message while it may still be tried here, or while its broker may hand it out again: it would be
 * handled a second time. A plan without an end cannot be outlasted, and is not asked about.
 */
export function checkWindows<Tx>(handlers: Iterable<HandlerDefinition<Tx>>, { inboxMs, brokerKeepsMs }: Windows): void {
  let longest = { name: '', waitMs: 0 };
  for (const handler of handlers) {
    for (const { policy } of [handler, ...(handler.rulesByType?.values() ?? [])]) {
      const { totalWaitMs: waitMs } = envelope(policy);
      if (Number.isFinite(waitMs) && waitMs > longest.waitMs) longest = { name: handler.name, waitMs };
    }
  }
  const neededMs = longest.waitMs + brokerKeepsMs;
  if (inboxMs >= neededMs) return;
  const check = new OptionCheck('start()');
  const tried = longest.waitMs > 0 ? `"${longest.name}" may be tried for ${longest.waitMs} ms` : '';
  const kept = brokerKeepsMs > 0 ? `brokers keep a message for ${brokerKeepsMs} ms` : '';
  const because = [tried, kept].filter((text) => text !== '').join(' and ');
  check.refuse('inboxMs', inboxMs, `write at least ${neededMs}: ${because}, and it must be known for as long`);
  check.done();
}
