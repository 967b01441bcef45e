import type { Effects } from '../../src/kernel/effects.ts';
import { isHoldfastError } from '../../src/kernel/error.ts';
import type {
  BatchItem,
  HandlerContext,
  HandlerDefinition,
  HandlerTake,
  OnDead,
  Projection,
} from '../../src/relay/handler.ts';
import { event, type EventDefinition } from '../../src/outbox/event.ts';
import { policy } from '../../src/retry/policy.ts';
import type { SeededRandom } from './seeded-random.ts';

/** A handler's effect, as it is recorded in its transaction. */
export interface Effect {
  readonly id: string;
  readonly handler: string;
  /** Of the payload it was given. */
  readonly version: number;
  readonly worker: number;
  /** What it would hand to whatever it calls. */
  readonly key: string;
}

/** Thrown by the handlers of a simulation, so that their failures are told from the store's. */
class Planned extends Error {
  readonly isTerminal: boolean;
  /** What it calls is down: a breaker counts it. */
  readonly isOutage: boolean;

  constructor(isTerminal: boolean, isOutage = false) {
    super(isTerminal ? 'terminal' : 'transient');
    this.isTerminal = isTerminal;
    this.isOutage = isOutage && !isTerminal;
  }
}

/** What the handlers of one worker need. */
export interface HandlerWorld<Tx> {
  readonly worker: number;
  readonly effects: Effects;
  readonly random: SeededRandom;
  /** How often handlers fail now, from 0 to 1. */
  failing(): number;
  /** How long handlers take at most. */
  readonly slowMs: () => number;
  readonly timeoutMs: number;
  /** How many attempts never end by themselves now, from 0 to 1. */
  readonly hanging: () => number;
  readonly onDead: Readonly<Record<HandlerName, OnDead>>;
  readonly record: (tx: Tx, effect: Effect) => Promise<void>;
  /** A further message in the transaction of the handler. */
  readonly sendOn: (tx: Tx, from: Pick<HandlerContext<Tx>, 'key' | 'generation'>) => Promise<void>;
  /** A handler without a transaction did its work. */
  ran(effect: Effect): void;
  /** A handler is about to throw an error of its own. */
  threw(id: string, handler: string): void;
  /** It is told that its time is up, so long after it was called. */
  readonly timedOut: (id: string, handler: string, afterMs: number) => void;
}

export const HANDLER_NAMES = ['ledger', 'view', 'mail'] as const;
export type HandlerName = (typeof HANDLER_NAMES)[number];

/** Those that operators may run again. */
export const REPEATABLE: ReadonlySet<string> = new Set<HandlerName>(['view', 'mail']);

/** Every handler takes it. */
export const PLACED = 'order.placed';
/** Only ledger and view take it. */
export const PAID = 'order.paid';
/** What ledger sends on; only mail takes it. */
export const NOTED = 'order.noted';

export const TYPES: Readonly<Record<HandlerName, readonly string[]>> = {
  ledger: [PLACED, PAID],
  view: [PLACED, PAID],
  mail: [PLACED, NOTED],
};

/** What a message carries. */
export interface SimulatedPayload {
  readonly id: string;
  /** Raised by each edit. */
  readonly version: number;
}

/** What a message carries until it is edited. */
export function firstPayload(id: string): string {
  return JSON.stringify({ id, version: 0 } satisfies SimulatedPayload);
}

const POLICY = policy({ maxAttempts: 3, baseDelayMs: 20, maxDelayMs: 200, timeoutMs: Infinity });

const BREAKER = { name: 'bank', failures: 2, openAfterMs: 0, probeAfterMs: 60, maxProbeAfterMs: 500 };

/**
 * Three kinds of handler: one that commits its effect itself, one that shares commits, one without a transaction. The second
 * takes messages of one type one by one, those of the other many at once.
 */
export function simulatedHandlers<Tx>(world: HandlerWorld<Tx>): ReadonlyMap<string, HandlerDefinition<Tx>> {
  const rules = (name: HandlerName): Omit<HandlerDefinition<Tx>, 'kind' | 'takes'> => ({
    name,
    policy: POLICY,
    classifier: (error) =>
      error instanceof Planned && error.isTerminal
        ? { verdict: 'fail', kind: 'terminal' }
        : { verdict: 'retry', kind: error instanceof Planned && error.isOutage ? 'network' : 'unknown' },
    concurrency: name === 'view' ? 2 : 4,
    timeoutMs: world.timeoutMs,
    onDead: world.onDead[name],
    repeatable: REPEATABLE.has(name),
    // Two handlers call the same; the third touches the database alone.
    breaker: name === 'view' ? undefined : BREAKER,
  });
  const steps = new Steps(world);
  const ledger = (payload: unknown, ctx: HandlerContext<Tx>): Promise<void> => steps.ledger(payload, ctx);
  const view = new Map<string, HandlerTake<Projection<Tx>>>([
    [
      PLACED,
      {
        event: steps.eventOf(PLACED, 'view'),
        run: { of: 'each', run: (payload, tx, ctx) => steps.view({ payload, ctx }, tx) },
      },
    ],
    [PAID, { event: steps.eventOf(PAID, 'view'), run: { of: 'all', run: (batch, tx) => steps.viewAll(batch, tx) } }],
  ]);
  const mail = (payload: unknown, ctx: HandlerContext<Tx>): Promise<void> => steps.mail(payload, ctx);
  return new Map<string, HandlerDefinition<Tx>>([
    ['ledger', { ...rules('ledger'), kind: 'handle', takes: steps.takes('ledger', ledger) }],
    ['view', { ...rules('view'), kind: 'project', takes: view }],
    ['mail', { ...rules('mail'), kind: 'handle', takes: steps.takes('mail', mail) }],
  ]);
}

