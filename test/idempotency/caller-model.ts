import type { Claim, ClaimAnswer, EndAnswer, RunEnd } from '../../src/idempotency/idempotency-store.ts';
import {
  claimRecord,
  endRecord,
  renewRecord,
  type Step,
  type StoredRecord,
} from '../../src/idempotency/record-rules.ts';

/** What the store does at each step; a test may put a fault in its place. */
interface Rules {
  readonly claim: typeof claimRecord;
  readonly renew: typeof renewRecord;
  readonly end: typeof endRecord;
}

/** How the core takes back a claim that it got no answer to. */
type Undo = 'as-the-core' | 'release' | 'release-what-was-first';

/** Those who ask: one that refuses unknown outcomes, or one that runs again. */
export type Policy = 'tell' | 'take';

export interface Setup {
  readonly policies: readonly Policy[];
  readonly rules?: Partial<Rules>;
  readonly undo?: Undo;
}

/**
 * Where a caller stands. `asking`: its claim is on its way. `giving-up`: no answer came in time, and the claim is taken back for good.
 * `sent`: it has sent its end. `over`: it was refused or answered. A dead one does nothing, but what it has sent may still arrive.
 */
type Phase =
  | 'start'
  | 'asking'
  | 'giving-up'
  | 'running'
  | 'effected'
  | 'sent'
  | 'released'
  | 'ended'
  | 'over'
  | 'dead';

interface Caller {
  readonly phase: Phase;
  /** The claim on its way: sent, or arrived and answered, with the answer on its way back. */
  readonly claim: 'none' | 'sent' | ClaimAnswer;
  /** Sent, and may arrive at any time, also when the caller is dead. */
  readonly hasSentEnd: boolean;
  /** While giving up, with the undo that asks first: the number that the claim was given then. */
  readonly undoing: number | undefined;
  /** Its lease has ended while it held the claim: its outcome was unknown from then on. */
  readonly hasLapsed: boolean;
  readonly hasEffect: boolean;
  /** How the store answered its end. */
  readonly end: EndAnswer | undefined;
}

/** The world between two steps. */
export interface World {
  readonly now: number;
  readonly record: StoredRecord | undefined;
  readonly callers: readonly Caller[];
  readonly hasCrashed: boolean;
  /** A run that had taken over said that it had done nothing: it is allowed to forget what was before it. */
  readonly isForgotten: boolean;
}

/** One step: what was done, the world after it, and what is wrong with it, if anything is. */
export interface Move {
  readonly what: string;
  readonly world: World;
  readonly problem: string | undefined;
}

const LEASE_MS = 10;
const FRESH: Caller = {
  phase: 'start',
  claim: 'none',
  hasSentEnd: false,
  undoing: undefined,
  hasLapsed: false,
  hasEffect: false,
  end: undefined,
};

/** The world before anything has happened. */
export function beginning({ policies }: Setup): World {
  return { now: 0, record: undefined, callers: policies.map(() => FRESH), hasCrashed: false, isForgotten: false };
}

/** All steps that can come next. */
export function movesFrom(world: World, setup: Setup): Move[] {
  const moves: Move[] = [];
  for (const [i] of world.callers.entries()) new CallerMoves(world, setup, i, moves).all();
  const { record } = world;
  if (record?.status === 'processing' && record.leaseUntil > world.now) {
    const holder = Number(record.owner);
    const callers = world.callers.map((one, i) => (i === holder ? { ...one, hasLapsed: true } : one));
    moves.push(judged(world, setup, 'the lease ends', { ...world, now: record.leaseUntil, callers }));
  }
  return moves;
}

