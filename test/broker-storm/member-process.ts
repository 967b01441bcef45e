// node member-process.ts <options as JSON>
//
// One process of the service: publishes, receives and handles. Tells by lines on its standard output what happened to it.
import { holdfast, TerminalHandlerError } from 'holdfast';
import { postgres } from 'holdfast/postgres';
import { Pool, type PoolClient } from 'pg';
import { STORM_SERVICE, stormStep } from './storm-event.ts';
import { openTransport, type StormBroker } from './storm-transport.ts';

/** How a member is started. */
export interface MemberOptions {
  readonly url: string;
  readonly schema: string;
  readonly broker: StormBroker;
  readonly leaseMs: number;
}

const { url, schema, broker, leaseMs } = JSON.parse(process.argv[2] ?? '') as MemberOptions;
const pool = new Pool({ connectionString: url, max: 8 });
pool.on('error', () => undefined);
const hf = holdfast({
  service: STORM_SERVICE,
  store: postgres({ pool, schema }),
  transport: await openTransport(broker),
});

hf.on(
  stormStep,
  'book',
  async ({ key, n, isPoison, isHard }, ctx) => {
    if (isPoison) throw new TerminalHandlerError('poison');
    if (isHard && ctx.attempt === 1) {
      // A pipe is written at once: whoever reads it knows even if this process is killed now.
      say('failed on purpose');
      throw new Error('one in a hundred');
    }
    await ctx.commit((tx: PoolClient) => tx.query(`insert into ${schema}.effect (id, n) values ($1, $2)`, [key, n]));
  },
  // Poison is set aside, and what follows it in its key goes on.
  { onDead: 'pass', concurrency: 64, policy: { maxAttempts: 50, baseDelayMs: 20, maxDelayMs: 200, jitter: 'none' } },
);

function say(what: string): void {
  process.stdout.write(`${what}\n`);
}

const running = await hf.start({ leaseMs });
say('ready');
process.once('SIGTERM', () => void running.stop({ drainMs: 2_000 }).then(() => process.exit(0)));
