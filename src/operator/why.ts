import type { DeliveryError } from '../relay/relay-store.ts';

/** What the database knows about one delivery at one moment; `explain` decides over it. */
export interface DeliveryFacts {
  /** As `DeadLetter.id`. */
  readonly id: string;
  readonly type: string;
  readonly key: string | undefined;
  readonly generation: number | undefined;
  /** Absent: no handler is known for the type. */
  readonly handler:
    | {
        readonly service: string;
        readonly name: string;
        readonly isPinned: boolean;
        readonly pausedAt: Date | undefined;
        /** What it stands behind, unless that is closed. `probeAt`: absent while a message is tried, and while it is held open by hand. */
        readonly breaker?: { readonly name: string; readonly probeAt: Date | undefined } | undefined;
        /** Live workers that serve it, in any generation. */
        readonly workers: number;
      }
    | undefined;
  readonly state: 'ready' | 'waiting' | 'failed' | 'delivered' | 'discarded' | 'cancelled';
  readonly attempts: number;
  /** Milliseconds until it is due, negative when that has passed; absent unless it waits. */
  readonly dueInMs: number | undefined;
  readonly dueAt: Date | undefined;
  /** The time of its end: finished, or failed for good. */
  readonly endedAt: Date | undefined;
  readonly error: DeliveryError | undefined;
  readonly reason: string | undefined;
  readonly actor: string | undefined;
  readonly running: { readonly worker: string; readonly attempt: number; readonly startedAt: Date } | undefined;
  /** The lane it stands in: the generations it can be served in are lanes of their own. Absent: nobody's. */
  readonly lane: { readonly workers: number } | undefined;
  /** The live worker that owns its unit. */
  readonly owner: string | undefined;
  /** The message of its key that must go first, if there is one. */
  readonly ahead: { readonly messageId: string; readonly state: 'ready' | 'waiting' | 'failed' } | undefined;
  /**
   * What its line stands still for, if it is an HTTP delivery: the breaker of its destination, or its queue or flow-control key is paused.
   * `probeAt`: absent while a message is tried, and while the breaker is held open by hand.
   */
  readonly heldLine?: HeldLine | undefined;
  readonly isAllPaused: boolean;
}

/** A line of HTTP deliveries that stands still. */
type HeldLine = {
  /** `to:https://shop.example`, `queue:mails`, `flow:tenant-7`. */
  readonly line: string;
  readonly because: 'breaker' | 'paused';
  readonly probeAt: Date | undefined;
};

/** Why a delivery is not done. The list is closed. */
export type WhyReason =
  | { readonly kind: 'scheduled'; readonly dueAt: Date }
  | { readonly kind: 'retry-wait'; readonly dueAt: Date; readonly attempts: number; readonly lastError: string }
  | { readonly kind: 'failed'; readonly attempts: number; readonly lastError: string; readonly failedAt: Date }
  | {
      readonly kind: 'behind';
      readonly messageId: string;
      readonly state: 'ready' | 'waiting' | 'failed';
      readonly key: string;
    }
  | { readonly kind: 'handler-paused'; readonly since: Date }
  | { readonly kind: 'all-paused' }
  /** What its handler calls is down, or the breaker is held open by hand; no attempt is spent meanwhile. */
  | { readonly kind: 'breaker-open'; readonly breaker: string; readonly probeAt: Date | undefined }
  /** An HTTP delivery whose destination, queue or flow-control key stands still; no attempt is spent meanwhile. */
  | ({ readonly kind: 'line-held' } & HeldLine)
  | { readonly kind: 'no-handler'; readonly type: string }
  | { readonly kind: 'no-worker' }
  | { readonly kind: 'generation-unserved'; readonly generation: number | undefined }
  /** The worker that owns it runs code that does not take the type. */
  | { readonly kind: 'type-unknown'; readonly type: string; readonly dueAt: Date }
  /** Its handler put it off (`ctx.postpone`), in its own words. */
  | { readonly kind: 'postponed'; readonly dueAt: Date; readonly reason: string }
  | { readonly kind: 'unit-unowned' }
  | { readonly kind: 'running'; readonly worker: string; readonly attempt: number; readonly startedAt: Date }
  | { readonly kind: 'queued'; readonly owner: string }
  | { readonly kind: 'delivered'; readonly at: Date }
  | { readonly kind: 'discarded'; readonly at: Date; readonly actor: string; readonly reason: string }
  | { readonly kind: 'cancelled'; readonly at: Date; readonly actor: string; readonly reason: string | undefined };

