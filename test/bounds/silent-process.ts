// node silent-process.ts <servers as JSON>
//
// Makes every call of the product to somebody who does not answer, all at once, and prints what each ended with. Then it ends by
// itself: what kept it would be a timer or a socket that somebody left behind.
import type { BoundedCall, RealServers } from './bounded-call.ts';
import { BROKER_CALLS } from './broker-calls.ts';
import { cliCalls } from './cli-calls.ts';
import { HTTP_CALLS } from './http-calls.ts';
import { mongoCalls } from './mongo-calls.ts';
import { postgresCalls } from './postgres-calls.ts';
import { redisCalls } from './redis-calls.ts';
import { silentPeer } from './silent-peer.ts';

/** What became of one call. */
export interface CallEnd {
  readonly call: string;
  readonly variant: string;
  readonly ends: string;
  readonly ended: string;
  /** Connections that were open when everybody had ended what was theirs. */
  readonly left: number;
}

const servers = JSON.parse(process.argv[2] ?? '') as RealServers;
const calls: readonly BoundedCall[] = [
  ...HTTP_CALLS,
  ...postgresCalls(servers),
  ...cliCalls(servers),
  ...redisCalls(servers),
  ...BROKER_CALLS,
  ...mongoCalls(servers),
];

async function make({ call, variant, ends, run, end, isDriversOwn = false }: BoundedCall): Promise<CallEnd> {
  const peer = await silentPeer();
  try {
    const began = performance.now();
    const ended = await run(peer).catch((error: unknown) => `threw ${String(error)}`);
    process.stderr.write(`${Math.round(performance.now() - began)} ms ${call} (${variant}): ${ended}\n`);
    const problem = await Promise.resolve(end?.()).catch(String);
    const left = (): number => (isDriversOwn ? 0 : peer.open());
    for (let looks = 0; left() > 0 && looks < 100; looks += 1) await new Promise((done) => setTimeout(done, 50));
    return {
      call,
      variant,
      ends,
      ended: typeof problem === 'string' ? `${ended}, and then ${problem}` : ended,
      left: left(),
    };
  } finally {
    peer.close();
  }
}

// Loaded before anything is timed: they stop the process for seconds.
await Promise.all([import('amqplib'), import('@platformatic/kafka'), import('@nats-io/jetstream')]);
const ends = await Promise.all(calls.map(make));
process.stdout.write(`${JSON.stringify(ends)}\n`);
// Does not keep the process itself. Whoever still does so is named.
setTimeout(() => {
  process.stderr.write(`kept by ${process.getActiveResourcesInfo().join(', ')}\n`);
  process.exit(3);
}, 20_000).unref();
