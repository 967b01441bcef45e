// node nats-consumer-process.ts <options of natsBroker as JSON>
//
// One consumer of the group `mail`. It says which numbers it has been given, and stores them never: it is killed then.
import type { NatsOptions } from '../../src/nats/index.ts';
import { natsBroker } from '../../src/nats/nats.ts';
import { numberIn } from './number-in.ts';

await natsBroker(JSON.parse(process.argv[2] ?? '') as NatsOptions).consume({
  group: 'mail',
  types: ['order.placed'],
  isDead: false,
  onBatch: async (batch) => {
    process.stdout.write(`holds ${batch.map(numberIn).join(' ')}\n`);
    await new Promise(() => undefined);
  },
  onPlace: () => undefined,
  onLost: (error) => {
    throw error;
  },
});
process.stdout.write('ready\n');
