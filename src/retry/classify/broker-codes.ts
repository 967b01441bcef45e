import type { Rule } from './rule.ts';

const TRANSIENT: Rule = { kind: 'broker', verdict: 'retry' };
const REFUSED: Rule = { kind: 'invalid', verdict: 'fail' };

const AMQP: ReadonlyMap<number, Rule> = new Map([
  // Content too large: about this message.
  [311, REFUSED],
  // Connection forced (the broker shuts down), channel error, resource error, internal error.
  [320, TRANSIENT],
  [504, TRANSIENT],
  [506, TRANSIENT],
  [541, TRANSIENT],
  [403, { kind: 'auth' }],
]);

/** What an AMQP 0-9-1 reply code means. Missing queues and mismatched arguments are an operator's, so without a verdict. */
export function amqpRule(replyCode: number): Rule {
  return AMQP.get(replyCode) ?? { kind: 'broker' };
}

// Message too large, record list too large, invalid record.
const KAFKA_REFUSED: ReadonlySet<number> = new Set([10, 18, 87]);

// The protocol's retriable errors, and librdkafka's own (below zero): transport, resolve, timeouts, brokers down, queue full, …
const KAFKA_TRANSIENT: ReadonlySet<number> = new Set([
  2, 3, 5, 6, 7, 8, 9, 13, 14, 15, 16, 19, 20, 27, 41, 51, 56, 74, 75, 78, 80, 83, 89, -153, -163, -164, -166, -180,
  -183, -184, -185, -187, -192, -193, -195,
]);

/** What a Kafka error code means; `retriable` is the client's own table, which goes first where it says yes. */
export function kafkaRule(code: number | undefined, retriable: boolean): Rule {
  if (code !== undefined && KAFKA_REFUSED.has(code)) return REFUSED;
  return retriable || (code !== undefined && KAFKA_TRANSIENT.has(code)) ? TRANSIENT : { kind: 'broker' };
}
