import type { Effects } from '../../kernel/effects.ts';
import type { News } from '../../relay/relay-store.ts';
import { newId } from '../../system/new-id.ts';
import type { Driver, Link, Subscription } from '../driver/driver.ts';
import { newLivenessKey, RELEASE_LIVENESS_LOCK, TAKE_LIVENESS_LOCK } from './liveness-lock.ts';
import { NOTIFY_TEST, UNITS_NEWS } from './wake-statement.ts';

/** How long a notification to oneself may take. */
const ANSWER_MS = 2_000;
/** How often it is tried whether notifications still arrive. */
const TEST_EVERY_MS = 30_000;
const FIRST_RETRY_MS = 500;

/** What a test showed. `full`: nothing, because nothing is sent while the server's queue of notifications is half full. */
type Hearing = 'heard' | 'silent' | 'full';

/**
 * Listens on a channel, and makes sure that it hears: behind a transaction pooler LISTEN succeeds and nothing ever arrives. So a
 * notification to itself must come back, at the start and every 30 s, sent over another connection: over its own it would come
 * back even there. A lost connection is opened again; what may have been missed meanwhile counts as heard.
 *
 * The connection on which notifications arrive also holds the worker's liveness lock: it is one of the process's own, all the way to
 * the server, and ends with it.
 */
export class WakeListener {
  readonly #driver: Driver<unknown>;
  readonly #sender: Link;
  readonly #channel: string;
  readonly #effects: Effects;
  readonly #onNews: (news: News) => void;
  readonly #testText: string = `test ${newId()}`;
  #heard: ((isHeard: boolean) => void) | undefined;
  #subscription: Subscription | undefined;
  #lock: string | undefined;
  #timer: unknown;
  /** Counts what was opened: the loss of one that was closed is no loss. */
  #turn = 0;
  #isClosed = false;

  constructor(driver: Driver<unknown>, sender: Link, channel: string, effects: Effects, onNews: (news: News) => void) {
    this.#driver = driver;
    this.#sender = sender;
    this.#channel = channel;
    this.#effects = effects;
    this.#onNews = onNews;
  }

  /** The key of the liveness lock; nothing while it is not held. */
  get lock(): string | undefined {
    return this.#lock;
  }

  /** The database says that nobody holds the lock: the connection was lost, and this process has not noticed. */
  lockLost(): void {
    if (this.#lock === undefined) return;
    this.#lock = undefined;
    this.#later(0, () => this.#reopen(FIRST_RETRY_MS));
  }

  /**
   * False, with nothing left open, when notifications do not arrive. While the queue of notifications is too full to try, it is as after a
   * lost connection: nothing is open, and it is tried again.
   */
  async start(): Promise<boolean> {
    const hearing = await this.#open();
    if (hearing === 'heard') this.#testLater();
    if (hearing === 'full') this.#later(FIRST_RETRY_MS, () => this.#reopen(FIRST_RETRY_MS));
    return hearing !== 'silent';
  }

  /** May be called twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#effects.clearTimer(this.#timer);
    this.#heard?.(false);
    await this.#drop();
  }

  async #open(): Promise<Hearing> {
    const turn = (this.#turn += 1);
    const seen = { isOpen: false, isLost: false };
    const onLost = (): void => {
      seen.isLost = true;
      if (turn === this.#turn) this.#lock = undefined;
      // One that fails to open says so too, and more than once: whoever opens it waits before the next.
      if (!seen.isOpen || turn !== this.#turn) return;
      // The others learn at once that the lock is gone: until it holds another, this worker has its lease.
      this.#onNews('units');
      this.#later(0, () => this.#reopen(FIRST_RETRY_MS));
    };
    const subscription = await this.#driver.listen(this.#channel, (payload) => this.#take(payload), onLost);
    this.#subscription = subscription;
    const hearing = this.#isClosed ? 'silent' : await this.#test();
    const lock = hearing === 'heard' ? await takeLock(subscription) : undefined;
    seen.isOpen = hearing === 'heard' && !seen.isLost && !this.#isClosed;
    if (seen.isOpen && turn === this.#turn) this.#lock = lock;
    if (seen.isOpen) return 'heard';
    await this.#drop();
    return hearing === 'full' ? 'full' : 'silent';
  }

  #take(payload: string): void {
    if (payload === '') this.#onNews('messages');
    else if (payload === UNITS_NEWS) this.#onNews('units');
    else if (payload === this.#testText) this.#heard?.(true);
  }

  async #test(): Promise<Hearing> {
    let timer: unknown;
    const answer = new Promise<boolean>((resolve) => {
      this.#heard = resolve;
      timer = this.#effects.setTimer(() => resolve(false), ANSWER_MS);
    });
    try {
      const sent = await this.#sender.query(NOTIFY_TEST, [this.#channel, this.#testText]);
      if (sent.length === 0) return 'full';
      return (await answer) ? 'heard' : 'silent';
    } finally {
      this.#effects.clearTimer(timer);
      this.#heard = undefined;
    }
  }

  #testLater(): void {
    this.#later(TEST_EVERY_MS, async () => {
      // A queue that is full says nothing about the connection, which holds the liveness lock.
      if ((await this.#test().catch(() => 'silent')) === 'silent') await this.#reopen(FIRST_RETRY_MS);
      else this.#testLater();
    });
  }

  /** Opens anew, and tries again later where that fails: the database may be away. Whoever listens also polls meanwhile. */
  async #reopen(retryMs: number): Promise<void> {
    await this.#drop();
    if ((await this.#open().catch(() => 'silent')) === 'heard') {
      for (const news of ['messages', 'units'] as const) this.#onNews(news);
      this.#testLater();
    } else {
      this.#later(retryMs, () => this.#reopen(Math.min(retryMs * 2, TEST_EVERY_MS)));
    }
  }

  #later(ms: number, job: () => Promise<void>): void {
    if (this.#isClosed) return;
    this.#effects.clearTimer(this.#timer);
    this.#timer = this.#effects.setTimer(() => void job(), ms);
  }

  async #drop(): Promise<void> {
    this.#turn += 1;
    const [subscription, lock] = [this.#subscription, this.#lock];
    this.#lock = undefined;
    // postgres.js keeps its connection. Not waited for: it may be lost, and then the lock is too.
    if (lock !== undefined) subscription?.query?.(RELEASE_LIVENESS_LOCK, [lock]).catch(() => undefined);
    this.#subscription = undefined;
    await subscription?.close().catch(() => undefined);
  }
}

/** Nothing where it cannot be taken: this worker has its lease, as ever. */
async function takeLock({ query }: Subscription): Promise<string | undefined> {
  const key = newLivenessKey();
  const rows = await query?.(TAKE_LIVENESS_LOCK, [key]).catch(() => undefined);
  return Number(rows?.[0]?.[0]) === 1 ? key : undefined;
}