/** The world as far as it matters: times only as whether the lease holds. Two worlds with the same text have the same future. */
export function textOf({ now, record, callers, hasCrashed, isForgotten }: World): string {
  const seen = record
    ? `${record.status}${record.owner}${record.run}${record.leaseUntil > now}${record.reply?.head ?? ''}`
    : '';
  let text = `${seen}${hasCrashed}${isForgotten}`;
  for (const { phase, claim, hasSentEnd, undoing, hasLapsed, hasEffect, end } of callers) {
    const met = typeof claim === 'object' ? answerText(claim) : claim;
    text += `|${phase} ${met} ${hasSentEnd}${undoing}${hasLapsed}${hasEffect}${end}`;
  }
  return text;
}

function answerText(answer: ClaimAnswer): string {
  if (answer.kind === 'finished') return `finished${answer.reply?.head}`;
  return 'run' in answer ? `${answer.kind}${answer.run}` : answer.kind;
}

/** The steps of one caller: those of the core, and what the network and fate do to it. */
class CallerMoves {
  readonly #world: World;
  readonly #setup: Setup;
  readonly #i: number;
  readonly #moves: Move[];
  readonly #caller: Caller;
  readonly #claim: Claim;
  readonly #rules: Rules;

  constructor(world: World, setup: Setup, i: number, moves: Move[]) {
    this.#world = world;
    this.#setup = setup;
    this.#i = i;
    this.#moves = moves;
    this.#caller = world.callers[i] ?? FRESH;
    this.#rules = { claim: claimRecord, renew: renewRecord, end: endRecord, ...setup.rules };
    this.#claim = {
      id: 'id',
      domain: 'd',
      person: null,
      fingerprint: 'f',
      owner: String(i),
      leaseMs: LEASE_MS,
      keepMs: Number.MAX_SAFE_INTEGER / 4,
      takeUnknown: setup.policies[i] === 'take',
    };
  }

  all(): void {
    const { phase, claim, hasSentEnd } = this.#caller;
    if (phase === 'start') this.#become('asks', { phase: 'asking', claim: 'sent' });
    if (claim === 'sent') this.#claimArrives();
    if (phase === 'asking') {
      this.#become('gives up waiting', { phase: 'giving-up' });
      if (typeof claim === 'object') this.#answerArrives(claim);
    }
    if (phase === 'giving-up') this.#undo();
    if (phase === 'running') {
      this.#become('takes effect', { phase: 'effected', hasEffect: true });
      this.#end('throws', { kind: 'release' }, 'released');
    }
    if (phase === 'effected') this.#become('sends its end', { phase: 'sent', hasSentEnd: true });
    if (phase === 'running' || phase === 'effected') this.#renew();
    // Again and again: an end whose answer was lost is told once more.
    if (hasSentEnd) {
      const reply = { head: String(this.#i), body: undefined };
      this.#end('ends', { kind: 'finish', status: 'completed', reply }, phase === 'dead' ? 'dead' : 'ended');
    }
    const isOver = ['released', 'ended', 'over', 'dead'].includes(phase);
    if (!isOver && !this.#world.hasCrashed) this.#push('dies', { phase: 'dead' }, { hasCrashed: true });
  }

  #claimArrives(): void {
    const { answer, record } = this.#rules.claim(this.#world.record, this.#claim, this.#world.now);
    this.#push(`claims: ${answer.kind}`, { claim: answer }, { record });
  }

  #answerArrives(answer: ClaimAnswer): void {
    if (answer.kind === 'claimed') this.#become('is let in', { phase: 'running' });
    else this.#become('is answered', { phase: 'over' });
  }

  /** As src/idempotency/undo-claim.ts, at any time and as often as it likes. */
  #undo(): void {
    const { undo = 'as-the-core' } = this.#setup;
    const { undoing } = this.#caller;
    const { record, now } = this.#world;
    if (!this.#claim.takeUnknown || undo === 'release') return this.#endUndo('release');
    if (undo === 'as-the-core') {
      // Between the two calls the claim may be lost to another; the second says nothing then.
      if (undoing === 1) return this.#endUndo('doubt');
      const renewed = this.#rules.renew(record, this.#claim, now);
      if (renewed.answer) this.#push('finds its claim', { undoing: 1 }, { record: renewed.record });
      return;
    }
    if (undoing !== undefined) return this.#endUndo(undoing === 1 ? 'release' : 'doubt');
    const claimed = this.#rules.claim(record, { ...this.#claim, takeUnknown: false }, now);
    if (claimed.answer.kind !== 'claimed') return;
    this.#push('asks what it was given', { undoing: claimed.answer.run }, { record: claimed.record });
  }

  #endUndo(kind: 'release' | 'doubt'): void {
    const { record } = this.#rules.end(this.#world.record, this.#claim, { kind }, this.#world.now);
    this.#push(`takes its claim back (${kind})`, { undoing: undefined }, { record });
  }

  #renew(): void {
    const { answer, record } = this.#rules.renew(this.#world.record, this.#claim, this.#world.now);
    if (answer) this.#push('lives', {}, { record });
  }

  #end(what: string, end: RunEnd, phase: Phase): void {
    const before = this.#world.record;
    const { answer, record }: Step<EndAnswer> = this.#rules.end(before, this.#claim, end, this.#world.now);
    const isForgotten = this.#world.isForgotten || (end.kind === 'release' && (before?.run ?? 1) > 1);
    const own = { phase, end: this.#caller.end ?? answer };
    this.#push(`${what}: ${answer}`, own, { record, isForgotten }, answer);
  }

  #become(what: string, own: Partial<Caller>): void {
    this.#push(what, own, {});
  }

  #push(what: string, own: Partial<Caller>, more: Partial<World>, answer?: EndAnswer): void {
    const callers = this.#world.callers.map((one, i) => (i === this.#i ? { ...one, ...own } : one));
    const world = { ...this.#world, callers, ...more };
    this.#moves.push(judged(this.#world, this.#setup, `${this.#i} ${what}`, world, answer));
  }
}

