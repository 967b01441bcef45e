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
  const root = contextOf(new Map());
  return parent ? root.setValue(SPAN, remoteSpan(parent)) : root;
}

function contextOf(values: ReadonlyMap<symbol, unknown>): ContextLike {
  return {
    getValue: (key) => values.get(key),
    setValue: (key, value) => contextOf(new Map([...values, [key, value]])),
    deleteValue: (key) => contextOf(new Map([...values].filter(([one]) => one !== key))),
  };
}

/** A span that is only there to be a parent; what is done to it has no effect. */
function remoteSpan(context: SpanContextLike): object {
  const span: Record<string, unknown> = { spanContext: () => context, isRecording: () => false, end: () => undefined };
  const same = (): object => span;
  for (const name of ['setAttribute', 'setAttributes', 'addEvent', 'addLink', 'addLinks', 'setStatus', 'updateName']) {
    span[name] = same;
  }
  span['recordException'] = () => undefined;
  return span;
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
