// Started by a drill, and told what to do by the channel to it: the clients. Each posts its writes one after the other, again under the same
// Idempotency-Key until it has a response, and posts old ones again; it compares every response with the first one to the same key.
import { randomUUID } from 'node:crypto';
import { createSleep } from '../kernel/sleep.ts';
import { systemEffects } from '../system/effects.ts';
import {
  API_FAULT_HEADER,
  API_FAULTS,
  type ApiFault,
  type HttpCounts,
  type SenderNews,
  type SenderOptions,
  type SenderOrder,
  STORE_HEADER,
} from './child-line.ts';
import { seededRandom } from './seeded-random.ts';
import type { Step } from './step.ts';
import { StepSource } from './step-source.ts';

/** One write in a hundred asks for a failure of the API at its first try. */
const API_FAULT_EVERY = 100;
/** One in so many is posted twice at the same time. */
const TWICE_EVERY = 40;
/** After one in so many the client behaves as if the response had been lost. */
const RESPONSE_LOST_EVERY = 25;
/** After one in so many an old one is posted again. */
const OLD_AGAIN_EVERY = 10;
const TIMEOUT_MS = 4_000;
const PAUSE_MS = 5;
const AGAIN_MS = 40;
const NEWS_EVERY_MS = 20;

const sleep = createSleep(systemEffects);

/** A write, and the first response to it. */
interface Write {
  readonly step: Step;
  readonly key: string;
  first: string | undefined;
}

process.once('disconnect', () => process.exit(1));
process.once('message', (options) => void run(options as SenderOptions));

async function run(options: SenderOptions): Promise<void> {
  const clients = new Clients(options);
  process.on('message', (order) => clients.obey(order as SenderOrder));
  const serving = Array.from({ length: options.connections }, (_, own) => clients.serve(own, options.connections));
  await Promise.all([...serving, clients.report()]);
}

/** What is posted, by all clients. */
class Clients {
  readonly #urls: readonly string[];
  readonly #source: StepSource;
  readonly #random: () => number;
  readonly #apiFaults: readonly ApiFault[];
  readonly #written: Write[] = [];
  readonly #again: Write[] = [];
  #granted = 0;
  #taken = 0;
  #reached: Record<string, number> = {};
  #problem: string | undefined;
  #counts = { acknowledged: 0, duplicates: 0, rolledBack: 0, repeated: 0, lagged: 0, lost: 0 };
  #http: { -readonly [Name in keyof HttpCounts]: number } = {
    posts: 0,
    fresh: 0,
    fromRedis: 0,
    fromDatabase: 0,
    refused: 0,
    lost: 0,
    different: 0,
  };

  constructor(options: SenderOptions) {
    this.#urls = options.urls;
    this.#source = new StepSource({ ...options, reached: new Map() });
    this.#random = seededRandom(options.seed + 1);
    this.#apiFaults = options.hasApiFaults ? API_FAULTS : [];
  }

  obey(order: SenderOrder): void {
    if (order.do === 'send') this.#granted = order.upTo;
    else if (order.do === 'repeat') this.#again.push(...this.#written.slice(-order.count).toReversed());
  }

  async serve(own: number, all: number): Promise<never> {
    for (;;) {
      const again = this.#again.shift();
      if (again) {
        await this.#post(again);
        this.#counts.repeated += 1;
      } else if (this.#taken < this.#granted) await this.#write((this.#taken += 1), own, all);
      else await sleep(PAUSE_MS);
    }
  }

  /** Tells the drill, and not with each post. */
  async report(): Promise<never> {
    for (;;) {
      const [reached, problem] = [this.#reached, this.#problem];
      this.#reached = {};
      process.send?.({ ...this.#counts, reached, problem, http: { ...this.#http } } satisfies SenderNews);
      await sleep(NEWS_EVERY_MS);
    }
  }

  async #write(number: number, own: number, all: number): Promise<void> {
    const [step] = this.#source.take(1, own, all);
    if (!step) return;
    const write: Write = { step, key: randomUUID(), first: undefined };
    const place = number % API_FAULT_EVERY === 1 ? Math.floor(number / API_FAULT_EVERY) % 4 : -1;
    const fault = this.#apiFaults[place];
    const posts = [this.#post(write, fault)];
    if (number % TWICE_EVERY === 7) posts.push(this.#post(write));
    await Promise.all(posts);
    this.#written.push(write);
    this.#reached[step.key] = step.n;
    this.#counts.acknowledged += 1;
    if (number % RESPONSE_LOST_EVERY === 3) await this.#post(write);
    const old = this.#written[Math.floor(this.#random() * this.#written.length)];
    if (old && number % OLD_AGAIN_EVERY === 5) await this.#post(old);
  }

  /** Posts it until there is a response. */
  async #post(write: Write, fault?: ApiFault): Promise<void> {
    for (let asked = fault; !(await this.#try(write, asked)); asked = undefined)
      await sleep(AGAIN_MS + this.#random() * AGAIN_MS);
  }

  async #try(write: Write, fault: ApiFault | undefined): Promise<boolean> {
    const { step, key } = write;
    this.#http.posts += 1;
    let response: Response;
    let body: string;
    try {
      response = await fetch(`${this.#urls[Math.floor(this.#random() * this.#urls.length)]}/steps`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'idempotency-key': key,
          'x-customer': step.key,
          ...(fault && { [API_FAULT_HEADER]: fault }),
        },
        body: JSON.stringify(step),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      body = await response.text();
    } catch {
      this.#http.lost += 1;
      this.#counts.lost += 1;
      return false;
    }
    if (response.status !== 201) return this.#refused(response, body);
    const seen = `${response.headers.get('location')} ${response.headers.get('content-type')} ${body}`;
    write.first ??= seen;
    if (seen !== write.first) this.#http.different += 1;
    const store = response.headers.get(STORE_HEADER);
    if (store === 'redis') this.#http.fromRedis += 1;
    else if (store === 'database') this.#http.fromDatabase += 1;
    else this.#http.fresh += 1;
    if (store !== null) this.#counts.duplicates += 1;
    return true;
  }

  /** What a client may try again, and what no repeat helps. */
  #refused({ status }: Response, body: string): false {
    this.#http.refused += 1;
    if (status !== 409 && status < 500) this.#problem ??= `the API answered ${status}: ${body}`;
    return false;
  }
}
