import type { OptionCheck } from '../kernel/check-options.ts';
import type { ContextLike, SpanContextLike } from './remote-context.ts';

/** Attributes of a span. */
export type Attributes = Record<string, string | number | boolean>;

/** What we do to a span. OpenTelemetry's `Span` fits as it is. */
export interface SpanLike {
  spanContext(): SpanContextLike;
  /** False: nobody will see it. */
  isRecording?(): boolean;
  setAttributes(attributes: Attributes): unknown;
  addEvent(name: string, attributes: Attributes): unknown;
  setStatus(status: { code: number; message?: string }): unknown;
  end(endedMs?: number): void;
}

/** What we say of a span when it begins. */
export interface SpanOptionsLike {
  kind?: number;
  attributes?: Attributes;
  links?: { context: SpanContextLike }[];
}

/** What we ask of a tracer. OpenTelemetry's `Tracer` fits as it is. */
export interface TracerLike {
  startActiveSpan(name: string, options: SpanOptionsLike, work: (span: SpanLike) => unknown): unknown;
  startActiveSpan(
    name: string,
    options: SpanOptionsLike,
    context: ContextLike,
    work: (span: SpanLike) => unknown,
  ): unknown;
}

/** OpenTelemetry's numbers for the kinds of span we make. */
export const KIND = { producer: 3, consumer: 4 } as const;

/** OpenTelemetry's number for a span that failed. */
export const ERROR = 2;

/** What an observer throws is dropped, so a wrong tracer would be silence. */
export function checkTracer(check: OptionCheck, tracer: TracerLike): void {
  if (typeof (tracer as TracerLike | undefined)?.startActiveSpan !== 'function')
    check.refuse('tracer', tracer, "pass an OpenTelemetry tracer: trace.getTracer('holdfast')");
}
