import type { MemoryStore } from '../../src/testing/index.ts';
import { HANDLER_NAMES, REPEATABLE } from './handlers.ts';
import { GENERATIONS, sometime, type Stage } from './stage.ts';

/** Runs a dead letter again; false where there is none. */
export type Replay = MemoryStore['operator']['replay'];

/** Two operators see the same dead letter: the second comes so much later at most, when it may be handled already. */
const SECOND_WITHIN_MS = 600;

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
    for (let n = 0; n < temper.reruns; n++) at(sometime(this.#stage), () => this.#rerun());
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
    if (kind === 'edit') operator.edit(row.id, { version: row.version + 1 });
    if (kind === 'cancel') operator.cancel(row.id);
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