function judged(before: World, setup: Setup, what: string, world: World, answer?: EndAnswer): Move {
  return { what, world, problem: problemOf(before, world, setup, answer) };
}

/** What must never be. */
function problemOf(
  before: World,
  after: World,
  { policies }: Setup,
  answer: EndAnswer | undefined,
): string | undefined {
  const [was, is] = [before.record, after.record];
  if (answer === 'late' && JSON.stringify(was) !== JSON.stringify(is)) return 'a late end changed the record';
  if (was?.status === 'completed' && (is?.status !== 'completed' || is.reply?.head !== was.reply?.head)) {
    return 'a finished reply changed';
  }
  const makers = after.callers.filter(({ hasEffect }) => hasEffect);
  if (makers.filter(({ hasLapsed }) => !hasLapsed).length > 1) return 'two effects, and nothing was unknown in between';
  if (makers.length > 1 && policies.every((policy) => policy === 'tell'))
    return 'two effects, and nobody may run again';
  const kept = after.callers.filter(({ hasEffect, end }) => hasEffect && end === 'ended');
  if (kept.length > 1) return 'two effects, and both were told that theirs was kept';
  return grantProblem(before, after, policies);
}

/** Who refuses unknown outcomes is not let in where somebody may have been. */
function grantProblem(before: World, after: World, policies: readonly Policy[]): string | undefined {
  for (const [i, { claim }] of after.callers.entries()) {
    const isGrant = typeof claim === 'object' && claim.kind === 'claimed' && before.callers[i]?.claim === 'sent';
    if (!isGrant || policies[i] === 'take' || after.isForgotten) continue;
    if (after.callers.some(({ hasEffect }) => hasEffect)) return 'let in after an effect, without being told';
  }
  const answers = after.callers.flatMap(({ claim }) => (typeof claim === 'object' ? [claim] : []));
  const heads = answers.flatMap((answer) => (answer.kind === 'finished' ? [answer.reply?.head] : []));
  return heads.some((head) => head !== after.record?.reply?.head) ? 'answered with another reply' : undefined;
}
