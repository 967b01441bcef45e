// Started by a drill, and told what to do by the channel to it: sends, each message in one transaction with a row that says so, and again
// under the same idempotency key where it does not know whether that was committed.
import type { Client } from 'pg';
import { createSleep } from '../kernel/sleep.ts';
import { outgoing } from '../outbox/sending.ts';
import { postgres } from '../postgres/postgres.ts';
import { quotedSchema } from '../postgres/schema-name.ts';
import { type Holdfast, holdfast } from '../service/holdfast.ts';
import { systemEffects } from '../system/effects.ts';
import { openTransport } from './broker-way.ts';
import { idempotencyKeyOf, type SenderNews, type SenderOptions, type SenderOrder } from './child-line.ts';
import { takeDetours } from './detour.ts';
import { drillStatements } from './drill-tables.ts';
import { importPg } from './pg-module.ts';
import { DRILL_SERVICE, type Step, stepTaken } from './step.ts';
import { StepSource } from './step-source.ts';

const PER_TRANSACTION = 5;
/** One transaction in so many is rolled back, and sent again. */
const ROLLED_BACK_EVERY = 40;
/** After one in so many the sender behaves as if the answer to its commit had been lost. */
const ANSWER_LOST_EVERY = 25;
const CONNECT_MS = 2_000;
const ANSWER_MS = 4_000;
const PAUSE_MS = 5;
const AGAIN_MS = 50;
/** What may be sent once more. */
const MOST_RECENT = 500;
const LAG_MS = 5_000;
const REPEATED_AT_ONCE = 20;

const sleep = createSleep(systemEffects);

process.once('disconnect', () => process.exit(1));
process.once('message', (options) => void run(options as SenderOptions));

async function run(options: SenderOptions): Promise<void> {
  takeDetours(options.detours);
  const { Client: PgClient } = await importPg(options.pg);
  const { url, schema, broker, connections } = options;
  const hf = holdfast({
    service: DRILL_SERVICE,
    store: postgres({ schema, answerTimeoutMs: ANSWER_MS }),
    // It publishes nothing: it only has to know the way.
    transport: broker && (await openTransport(broker)),
  });
  const source = new StepSource({ ...options, reached: new Map() });
  const sender = new Sender(hf, schema, source);
  process.on('message', (order) => sender.obey(order as SenderOrder));
  const open = async (): Promise<Client> => {
    const client = new PgClient({
      connectionString: url,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: ANSWER_MS,
    });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  };
  await Promise.all(Array.from({ length: connections }, (_, own) => sender.serve(open, own, connections)));
}

/** What is sent, over all connections. */
class Sender {
  readonly #hf: Holdfast<unknown, Client>;
  readonly #sentStatement: string;
  readonly #source: StepSource;
  readonly #recent: Step[] = [];
  #granted = 0;
  #taken = 0;
  #transactions = 0;
  #repeat = 0;
  #lagBehind = 0;
  #counts = { acknowledged: 0, duplicates: 0, rolledBack: 0, repeated: 0, lagged: 0, lost: 0 };

  constructor(hf: Holdfast<unknown, Client>, schema: string, source: StepSource) {
    this.#hf = hf;
    this.#sentStatement = drillStatements(quotedSchema('drill', schema)).sent;
    this.#source = source;
  }

  obey(order: SenderOrder): void {
    if (order.do === 'send') this.#granted = order.upTo;
    else if (order.do === 'repeat') this.#repeat = order.count;
    else this.#lagBehind = order.behind;
  }

  /** Sends over one connection, and over another where that is lost: the same once more, because it may be committed or not. */
  async serve(open: () => Promise<Client>, own: number, all: number): Promise<never> {
    let steps: readonly Step[] = [];
    for (;;) {
      let client: Client | undefined;
      try {
        client = await open();
        for (;;) {
          if (own === 0 && this.#repeat > 0) await this.#sendAgain(client);
          if (steps.length === 0) steps = this.#take(own, all);
          if (steps.length === 0) await sleep(PAUSE_MS);
          else if (await this.#send(client, steps)) steps = [];
        }
      } catch (error) {
        this.#counts.lost += 1;
        this.#tell({}, isConnectionLost(error) ? undefined : messageOf(error));
        client?.end().catch(() => undefined);
        await sleep(AGAIN_MS);
      }
    }
  }

  #take(own: number, all: number): readonly Step[] {
    const count = Math.min(PER_TRANSACTION, this.#granted - this.#taken);
    if (count <= 0) return [];
    this.#taken += count;
    return this.#source.take(count, own, all);
  }

  /** Whether it is known to be committed. */
  async #send(client: Client, steps: readonly Step[]): Promise<boolean> {
    const behind = this.#lagBehind;
    this.#lagBehind = 0;
    const number = (this.#transactions += 1);
    await client.query('begin');
    const results = await this.#hf.sendAll(client, steps.map(asOutgoing));
    const stored = steps.flatMap((step, at) =>
      results[at]?.kind === 'stored' ? [{ ...step, id: results[at].id }] : [],
    );
    const columns = (['key', 'n', 'kind', 'id'] as const).map((name) => stored.map((one) => one[name]));
    await client.query(this.#sentStatement, columns);
    if (behind > 0) await this.#lag(behind);
    if (number % ROLLED_BACK_EVERY === 7) {
      await client.query('rollback');
      this.#counts.rolledBack += steps.length;
      return false;
    }
    await client.query('commit');
    this.#counts.duplicates += steps.length - stored.length;
    if (number % ANSWER_LOST_EVERY === 3) return false;
    this.#counts.acknowledged += steps.length;
    this.#recent.push(...steps);
    this.#recent.splice(0, Math.max(0, this.#recent.length - MOST_RECENT));
    this.#tell(Object.fromEntries(steps.map(({ key, n }) => [key, n])));
    return true;
  }

  /** Waits, with its transaction open, until others have committed what came after it. */
  async #lag(behind: number): Promise<void> {
    const upTo = this.#counts.acknowledged + behind;
    const endMs = systemEffects.monoMs() + LAG_MS;
    while (this.#counts.acknowledged < upTo && systemEffects.monoMs() < endMs) await sleep(PAUSE_MS);
    if (this.#counts.acknowledged >= upTo) this.#counts.lagged += 1;
  }

  async #sendAgain(client: Client): Promise<void> {
    const steps = this.#recent.slice(-this.#repeat).toReversed();
    this.#repeat = 0;
    for (let at = 0; at < steps.length; at += REPEATED_AT_ONCE) {
      const some = steps.slice(at, at + REPEATED_AT_ONCE);
      await client.query('begin');
      const results = await this.#hf.sendAll(client, some.map(asOutgoing));
      await client.query('commit');
      const duplicates = results.filter(({ kind }) => kind === 'duplicate').length;
      this.#counts.duplicates += duplicates;
      this.#counts.repeated += some.length;
    }
    this.#tell({});
  }

  #tell(reached: SenderNews['reached'], problem?: string): void {
    process.send?.({ ...this.#counts, reached, problem } satisfies SenderNews);
  }
}

function asOutgoing(step: Step): ReturnType<typeof outgoing> {
  return outgoing(stepTaken, step, { idempotencyKey: idempotencyKeyOf(step) });
}

/** What passes: the server is away, the connection was cut, or nothing came over it. */
function isConnectionLost(error: unknown): boolean {
  const { code = '', message = '' } = error as { readonly code?: string; readonly message?: string };
  return (
    /^(?:57P|08|40|ECONN|EPIPE|ETIMEDOUT|DATABASE_TIMEOUT)/.test(code) ||
    /terminated|timeout|not queryable/i.test(message)
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