/** One delivery of a message and why it is not done. */
export interface DeliveryReason {
  /** As `DeadLetter.id`. */
  readonly id: string;
  readonly service: string | undefined;
  readonly handler: string | undefined;
  readonly reason: WhyReason;
  /** The reason in words, with the next step. */
  readonly sentence: string;
}

/**
 * The one reason why a delivery is not done. Where several hold, the one that a person would have to deal with first: what
 * can never run before what is not due, that before what is paused, that before what it calls being down, that before who
 * serves it, that before its place in line. A retry that is not due is no reason where nothing of its handler is started anyway.
 */
export function explain(facts: DeliveryFacts): WhyReason {
  return (
    ended(facts) ??
    neverServed(facts) ??
    notDue(facts) ??
    paused(facts) ??
    heldLine(facts) ??
    broken(facts) ??
    unserved(facts) ??
    inLine(facts)
  );
}

// What a relay writes when its code does not take the type: no attempt, it is looked at again later.
const TYPE_UNKNOWN = 'HANDLER_TYPE_UNKNOWN';
// What it writes when the handler put it off.
const POSTPONED = 'POSTPONED';
const VERSION_UNKNOWN = 'PAYLOAD_VERSION_UNKNOWN';

function ended(facts: DeliveryFacts): WhyReason | undefined {
  const { state, running, attempts, error, actor = 'unknown', reason } = facts;
  const at = facts.endedAt ?? new Date(0);
  switch (state) {
    case 'delivered':
      return { kind: 'delivered', at };
    case 'discarded':
      return { kind: 'discarded', at, actor, reason: reason ?? 'no reason given' };
    case 'cancelled':
      return { kind: 'cancelled', at, actor, reason };
    case 'failed':
      return { kind: 'failed', attempts, lastError: errorText(error), failedAt: at };
    case 'ready':
    case 'waiting':
      return running && { kind: 'running', ...running };
    default:
      return state satisfies never;
  }
}

function neverServed({ handler, lane, type, generation }: DeliveryFacts): WhyReason | undefined {
  if (handler === undefined) return { kind: 'no-handler', type };
  return lane === undefined ? { kind: 'generation-unserved', generation } : undefined;
}

function notDue({ dueAt, dueInMs = 0, error, attempts, type, handler }: DeliveryFacts): WhyReason | undefined {
  if (dueAt === undefined || dueInMs <= 0) return undefined;
  if (error?.code === TYPE_UNKNOWN) return { kind: 'type-unknown', type, dueAt };
  if (error?.code === POSTPONED || error?.code === VERSION_UNKNOWN)
    return { kind: 'postponed', dueAt, reason: error.message };
  if (attempts === 0 && error === undefined) return { kind: 'scheduled', dueAt };
  if (handler?.breaker) return undefined;
  return { kind: 'retry-wait', dueAt, attempts, lastError: errorText(error) };
}

function paused({ isAllPaused, handler }: DeliveryFacts): WhyReason | undefined {
  if (isAllPaused) return { kind: 'all-paused' };
  return handler?.pausedAt && { kind: 'handler-paused', since: handler.pausedAt };
}

function heldLine({ heldLine: held }: DeliveryFacts): WhyReason | undefined {
  return held && { kind: 'line-held', ...held };
}

function broken({ handler }: DeliveryFacts): WhyReason | undefined {
  const { breaker } = handler ?? {};
  return breaker && { kind: 'breaker-open', breaker: breaker.name, probeAt: breaker.probeAt };
}

function unserved({ handler, lane, generation, owner }: DeliveryFacts): WhyReason | undefined {
  if (handler?.workers === 0) return { kind: 'no-worker' };
  if (lane?.workers === 0) return { kind: 'generation-unserved', generation };
  return owner === undefined ? { kind: 'unit-unowned' } : undefined;
}

