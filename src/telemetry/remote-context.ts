import type { Delivery } from '../relay/relay-store.ts';
import { parseTraceparent, type RemoteTrace } from './traceparent.ts';

/** The list of vendors' values that travels with a trace, as OpenTelemetry's `TraceState`. */
export interface TraceStateLike {
  get(key: string): string | undefined;
  set(key: string, value: string): TraceStateLike;
  unset(key: string): TraceStateLike;
  serialize(): string;
}

/** A span of another process, as OpenTelemetry's `SpanContext`. */
export interface SpanContextLike extends RemoteTrace {
  readonly isRemote: boolean;
  readonly traceState?: TraceStateLike;
}

/** What OpenTelemetry's `Context` is: values under symbols, never changed. */
export interface ContextLike {
  getValue(key: symbol): unknown;
  setValue(key: symbol, value: unknown): ContextLike;
  deleteValue(key: symbol): ContextLike;
}

// Registered by OpenTelemetry's API under this name; see docs/decisions/0003-opentelemetry-without-a-dependency.md.
const SPAN = Symbol.for('OpenTelemetry Context Key SPAN');

/** The span in which a message was sent; nothing when its sender had none. */
export function senderSpan({ traceparent, tracestate }: Delivery): SpanContextLike | undefined {
  const trace = parseTraceparent(traceparent);
  if (!trace) return undefined;
  return { ...trace, isRemote: true, ...(tracestate ? { traceState: traceState(membersOf(tracestate)) } : {}) };
}

/**
 * A context with nothing in it but the parent. What happened to be active when the relay was started is nobody's parent: it
 * would gather all messages of the process in one trace.
 */
export function contextUnder(parent: SpanContextLike | undefined): ContextLike {
  return parent ? ROOT.setValue(SPAN, new RemoteSpan(parent)) : ROOT;
}

const MISSING: unique symbol = Symbol('missing');

/** One value and what was there before. Two or three deep, and made for each message: a copied Map took a microsecond. */
class Context implements ContextLike {
  readonly #key: symbol;
  readonly #value: unknown;
  readonly #rest: Context | undefined;

  constructor(key: symbol, value: unknown, rest: Context | undefined) {
    this.#key = key;
    this.#value = value;
    this.#rest = rest;
  }

  getValue(key: symbol): unknown {
    if (key !== this.#key) return this.#rest?.getValue(key);
    return this.#value === MISSING ? undefined : this.#value;
  }

  setValue(key: symbol, value: unknown): ContextLike {
    return new Context(key, value, this);
  }

  deleteValue(key: symbol): ContextLike {
    return new Context(key, MISSING, this);
  }
}

const ROOT: ContextLike = new Context(MISSING, undefined, undefined);

/** A span that is only there to be a parent; what is done to it has no effect. */
class RemoteSpan {
  readonly #context: SpanContextLike;

  constructor(context: SpanContextLike) {
    this.#context = context;
  }

  spanContext(): SpanContextLike {
    return this.#context;
  }
  isRecording(): boolean {
    return false;
  }
  end(): void {}
  recordException(): void {}
  setAttribute(): this {
    return this;
  }
  setAttributes(): this {
    return this;
  }
  addEvent(): this {
    return this;
  }
  addLink(): this {
    return this;
  }
  addLinks(): this {
    return this;
  }
  setStatus(): this {
    return this;
  }
  updateName(): this {
    return this;
  }
}

function membersOf(text: string): readonly (readonly [string, string])[] {
  return text.split(',').flatMap((member) => {
    const [, key, value] = /^\s*([a-z0-9][a-z0-9_*/@-]{0,255})=([\x20-\x7e]{1,256}?)\s*$/.exec(member) ?? [];
    return key === undefined || value === undefined ? [] : [[key, value] as const];
  });
}

function traceState(members: readonly (readonly [string, string])[]): TraceStateLike {
  const without = (key: string): readonly (readonly [string, string])[] => members.filter(([one]) => one !== key);
  return {
    get: (key) => members.find(([one]) => one === key)?.[1],
    // The last writer stands first, and the standard allows 32.
    set: (key, value) => traceState([[key, value] as const, ...without(key)].slice(0, 32)),
    unset: (key) => traceState(without(key)),
    serialize: () => members.map(([key, value]) => `${key}=${value}`).join(','),
  };
}
