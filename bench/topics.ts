import { BROKERS } from './brokers/bench-brokers.ts';
import { DELIVERY } from './delivery/bench-delivery.ts';
import { ENGINE } from './engine/bench-engine.ts';
import { IDEMPOTENCY } from './idempotency/bench-idempotency.ts';
import { OPERATE } from './operate/bench-operate.ts';
import { RETRY } from './retry/bench-retry.ts';
import type { Topic } from './topic.ts';

/** All that is measured, in the order of the report. Retries first: the heap they look at is then their own. */
export const TOPICS: readonly Topic[] = [RETRY, ENGINE, BROKERS, IDEMPOTENCY, DELIVERY, OPERATE];
