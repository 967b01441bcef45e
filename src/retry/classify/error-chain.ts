import type { FailureKind } from '../failure.ts';
import { type HeaderSource, type Hint, readHint } from '../hint.ts';
import { isTerminalHandlerError } from '../terminal-handler-error.ts';
import { field, wholeField } from './field.ts';
import { readError } from './read-error.ts';
import type { Reading } from './rule.ts';
import { lookAt, type Thrown } from './thrown.ts';

/** What a thrown value and everything it wraps say together. */
export interface Facts extends Reading {
  readonly hint?: Hint;
  readonly nestedAttempts?: number;
}

/** What a classifier adds to the tables. */
export interface ChainRules {
  /** The verdict the classifier's maker wants for this code or status, before any table is asked. */
  readonly override: (reading: Reading) => 'retry' | 'fail' | undefined;
  readonly isTerminal: (error: unknown) => boolean;
  /** Epoch milliseconds, asked only when there are headers to read. */
  readonly nowWallMs: () => number;
}

// Far above any real chain. Cycles are caught by `seen`; these two bound what a getter makes up as it is read.
const MAX_DEPTH = 8;
const MAX_ERRORS = 64;

/**
 * The facts of a thrown value: its own where they decide, else those of what it wraps, at most 8 levels deep and 64
 * errors in all. Where several errors stand side by side, a final one outweighs the others. Never throws.
 */
export function readChain(error: unknown, rules: ChainRules): Facts {
  return read(error, rules, new Set(), 0);
}

function read(error: unknown, rules: ChainRules, seen: Set<unknown>, depth: number): Facts {
  const own = safely<Facts>(() => ownFacts(error, rules), { kind: 'unknown' });
  if (typeof error !== 'object' || error === null) return own;
  seen.add(error);
  if (depth === MAX_DEPTH) return own;
  const readAll = (inner: readonly unknown[]): Facts[] =>
    inner.flatMap((one) => (seen.has(one) || seen.size >= MAX_ERRORS ? [] : [read(one, rules, seen, depth + 1)]));

  const facts = readAll(safely(() => causesOf(error), [])).reduce(merge, own);
  const [weightiest] = readAll(safely(() => membersOf(error), [])).toSorted((a, b) => weight(b) - weight(a));
  return weightiest ? merge(facts, weightiest) : facts;
}

/** A thrown value may be anything, a revoked proxy too, which throws at every touch. */
function safely<T>(look: () => T, otherwise: T): T {
  try {
    return look();
  } catch {
    return otherwise;
  }
}

function ownFacts(error: unknown, rules: ChainRules): Facts {
  if (isTerminalHandlerError(error) || rules.isTerminal(error)) return { kind: 'terminal', verdict: 'fail' };
  const thrown = lookAt(error);
  const reading = readError(thrown);
  const verdict = rules.override(reading) ?? reading.verdict;
  const hint = hintOf(error, reading.status, rules);
  const nestedAttempts = nestedAttemptsOf(thrown);
  return {
    ...reading,
    ...(verdict === undefined ? {} : { verdict }),
    ...(hint === undefined ? {} : { hint }),
    ...(nestedAttempts === undefined ? {} : { nestedAttempts }),
  };
}

/** Whoever decides gives kind and code; the rest is filled from outside in. A final error deep inside stays final. */
function merge(outer: Facts, inner: Facts): Facts {
  const innerDecides = inner.kind === 'terminal' || (outer.verdict === undefined && inner.verdict !== undefined);
  const [first, second] = innerDecides ? [inner, outer] : [outer, inner];
  return { ...second, ...first, kind: kindOf(first, second), ...sharedFacts(outer, inner) };
}

function kindOf(first: Facts, second: Facts): FailureKind {
  return first.kind === 'unknown' && first.verdict === undefined ? second.kind : first.kind;
}

function sharedFacts(outer: Facts, inner: Facts): Partial<Facts> {
  const hint = outer.hint ?? inner.hint;
  const nestedAttempts = outer.nestedAttempts ?? inner.nestedAttempts;
  return {
    ...(hint === undefined ? {} : { hint }),
    ...(nestedAttempts === undefined ? {} : { nestedAttempts }),
    likelyTransient: outer.likelyTransient === true || inner.likelyTransient === true,
  };
}

function weight(facts: Facts): number {
  if (facts.kind === 'terminal') return 3;
  return facts.verdict === 'fail' ? 2 : facts.verdict === 'retry' ? 1 : 0;
}

const CAUSES = ['cause', 'lastError', 'lastNodeError', 'originalError', 'socketError'];

function causesOf(error: object): unknown[] {
  const causes: unknown[] = [];
  for (const name of CAUSES) {
    const cause = field(error, name);
    if (typeof cause === 'object' && cause !== null) causes.push(cause);
  }
  const inner = field(error, 'error');
  // Under this name clients also keep the parsed body of an answer, which is no error by itself.
  if (inner instanceof Error) causes.push(inner);
  return causes;
}

/** The errors beside each other in an AggregateError, or among the replies of a Redis transaction. */
function membersOf(error: object): unknown[] {
  const members = field(error, 'errors') ?? field(error, 'replies');
  return Array.isArray(members) ? members.slice(0, MAX_ERRORS).filter((member) => member instanceof Error) : [];
}

function hintOf(error: unknown, status: number | undefined, rules: ChainRules): Hint | undefined {
  const places = [
    field(error, 'headers'),
    field(error, 'response', 'headers'),
    field(error, 'responseHeaders'),
    field(error, '$response', 'headers'),
    field(error, 'metadata'),
  ];
  for (const headers of places) {
    if (typeof headers !== 'object' || headers === null) continue;
    const hint = readHint(headers as HeaderSource, rules.nowWallMs(), status);
    if (hint) return hint;
  }
  return undefined;
}

/** How often an inner layer tried before it gave up: our own, kafkajs, the AI SDK, the AWS SDK. */
function nestedAttemptsOf({ error, name, textCode }: Thrown): number | undefined {
  const attempts = innerAttempts(error, name, textCode);
  return attempts !== undefined && attempts > 1 ? attempts : undefined;
}

function innerAttempts(error: unknown, name: string, code: string): number | undefined {
  if (code === 'RETRY_STOPPED') return wholeField(error, 'details', 'attempts');
  if (name === 'KafkaJSNumberOfRetriesExceeded') return (wholeField(error, 'retryCount') ?? 0) + 1;
  if (name === 'AI_RetryError') return wholeField(error, 'errors', 'length');
  return wholeField(error, '$metadata', 'attempts');
}
