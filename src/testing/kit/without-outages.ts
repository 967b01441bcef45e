import type { HandlerDefinition } from '../../relay/handler.ts';

/**
 * The handler as tests run it: failures spend attempts, whatever their cause, and no breaker holds anything up. Where no time passes, what an
 * outage delays for hours would be tried without end.
 */
export function withoutOutages<Tx>(handler: HandlerDefinition<Tx>): HandlerDefinition<Tx> {
  const { rulesByType } = handler;
  return {
    ...handler,
    breaker: undefined,
    maxOutageMs: 0,
    rulesByType: rulesByType && new Map([...rulesByType].map(([type, rules]) => [type, { ...rules, maxOutageMs: 0 }])),
  };
}