type About = Omit<HandlerContext<never>, 'commit'>;

class Steps<Tx> {
  readonly #world: HandlerWorld<Tx>;

  constructor(world: HandlerWorld<Tx>) {
    this.#world = world;
  }

  /** An event whose schema finds some payloads unreadable, and the next time perhaps not: in a batch that is known before any of it runs. */
  eventOf(type: string, handler: HandlerName): EventDefinition<never, unknown> {
    const world = this.#world;
    const validate = (value: unknown): { value: unknown } | { issues: readonly { message: string }[] } => {
      if (!world.random.chance(world.failing() / 4)) return { value };
      world.threw((value as SimulatedPayload).id, handler);
      return { issues: [{ message: 'unreadable' }] };
    };
    return event<never, unknown>(type, { schema: { '~standard': { version: 1, vendor: 'simulation', validate } } });
  }

  takes<Run>(name: HandlerName, run: Run): ReadonlyMap<string, { event: EventDefinition<never, unknown>; run: Run }> {
    return new Map(TYPES[name].map((type) => [type, { event: this.eventOf(type, name), run }]));
  }

  async ledger(payload: unknown, ctx: HandlerContext<Tx>): Promise<void> {
    const { random, record, sendOn } = this.#world;
    this.#begin(ctx);
    await this.#work();
    await this.#mayHang(ctx);
    this.#mayFail(ctx);
    const failsInside = random.chance(this.#world.failing());
    const isCareless = random.chance(0.1);
    const sendsOn = random.chance(0.15) && ctx.type === PLACED;
    try {
      await ctx.commit(async (tx) => {
        await record(tx, this.#effect(payload, ctx));
        if (sendsOn) await sendOn(tx, ctx);
        if (random.chance(0.2)) await this.#work();
        if (failsInside) this.#fail(ctx);
      });
    } catch (error) {
      // Some handlers swallow what they should throw on. A refusal is a refusal all the same.
      if (!isCareless || !isHoldfastError(error, 'DELIVERY_TAKEN')) throw error;
    }
    // What is committed stays committed, whatever the handler does afterwards.
    if (random.chance(0.05)) throw new Planned(random.chance(0.5));
  }

  async viewAll(batch: readonly BatchItem<unknown, Tx>[], tx: Tx): Promise<void> {
    for (const item of batch) await this.view(item, tx);
  }

  async view({ payload, ctx }: BatchItem<unknown, Tx>, tx: Tx): Promise<void> {
    const { random, record } = this.#world;
    if (random.chance(0.2)) await this.#work();
    await record(tx, this.#effect(payload, ctx));
    this.#mayFail(ctx);
  }

  async mail(payload: unknown, ctx: HandlerContext<Tx>): Promise<void> {
    this.#begin(ctx);
    await this.#work();
    await this.#mayHang(ctx);
    this.#mayFail(ctx);
    this.#world.ran(this.#effect(payload, ctx));
  }

  #effect(payload: unknown, { id, handler, idempotencyKey: key }: About): Effect {
    return { id, handler, version: (payload as SimulatedPayload).version, worker: this.#world.worker, key };
  }

  #begin({ id, handler, signal }: About): void {
    const { timeoutMs, effects, timedOut } = this.#world;
    if (timeoutMs === Infinity) return;
    const startedMs = effects.monoMs();
    signal.addEventListener('abort', () => {
      if (isTimeout(signal)) timedOut(id, handler, effects.monoMs() - startedMs);
    });
  }

  /** Does nothing any more, until it is told to stop; some do not even listen to that. */
  async #mayHang({ signal }: About): Promise<void> {
    const { random, hanging } = this.#world;
    if (!random.chance(hanging())) return;
    const heeds = random.chance(0.5);
    await new Promise((_, reject) => {
      if (heeds) signal.addEventListener('abort', () => reject(signal.reason));
    });
  }

  #mayFail(ctx: About): void {
    if (this.#world.random.chance(this.#world.failing())) this.#fail(ctx);
  }

  #fail({ id, handler, signal }: About): never {
    const isLate = this.#world.timeoutMs < Infinity && isTimeout(signal);
    if (!isLate) this.#world.threw(id, handler);
    throw new Planned(this.#world.random.chance(0.25), this.#world.random.chance(0.6));
  }

  async #work(): Promise<void> {
    const { random, effects, slowMs } = this.#world;
    const ms = random.chance(0.6) ? 0 : random.chance(0.06) ? random.int(0, slowMs()) : random.int(1, 30);
    if (ms > 0) await new Promise<void>((resolve) => void effects.setTimer(resolve, ms));
  }
}

function isTimeout({ reason }: AbortSignal): boolean {
  return isHoldfastError(reason, 'ATTEMPT_TIMEOUT');
}
