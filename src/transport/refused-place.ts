import { isHoldfastError } from '../kernel/error.ts';

/** Kafka's words for a topic that is missing or closed. Its others are about a message. */
const OF_A_TOPIC: ReadonlySet<string> = new Set([
  'UNKNOWN_TOPIC_OR_PARTITION',
  'TOPIC_AUTHORIZATION_FAILED',
  'CLUSTER_AUTHORIZATION_FAILED',
]);
/** AMQP's for what is not as it must be: a message that is too large, or a place that is there with other settings. */
const PRECONDITION_FAILED = 406;

/** True where a broker refuses the place a message goes to, which is missing, closed or full, and not the message. */
export function isRefusedPlace(error: unknown): boolean {
  if (isHoldfastError(error, 'KAFKA_TOPIC_REFUSED')) return OF_A_TOPIC.has(error.details.answer);
  if (!isHoldfastError(error, 'BROKER_REFUSED')) return false;
  // It does not fit into what the protocol has room for, wherever it goes.
  if (error.cause instanceof RangeError) return false;
  const { code } = (error.cause ?? {}) as { readonly code?: unknown };
  return code !== PRECONDITION_FAILED || error.details.problem.includes('inequivalent');
}
