import type { Claim, IdempotencyStore, RunEnd } from '../../idempotency/idempotency-store.ts';
import { must } from '../contract/contract-kit.ts';
import type { IdempotencyHarness } from './idempotency-harness.ts';
import { DONE, LONG_MS, mark, mustBe, passed, REPLY, SHORT_MS } from './idempotency-kit.ts';
import { type ModelStep, RulesModel } from './rules-model.ts';
import { TimeTable } from './time-table.ts';

/** What `checkAgainstRules` takes. */
export interface RandomRunOptions {
  /** Numbers in [0, 1), the same for the same seed, so that a run can be repeated. */
  readonly random: () => number;
  /** How many steps to take. Default 100. */
  readonly steps?: number | undefined;
}

/**
 * Takes random steps by several owners on a few records, and compares each answer with the rules: kinds and values exactly, times
 * by what they say about each other. Throws at the first difference, with all steps that led to it.
 */
export async function checkAgainstRules(harness: IdempotencyHarness, options: RandomRunOptions): Promise<void> {
  const run = new RandomRun(harness, options.random);
  try {
    for (let step = 0; step < (options.steps ?? 100); step++) await run.step();
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${run.trace.join('\n')}`, { cause: error });
  }
}

/** Records and owners, by the names they have in the trace. */
type Named<T> = readonly (readonly [name: string, value: T])[];

class RandomRun {
  readonly trace: string[] = [];
  readonly #harness: IdempotencyHarness;
  readonly #random: () => number;
  readonly #model = new RulesModel();
  readonly #times: TimeTable;
  readonly #persons: Named<string> = [
    ['Ann', mark()],
    ['Bob', mark()],
  ];
  readonly #owners: Named<string> = ['1', '2', '3'].map((name) => [name, mark()]);
  readonly #things: Named<Pick<Claim, 'id' | 'person' | 'fingerprint'>>;
  #expired = 0;

  constructor(harness: IdempotencyHarness, random: () => number) {
    this.#harness = harness;
    this.#random = random;
    this.#times = new TimeTable(this.#model, harness.elapse !== undefined);
    const whose: Named<string | null> = [...this.#persons, ...this.#persons, ['nobody', null]];
    this.#things = whose.map(([name, person], i) => [`${i} of ${name}`, { id: mark(), person, fingerprint: mark() }]);
  }

  async step(): Promise<void> {
    const next = this.#next();
    if (next === 'time') return this.#letPass(this.#pick([SHORT_MS, LONG_MS / 2, LONG_MS, 3 * LONG_MS]));
    const expected = this.#model.take(next);
    this.trace.push(`${' '.repeat(4)}must be ${shown(expected)}`);
    const found = await asked(this.#harness.store, next);
    if (next.kind === 'reap') {
      const limit = Math.min(next.limit, this.#expired);
      must(Number(found) <= limit, `no more are cleared away than had expired (${String(found)}, not ${limit})`);
      return;
    }
    this.#compare(found, expected);
    if ('claim' in next) await this.#settle(next.claim);
  }

  #next(): ModelStep | 'time' {
    const kinds = ['claim', 'claim', 'claim', 'renew', 'end', 'end', 'find', 'erase', 'reap', 'time'] as const;
    const kind = this.#pick(kinds);
    if (kind === 'erase') {
      const [name, person] = this.#pick(this.#persons);
      this.trace.push(`erase ${name}`);
      return { kind, person };
    }
    if (kind === 'reap') {
      const limit = this.#pick([1, 100]);
      this.trace.push(`clear away up to ${limit}`);
      return { kind, limit };
    }
    if (kind === 'time' && this.#harness.elapse !== undefined) return 'time';
    const end = this.#end();
    const claim = this.#claim(kind === 'end' ? `end by ${end.kind}` : kind);
    return kind === 'end' ? { kind, claim, end } : { kind: kind === 'time' ? 'find' : kind, claim };
  }

  #claim(what: string): Claim {
    const [name, thing] = this.#pick(this.#things);
    const [owner, token] = this.#pick(this.#owners);
    const isOther = this.#random() < 0.05;
    const claim = {
      ...thing,
      domain: 'random',
      fingerprint: isOther ? 'another' : thing.fingerprint,
      owner: token,
      leaseMs: this.#pick([SHORT_MS, LONG_MS, LONG_MS]),
      keepMs: this.#pick([SHORT_MS, 2 * LONG_MS, 2 * LONG_MS, 2 * LONG_MS]),
      takeUnknown: this.#random() < 0.5,
    };
    const times = `lease ${claim.leaseMs}, keep ${claim.keepMs}`;
    const how = `${claim.takeUnknown ? ', would take over' : ''}${isOther ? ', another request' : ''}`;
    this.trace.push(`${what}: ${name}, owner ${owner}, ${times}${how}`);
    return claim;
  }

  #end(): RunEnd {
    const bodies = [REPLY.body, undefined, new Uint8Array(), Uint8Array.of(0xff, 0, 0x80)];
    const reply = { head: `{"n":${this.trace.length}}`, body: this.#pick(bodies) };
    return this.#pick([
      { ...DONE, reply },
      { ...DONE, reply, status: 'failed' },
      { kind: 'doubt' },
      { kind: 'release' },
    ]);
  }

  /** On a real clock a short time ends at any moment: until it has, nothing else can be said for certain. */
  async #settle({ id }: Claim): Promise<void> {
    const isSoon = this.#model.ends(id).some((at) => at - this.#model.now <= SHORT_MS);
    if (isSoon) await this.#letPass(SHORT_MS, id);
  }

  async #letPass(ms: number, id?: string): Promise<void> {
    const before = this.#liveCount();
    this.#model.elapse(ms);
    this.#expired += before - this.#liveCount();
    this.trace.push(`${ms} ms pass`);
    const status = id === undefined ? undefined : this.#model.status(id);
    const isOver = async (): Promise<boolean> =>
      id === undefined || (await this.#harness.store.find(id))?.status === status;
    await passed(this.#harness, ms, isOver, `after ${ms} ms the record is ${status ?? 'gone'}`);
  }

  #liveCount(): number {
    return this.#things.filter(([, { id }]) => this.#model.live(id) !== undefined).length;
  }

  #compare(found: unknown, expected: unknown): void {
    mustBe(withoutTimes(found), withoutTimes(expected), 'the answer is that of the rules');
    const [times, expectedTimes] = [timesOf(found), timesOf(expected)];
    for (const [name, time] of Object.entries(times)) {
      const wanted = expectedTimes[name] ?? 0;
      if (name !== 'leaseLeftMs') this.#times.check(name, time, wanted);
      // On a real clock some of the lease has gone by.
      else if (this.#harness.elapse === undefined)
        must(time >= 1 && time <= wanted, `${time} ms of ${wanted} are left`);
      else mustBe(time, wanted, 'so much of the lease is left');
    }
  }

  #pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.#random() * items.length)] as T;
  }
}

function asked(store: IdempotencyStore, step: ModelStep): Promise<unknown> {
  switch (step.kind) {
    case 'claim':
      return store.claim(step.claim);
    case 'renew':
      return store.renew(step.claim);
    case 'end':
      return store.end(step.claim, step.end);
    case 'find':
      return store.find(step.claim.id);
    case 'erase':
      return store.erase(step.person);
    case 'reap':
      return store.reap(step.limit);
  }
}

const TIMES = ['createdAt', 'updatedAt', 'finishedAt', 'expiresAt', 'leaseLeftMs'];

function timesOf(answer: unknown): Readonly<Record<string, number>> {
  if (typeof answer !== 'object' || answer === null) return {};
  return Object.fromEntries(Object.entries(answer).filter(([name]) => TIMES.includes(name)));
}

/** The answer with the names of its times only. */
function withoutTimes(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null) return answer;
  return { ...answer, ...Object.fromEntries(Object.keys(timesOf(answer)).map((name) => [name, 'a time'])) };
}

function shown(answer: unknown): string {
  if (typeof answer !== 'object' || answer === null) return String(answer);
  const { kind, status, run } = answer as { kind?: string; status?: string; run?: number };
  return [kind, status, run].filter((word) => word !== undefined).join(' ');
}
