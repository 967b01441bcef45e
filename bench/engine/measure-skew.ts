import { perSecond } from '../result/format.ts';
import type { Contestant, Result } from '../result/result.ts';
import type { Bench } from './bench.ts';
import { settleDown } from './bench-database.ts';
import { graphileQueueByKey } from './graphile-queue.ts';
import { holdfastQueue } from './holdfast-queue.ts';
import { peersAt } from './measure-backlog.ts';
import { compete } from './measure-drain.ts';
import { pgBossQueueByKey } from './pg-boss-queue.ts';
import type { KeyOf, Order } from './queue.ts';

const KEYS = 1_000;

/** How messages are spread over the keys. Not by chance: every run and every contestant has the same. */
const SPREADS: Readonly<Record<string, KeyOf>> = {
  'evenly over 1,000 keys': (n) => `ord_${n % KEYS}`,
  'one key has a tenth (Zipf)': (n) => `ord_${zipfRank(scattered(n))}`,
  'one key has half': (n) => (n % 2 === 0 ? 'ord_hot' : `ord_${n % KEYS}`),
};

/** A number between 0 and 1 for each message, all parts of the range equally often (steps of the golden ratio). */
function scattered(n: number): number {
  return (n * 0.618_033_988_749_895) % 1;
}

/** A rank among `KEYS`, each about as often as 1 / rank: the first has a tenth. */
function zipfRank(share: number): number {
  return Math.floor(Math.pow(KEYS + 1, share));
}

/** Messages with an insert each, in order within their key, with keys that are used alike and with keys that are not. */
export async function keySkew(bench: Bench): Promise<Result[]> {
  const count = bench.isQuick ? 200 : 5_000;
  const contestants: Contestant[] = [];
  const disorder = new Map<string, number>();
  for (const [at, keyOf] of Object.entries(SPREADS)) {
    bench.say(`  ${at}`);
    const trial: Parameters<typeof compete>[1] = async (queue, database) => {
      await queue.fill(count, 'effect', keyOf);
      await settleDown(database);
      const order = new OrderWatch();
      const tookMs = await queue.drain(count, 'effect', (one) => order.see(one));
      disorder.set(queue.name, (disorder.get(queue.name) ?? 0) + order.outOfOrder);
      if (queue.role === 'ours' && order.outOfOrder > 0)
        throw new Error(`${order.outOfOrder} messages began before one of their key that was sent earlier`);
      return (count / tookMs) * 1_000;
    };
    const makers = [holdfastQueue, graphileQueueByKey, pgBossQueueByKey];
    contestants.push(...(await compete(bench, trial, makers, { rounds: bench.isQuick ? 1 : 2, at })));
  }
  for (const [name, times] of disorder) bench.say(`  ${name}: ${times} out of order`);
  const ours = contestants.filter(({ role }) => role === 'ours');
  bench.say(`  holdfast ${ours.map(({ value }) => perSecond(value)).join(', ')}`);
  return [
    {
      id: 'key-skew',
      measure: `drain of ${count.toLocaleString('en')} messages with one insert each, in order within their key`,
      along: 'how the messages are spread over the keys',
      contestants,
      verdicts: Object.keys(SPREADS).map((at) => peersAt(contestants, at)),
      note: `Ours as it comes. graphile-worker with the keys spread over named queues, whose jobs are fetched one by one; pg-boss with the policy key_strict_fifo, one job of a key in a batch. Begun before one of the same key that was sent earlier: ${[...disorder].map(([name, times]) => `${name.split(',')[0]} ${times}`).join(', ')}.`,
    },
  ];
}

/** Counts messages that begin after one of their key that was sent later. */
class OrderWatch {
  outOfOrder = 0;
  readonly #last = new Map<string, number>();

  see({ orderId, total }: Order): void {
    if ((this.#last.get(orderId) ?? -1) > total) this.outOfOrder += 1;
    this.#last.set(orderId, total);
  }
}
