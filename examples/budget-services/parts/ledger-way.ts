import * as client from '@platformatic/kafka';
import type { TransportRoute } from 'holdfast';
import { kafka } from 'holdfast/kafka';
import type { Settings } from './settings.ts';

/**
 * Expenses and transactions go through Kafka, in order within their budget. The client is loaded here, at the start, and not with the first
 * message: it takes a second in which nothing else would run.
 */
export function ledgerWay({ kafkaBrokers, prefix }: Settings): TransportRoute {
  return { events: ['expense.*', 'transaction.*'], transport: kafka({ brokers: kafkaBrokers, prefix, client }) };
}
