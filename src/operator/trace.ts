/** What a step of a timeline is. */
export const TRACE_STEPS = [
  /** A route was asked, and its answer. */
  'request',
  /** What a guarded route or a job made of its idempotency key. */
  'idempotency',
  /** One attempt of an outgoing call. */
  'call',
  /** Something the application noted. */
  'note',
  /** A message was sent. */
  'sent',
  /** A message came from a broker. */
  'received',
  /** A handler failed and will be tried again. */
  'retry',
  /** A handler failed for good: a dead letter. */
  'dead',
  /** A handler is done with a message. */
  'handled',
  'discarded',
  'cancelled',
  /** Somebody changed something by hand: a replay, an edit, … */
  'by-hand',
  /** A command changed its state. */
  'command',
  /** What is left to do, at the moment of asking. */
  'open',
] as const;

export type TraceStep = (typeof TRACE_STEPS)[number];

/** One step of a timeline. */
export interface TraceEntry {
  /** By the clock of the database, as far as that is known; the beginning of what took time, but for handlers their end. */
  readonly at: Date;
  readonly step: TraceStep;
  /** Whose step it was. */
  readonly service: string | undefined;
  /** `POST /orders`, `order.placed`, `order.placed → mail`, `replay of mail`. */
  readonly what: string;
  /** Absent where there is nothing to go well or wrong. */
  readonly outcome: 'ok' | 'failed' | 'waiting' | undefined;
  /** In one line: status, error, who and why, what comes next. */
  readonly detail: string | undefined;
  readonly durationMs: number | undefined;
  /** Of a call or a handler, from 1. */
  readonly attempt: number | undefined;
  /** Who did it by hand, and why. */
  readonly actor: string | undefined;
  readonly reason: string | undefined;
  /** By name: `requestId`, `eventId`, `dlqId`, `idempotencyKey`, `sourceId`, `runId`, … */
  readonly ids: Readonly<Record<string, string>>;
}

/** As what an id was found. */
export type TracedAs =
  | 'request'
  | 'idempotency key'
  | 'event'
  | 'dead letter'
  | 'command'
  | 'run'
  | 'user'
  | 'source id'
  | 'correlation'
  | 'other';

/** Which kinds of ids are looked for, in words. */
export const TRACED_IDS: readonly string[] = [
  'request ids',
  'correlation, causation and trace ids',
  'idempotency keys',
  'ids of events and dead letters',
  'ids of commands, their keys and their targets (runs)',
  'users',
  'source ids of brokers',
];

/** What `trace` may be told. */
export interface TraceOptions {
  /** How many steps at most, 1 to 5,000. Default 500. */
  readonly limit?: number | undefined;
}

/** What belongs to one id, in the order of time. */
export interface Trace {
  readonly kind: 'trace';
  readonly id: string;
  /** As what it was found; more than one where it means several things. */
  readonly as: readonly TracedAs[];
  readonly entries: readonly TraceEntry[];
  /** There is more: the limit was reached, or what belongs together did not end. */
  readonly isCut: boolean;
  /** When it was asked, by the clock of the database. */
  readonly at: Date;
}

/** A message that an id may mean whose end is missing. */
export interface TraceCandidate {
  readonly id: string;
  readonly type: string;
  readonly createdAt: Date;
}

export type Traced =
  | Trace
  /** The beginning of several ids. `isCut`: of more than are listed. */
  | { readonly kind: 'ambiguous'; readonly candidates: readonly TraceCandidate[]; readonly isCut: boolean }
  /** Nothing is known by it, or no longer. */
  | { readonly kind: 'not-found' }
  | { readonly kind: 'bad-id'; readonly problem: string };

/** How many steps at most unless it is told otherwise. */
export const DEFAULT_TRACE_LIMIT = 500;
/** The most that may be asked for. */
export const MAX_TRACE_LIMIT = 5_000;

const LONGEST_ID = 2_000;

/** What is wrong with a text as an id; nothing if it can be looked for. */
export function traceIdProblem(id: unknown): string | undefined {
  const isText = typeof id === 'string' && id.trim() !== '' && id.length <= LONGEST_ID;
  if (isText && id.isWellFormed() && !id.includes('\u0000')) return undefined;
  return `an id is 1 to ${LONGEST_ID} characters of text`;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** True for the id of a message, whatever its case. */
function isMessageId(id: string): boolean {
  return UUID.test(id);
}

/** Everything a text may mean: itself; a message, where it is a dead letter's id; and the key that a handler's key is made of. */
export function meaningsOf(id: string): readonly string[] {
  const text = isMessageId(id) ? id.toLowerCase() : id;
  const message = DEAD_LETTER.exec(text)?.[1]?.toLowerCase();
  return [...new Set([text, ...(message === undefined ? [] : [message]), ...parentKeys(text)])];
}

const DEAD_LETTER = /^([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}):\d{1,5}$/i;

/** True for the id of a dead letter. */
export function isDeadLetterId(id: string): boolean {
  return DEAD_LETTER.test(id);
}

/** What a key may have been made of: a handler's `<key>:<handler>`, `…:v<version>`, `…:r<rerun>`, a command's `<key>-e<edit>`. */
function parentKeys(key: string): readonly string[] {
  const keys = [key.replace(/(.)-e[1-9]\d{0,8}$/, '$1')].filter((one) => one !== key);
  let rest = key.replace(/:r\d+$/, '').replace(/:v\d+$/, '');
  const at = rest.lastIndexOf(':');
  if (at > 0) {
    rest = rest.slice(0, at);
    keys.push(isMessageId(rest) ? rest.toLowerCase() : rest);
  }
  return keys;
}

/** The first and the last id that begin so; nothing for a text that is no beginning of one, or a very short one. */
export function idRange(text: string): { readonly low: string; readonly high: string } | undefined {
  const digits = text.toLowerCase().replaceAll('-', '');
  if (!/^[0-9a-f-]+$/i.test(text) || digits.length < SHORTEST_PREFIX || digits.length > 31) return undefined;
  return { low: withDashes(digits.padEnd(32, '0')), high: withDashes(digits.padEnd(32, 'f')) };
}

const SHORTEST_PREFIX = 8;

function withDashes(digits: string): string {
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
