import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What takes half a minute and more, the longest first. The order of all others is vitest's: by how long they took, or by their size. */
const LONGEST = [
  'test/broker-storm/kafka',
  'test/broker-storm/rabbitmq',
  'test/contract/store-contract',
  'test/transport/kafka-faults',
  'test/broker-storm/redis-streams',
  'test/broker-storm/nats',
  'test/transport/nats-faults',
  'test/order-service/process',
  'test/crash/kills-and-restarts',
  'test/crash/awkward-users',
  'test/console/pages',
  'test/console/deliveries',
  'test/docs/quick-start',
  'test/transport/rabbitmq-faults',
  'test/embedded/embedded-postgres',
  'test/transport/kafka',
  'test/agent-chat/page',
  'test/postgres/resting-effect',
  'test/webhooks/jobs-once',
  'test/console/actions',
  'test/idempotency-http/store-outage',
];

/** Files that take long begin first: otherwise one worker is at its last long file while the others have nothing left. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}

/** Those of other projects come last: they need no servers, and are short. */
function placeOf({ moduleId, project }: TestSpecification): number {
  if (project.name !== 'real') return LONGEST.length + 1;
  const at = LONGEST.findIndex((path) => moduleId.endsWith(`/${path}.test.ts`));
  return at === -1 ? LONGEST.length : at;
}
