import type { Effects } from '../../src/kernel/effects.ts';
import { isHoldfastError } from '../../src/kernel/error.ts';
import type { HandlerContext, HandlerDefinition, OnDead } from '../../src/relay/handler.ts';
import { event, type EventDefinition } from '../../src/outbox/event.ts';
import { policy } from '../../src/retry/policy.ts';
import type { SeededRandom } from './seeded-random.ts';

/** A handler's effect, as it is recorded in its transaction. */
export interface Effect {
  readonly id: string;
  readonly handler: string;
  readonly version: number;
  readonly worker: number;
}

/** Thrown by the handlers of a simulation, so that their failures are told from the store's. */
class Planned extends Error {
  readonly isTerminal: boolean;

  constructor(isTerminal: boolean) {
    super(isTerminal ? 'terminal' : 'transient');
    this.isTerminal = isTerminal;
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
  readonly onDead: Readonly<Record<HandlerName, OnDead>>;
  readonly record: (tx: Tx, effect: Effect) => Promise<void>;
  /** A further message in the transaction of the handler. */
  readonly sendOn: (tx: Tx, from: { id: string; key: string | undefined }) => Promise<void>;
  /** A handler without a transaction did its work. */
  ran(effect: Effect): void;
  /** A handler is about to throw an error of its own. */
  threw(id: string, handler: string): void;
}

export const HANDLER_NAMES = ['ledger', 'view', 'mail'] as const;
export type HandlerName = (typeof HANDLER_NAMES)[number];

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

const POLICY = policy({ maxAttempts: 3, baseDelayMs: 20, maxDelayMs: 200, timeoutMs: Infinity });

/** Three kinds of handler: one that commits its effect itself, one that shares commits, one without a transaction. */
export function simulatedHandlers<Tx>(world: HandlerWorld<Tx>): ReadonlyMap<string, HandlerDefinition<Tx>> {
  const rules = (name: HandlerName): Omit<HandlerDefinition<Tx>, 'kind' | 'takes'> => ({
    name,
    policy: POLICY,
    classifier: (error) =>
      error instanceof Planned && error.isTerminal
        ? { verdict: 'fail', kind: 'terminal' }
        : { verdict: 'retry', kind: 'unknown' },
    concurrency: name === 'view' ? 2 : 4,
    timeoutMs: Infinity,
    onDead: world.onDead[name],
    repeatable: false,
  });
  const steps = new Steps(world);
  const ledger = (payload: unknown, ctx: HandlerContext<Tx>): Promise<void> => steps.ledger(payload, ctx);
  const view = (payload: unknown, tx: Tx, ctx: Omit<HandlerContext<Tx>, 'commit'>): Promise<void> =>
    steps.view(payload, tx, ctx);
  const mail = (payload: unknown, ctx: HandlerContext<Tx>): Promise<void> => steps.mail(payload, ctx);
  return new Map<string, HandlerDefinition<Tx>>([
    ['ledger', { ...rules('ledger'), kind: 'handle', takes: takes('ledger', ledger) }],
    ['view', { ...rules('view'), kind: 'project', takes: takes('view', view) }],
    ['mail', { ...rules('mail'), kind: 'handle', takes: takes('mail', mail) }],
  ]);
}

function takes<Run>(
  name: HandlerName,
  run: Run,
): ReadonlyMap<string, { event: EventDefinition<never, unknown>; run: Run }> {
  return new Map(TYPES[name].map((type) => [type, { event: event<never, unknown>(type), run }]));
}

type About = Pick<HandlerContext<never>, 'id' | 'handler' | 'key'>;

class Steps<Tx> {
  readonly #world: HandlerWorld<Tx>;

  constructor(world: HandlerWorld<Tx>) {
    this.#world = world;
  }

  async ledger(payload: unknown, ctx: HandlerContext<Tx>): Promise<void> {
    const { random, record, sendOn } = this.#world;
    await this.#work();
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

  async view(payload: unknown, tx: Tx, ctx: Omit<HandlerContext<Tx>, 'commit'>): Promise<void> {
    const { random, record } = this.#world;
    if (random.chance(0.2)) await this.#work();
    await record(tx, this.#effect(payload, ctx));
    this.#mayFail(ctx);
  }

  async mail(payload: unknown, ctx: HandlerContext<Tx>): Promise<void> {
    await this.#work();
    this.#mayFail(ctx);
    this.#world.ran(this.#effect(payload, ctx));
  }

  #effect(payload: unknown, { id, handler }: About): Effect {
    return { id, handler, version: (payload as { version: number }).version, worker: this.#world.worker };
  }

  #mayFail(ctx: About): void {
    if (this.#world.random.chance(this.#world.failing())) this.#fail(ctx);
  }

  #fail({ id, handler }: About): never {
    this.#world.threw(id, handler);
    throw new Planned(this.#world.random.chance(0.25));
  }

  async #work(): Promise<void> {
    const { random, effects, slowMs } = this.#world;
    const ms = random.chance(0.6) ? 0 : random.chance(0.06) ? random.int(0, slowMs()) : random.int(1, 30);
    if (ms > 0) await new Promise<void>((resolve) => void effects.setTimer(resolve, ms));
  }
}
