import type { FailureKind } from '../failure.ts';
import { type HeaderSource, type Hint, readHint } from '../hint.ts';
import { isTerminalHandlerError } from '../terminal-handler-error.ts';
import { field, nameOf, wholeField } from './field.ts';
import { readError, type Reading } from './read-error.ts';

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
  const reading = readError(error);
  const verdict = rules.override(reading) ?? reading.verdict;
  const hint = hintOf(error, reading.status, rules);
  const nestedAttempts = nestedAttemptsOf(error);
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

function causesOf(error: unknown): unknown[] {
  const causes = ['cause', 'lastError', 'lastNodeError', 'originalError', 'socketError'].map((name) =>
    field(error, name),
  );
  const inner = field(error, 'error');
  // Under this name clients also keep the parsed body of an answer, which is no error by itself.
  if (inner instanceof Error) causes.push(inner);
  return causes.filter((cause) => typeof cause === 'object' && cause !== null);
}

/** The errors beside each other in an AggregateError, or among the replies of a Redis transaction. */
function membersOf(error: unknown): unknown[] {
  // The AI SDK lists the failure of each attempt; only the last one is the present state.
  if (nameOf(error) === 'AI_RetryError') return [];
  const members = field(error, 'errors') ?? field(error, 'replies');
  return Array.isArray(members) ? members.slice(0, MAX_ERRORS).filter((member) => member instanceof Error) : [];
}

const HEADER_PLACES = [
  ['headers'],
  ['response', 'headers'],
  ['responseHeaders'],
  ['$response', 'headers'],
  ['metadata'],
];

function hintOf(error: unknown, status: number | undefined, rules: ChainRules): Hint | undefined {
  for (const path of HEADER_PLACES) {
    const headers = field(error, ...path);
    if (typeof headers !== 'object' || headers === null) continue;
    const hint = readHint(headers as HeaderSource, rules.nowWallMs(), status);
    if (hint) return hint;
  }
  return undefined;
}

/** How often an inner layer tried before it gave up: our own, the AWS SDK, kafkajs, the AI SDK. */
function nestedAttemptsOf(error: unknown): number | undefined {
  const name = nameOf(error);
  let attempts = wholeField(error, '$metadata', 'attempts');
  if (field(error, 'code') === 'RETRY_STOPPED') attempts = wholeField(error, 'details', 'attempts');
  if (name === 'KafkaJSNumberOfRetriesExceeded') attempts = (wholeField(error, 'retryCount') ?? 0) + 1;
  const tried = name === 'AI_RetryError' ? field(error, 'errors') : undefined;
  if (Array.isArray(tried)) attempts = tried.length;
  return attempts !== undefined && attempts > 1 ? attempts : undefined;
}