function inLine({ ahead, key, owner = 'unknown' }: DeliveryFacts): WhyReason {
  return ahead && key !== undefined ? { kind: 'behind', ...ahead, key } : { kind: 'queued', owner };
}

function errorText(error: DeliveryError | undefined): string {
  if (error === undefined) return 'no error was kept';
  return error.code === undefined ? `${error.name}: ${error.message}` : `${error.code}: ${error.message}`;
}

/** The reason in words a person reads, with the next step. */
export function describeReason(reason: WhyReason): string {
  switch (reason.kind) {
    case 'scheduled':
      return `Its sender asked for ${iso(reason.dueAt)}. Wait, or cancel it.`;
    case 'retry-wait':
      return `${count(reason.attempts, 'attempt')} failed, the next is due at ${iso(reason.dueAt)}; the last error was ${reason.lastError}. Wait, or look at the forecast.`;
    case 'failed':
      return `It failed for good at ${iso(reason.failedAt)} after ${count(reason.attempts, 'attempt')}: ${reason.lastError}. Mend the cause and replay it, or discard it.`;
    case 'behind':
      return behind(reason);
    case 'handler-paused':
      return `Its handler has been paused since ${iso(reason.since)}. Resume the handler.`;
    case 'all-paused':
      return 'Everything is paused. Resume all.';
    case 'breaker-open':
      return `The breaker ${reason.breaker} is open, ${reason.probeAt ? `next probe at ${iso(reason.probeAt)}` : 'until a message that is being tried goes well or somebody closes it'}. No attempt is spent meanwhile: mend what its handlers call, or close it.`;
    case 'line-held':
      return lineHeld(reason);
    case 'no-handler':
      return `No handler takes "${reason.type}". Start a service that does, or discard the message.`;
    case 'no-worker':
      return 'No live worker serves its handler. Start one, or retire the handler.';
    case 'generation-unserved':
      return `No live worker serves generation ${reason.generation ?? '(none)'}. Start one, or replay the message into another generation once it has failed.`;
    case 'type-unknown':
      return `The worker that has it does not know "${reason.type}" and looks again at ${iso(reason.dueAt)}. Deploy code that takes the type.`;
    case 'postponed':
      return `Its handler put it off until ${iso(reason.dueAt)}: ${reason.reason}. No attempt was spent. Wait, or mend that.`;
    case 'unit-unowned':
      return 'Workers live, but none owns its part of the keys yet. Wait a few seconds; if it stays so, look at the workers.';
    case 'running':
      return `Worker ${reason.worker} has run attempt ${reason.attempt} since ${iso(reason.startedAt)}. Wait for it to end.`;
    case 'queued':
      return `It is in line at worker ${reason.owner}. Wait; if the line is long, start more workers or raise the concurrency.`;
    case 'delivered':
      return `It was handled at ${iso(reason.at)}. Nothing is left to do.`;
    case 'discarded':
      return `${reason.actor} discarded it at ${iso(reason.at)}: ${reason.reason}. Replay it with its handler named to bring it back.`;
    case 'cancelled':
      return `${reason.actor} cancelled it at ${iso(reason.at)}${reason.reason === undefined ? '' : `: ${reason.reason}`}. Nothing is left to do.`;
    default:
      return reason satisfies never;
  }
}

function lineHeld({ line, because, probeAt }: HeldLine): string {
  const name = line.slice(line.indexOf(':') + 1);
  if (because === 'paused')
    return `Its ${line.startsWith('queue:') ? 'queue' : 'flow-control key'} "${name}" is paused. Resume it.`;
  const until = probeAt
    ? `one message tries again at ${iso(probeAt)}`
    : 'until one that is being tried goes well or somebody closes it';
  return `The breaker of ${name} is open: ${until}. No attempt is spent meanwhile: wait, or close it.`;
}

function behind({ messageId, state, key }: Extract<WhyReason, { kind: 'behind' }>): string {
  const next = {
    ready: 'which is in line itself. Ask why that one is not running.',
    waiting: 'which waits for its next attempt. Ask why that one is not running.',
    failed: 'which has failed. Replay or discard that one.',
  };
  return `Message ${messageId} of the same key ${JSON.stringify(key)} comes first, ${next[state]}`;
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`;
}

function iso(at: Date): string {
  return at.toISOString();
}
