import type { MemoryStore, OpenMemoryDelivery } from '../../src/testing/index.ts';
import { HANDLER_NAMES, REPEATABLE, type SimulatedPayload } from './handlers.ts';
import { GENERATIONS, sometime, type Stage } from './stage.ts';

/** Runs a dead letter again; false where there is none. */
export type Replay = MemoryStore['operator']['replay'];

/** Two operators see the same dead letter: the second comes so much later at most, when it may be handled already. */
const SECOND_WITHIN_MS = 600;

/** How soon somebody acts on a dead letter. */
const HASTY_WITHIN_MS = 30;

/** What people do to messages and handlers in a schedule. */
export class Operators {
  readonly #stage: Stage;
  readonly #replayed: Replay;
  #isHeldOpen = false;

  constructor(stage: Stage, replay: Replay) {
    this.#stage = stage;
    this.#replayed = replay;
  }

  plan(): void {
    const { temper, at } = this.#stage;
    for (let n = 0; n < temper.verbs; n++) at(sometime(this.#stage), () => this.#verb());
    for (let n = 0; n < temper.keyVerbs; n++) at(sometime(this.#stage), () => this.#keyVerb());
    for (let n = 0; n < temper.reruns; n++) at(sometime(this.#stage), () => this.#rerun());
  }

  /** Some act as soon as there is a dead letter, as a script that is told of it would: while what follows it is still being parked. */
  died(id: string): void {
    const { at, random, temper } = this.#stage;
    if (random.chance(temper.hasty)) at(random.int(0, HASTY_WITHIN_MS), () => this.#keyVerb(id));
  }

  resumeAll(): void {
    const { operator } = this.#stage.store;
    for (const name of HANDLER_NAMES) operator.resume(name);
    operator.resume();
    // One that opened by itself closes by itself.
    if (this.#isHeldOpen) operator.closeBreaker('bank');
    this.#isHeldOpen = false;
  }

  /** Looks through the dead letters: some are replayed, some given up, some left for the next time. */
  clear(): void {
    const { store, random, trace } = this.#stage;
    if (random.chance(0.3)) return this.#keyVerb();
    for (const { id, handler } of store.deadLetters()) {
      if (handler === undefined || !random.chance(0.5)) continue;
      const isReplayed = random.chance(0.8);
      trace(`operator at the end: ${isReplayed ? 'replay' : 'discard'} ${handler}/${id}`);
      if (isReplayed) this.#replayTwice(id, handler);
      else store.operator.discard(id, handler);
    }
  }

  #verb(): void {
    const { random, store, trace } = this.#stage;
    const { operator } = store;
    const rows = store.deliveries();
    const dead = store.deadLetters();
    const kind = random.pick(['replay', 'replay', 'discard', 'edit', 'edit', 'cancel', 'pause', 'resume', 'open']);
    const row = kind === 'replay' ? dead[random.int(0, dead.length - 1)] : rows[random.int(0, rows.length - 1)];
    const handler = random.pick(HANDLER_NAMES);
    trace(`operator: ${kind} ${row?.handler ?? handler}/${row?.id}`);
    if (kind === 'pause') operator.pause(random.chance(0.8) ? handler : undefined);
    if (kind === 'resume') this.resumeAll();
    if (kind === 'open') {
      operator.openBreaker('bank');
      this.#isHeldOpen = true;
    }
    if (!row?.handler) return;
    if (kind === 'replay') this.#replayTwice(row.id, row.handler);
    if (kind === 'discard') operator.discard(row.id, row.handler);
    if (kind === 'edit') operator.edit(row.id, { id: row.id, version: row.version + 1 } satisfies SimulatedPayload);
    if (kind === 'cancel') operator.cancel(row.id);
  }

  /** As `replayKey`, `discardKey`, `releaseKey`, `skipKey` and `replayWhere` with a cause do. */
  #keyVerb(ofId?: string): void {
    const { random, store, trace, sends } = this.#stage;
    const { operator } = store;
    const dead = store.deadLetters();
    const chosen = dead.find(({ id }) => id === ofId) ?? dead[random.int(0, dead.length - 1)];
    if (chosen?.handler === undefined || chosen.key === undefined) return;
    const { handler, key, error } = chosen;
    const kind = random.pick(['replay', 'replay', 'replay', 'cause', 'discard', 'release', 'skip'] as const);
    trace(`operator: ${kind} of key ${key} of ${handler}, ${error?.code}`);
    if (kind === 'replay') operator.replayKey(handler, key);
    if (kind === 'discard') operator.discardKey(handler, key);
    if (kind === 'skip') operator.skipKey(handler, key);
    if (kind === 'cause') this.#replayCause(dead, handler, error?.code);
    if (kind !== 'release') return;
    const failed = dead.filter((row) => row.handler === handler && row.key === key && row.error?.code !== 'PARKED');
    if (operator.releaseKey(handler, key)) for (const { id } of failed) sends.passed.add(`${handler}/${id}`);
  }

  /** A bulk operation: its canary first, the others later, each in a transaction of its own. */
  #replayCause(dead: readonly OpenMemoryDelivery[], handler: string, code: string | undefined): void {
    const { random, at } = this.#stage;
    const chosen = dead.filter((row) => row.handler === handler && row.error?.code === code);
    const canary = random.int(0, 2);
    for (const [n, { id }] of chosen.entries()) {
      if (n < canary) this.#replayed(id, handler);
      else at(random.int(0, SECOND_WITHIN_MS), () => void this.#replayed(id, handler));
    }
  }

  #replayTwice(id: string, handler: string): void {
    const { at, random, trace } = this.#stage;
    this.#replay(id, handler);
    at(random.int(0, SECOND_WITHIN_MS), () => {
      const isDone = this.#replayed(id, handler);
      trace(`a second operator: replay ${handler}/${id}: ${isDone}`);
    });
  }

  #replay(id: string, handler: string): void {
    const { random, sends, temper, trace } = this.#stage;
    const generation = temper.isPinned && random.chance(0.3) ? random.pick(GENERATIONS) : undefined;
    if (!this.#replayed(id, handler, { generation }) || generation === undefined) return;
    trace(`into generation ${generation}`);
    sends.moved(handler, id, generation);
  }

  /** Runs a handler again for a message it has handled. Those that are not repeatable must refuse. */
  #rerun(): void {
    const { random, store, sends, problems, trace } = this.#stage;
    const done = store.delivered();
    const row = done[random.int(0, done.length - 1)];
    if (row?.handler === undefined) return;
    const isDone = store.operator.rerun(row.id, row.handler);
    trace(`operator: rerun ${row.handler}/${row.id}: ${isDone}`);
    if (isDone) sends.rerun(row.handler, row.id);
    if (isDone && !REPEATABLE.has(row.handler)) problems.push(`${row.handler}/${row.id} was repeated`);
  }
}
