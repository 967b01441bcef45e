// node kafka-consumer-process.ts <options of kafkaBroker as JSON>
//
// One consumer of the group `mail`. It says which numbers it has stored; of its second batch it says that it holds it, and stores it
// never: it is killed then.
import { kafkaBroker, type KafkaOptions } from '../../src/kafka/kafka-transport.ts';
import { numberIn } from './number-in.ts';

let batches = 0;
await kafkaBroker(JSON.parse(process.argv[2] ?? '') as KafkaOptions).consume({
  group: 'mail',
  types: ['order.placed'],
  isDead: false,
  onBatch: async (batch) => {
    batches += 1;
    const numbers = batch.map(numberIn);
    process.stdout.write(`${batches === 1 ? 'stored' : 'holds'} ${numbers.join(' ')}\n`);
    if (batches > 1) await new Promise(() => undefined);
  },
  onPlace: () => undefined,
  onLost: (error) => {
    throw error;
  },
});
process.stdout.write('ready\n');
