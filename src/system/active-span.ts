/** What we do to a span. OpenTelemetry's `Span` fits as it is. */
export interface ActiveSpan {
  addEvent(name: string, attributes?: Record<string, string | number | boolean>): unknown;
  setAttributes?(attributes: Record<string, string | number | boolean>): unknown;
  spanContext?(): { readonly traceId: string; readonly spanId: string; readonly traceFlags: number };
}

interface OpenTelemetryGlobal {
  readonly context?: { active(): { getValue(key: symbol): unknown } };
}

// OpenTelemetry's API keeps itself under this registered symbol so that several copies of it work together; the span of
// a context lies under the second. Reading them joins the application's tracing without a dependency, and costs one
// property look-up where there is none. See docs/decisions/0003-opentelemetry-without-a-dependency.md.
const API = Symbol.for('opentelemetry.js.api.1');
const SPAN = Symbol.for('OpenTelemetry Context Key SPAN');

/** The span the application is in, when it uses OpenTelemetry. */
export function activeSpan(): ActiveSpan | undefined {
  const api = (globalThis as { [API]?: OpenTelemetryGlobal })[API];
  const span = api?.context?.active().getValue(SPAN) as Partial<ActiveSpan> | undefined;
  return typeof span?.addEvent === 'function' ? (span as ActiveSpan) : undefined;
}

/** The span as a W3C `traceparent`, so that what is sent now belongs to its trace wherever it is handled. */
export function traceparentOf(span: ActiveSpan): string | undefined {
  const context = span.spanContext?.();
  if (!context || !isId(context.traceId, 32) || !isId(context.spanId, 16)) return undefined;
  return `00-${context.traceId}-${context.spanId}-${context.traceFlags.toString(16).padStart(2, '0')}`;
}

/** All zeros is what OpenTelemetry gives where nothing is traced, and no id. */
function isId(text: string, length: number): boolean {
  return text.length === length && /^(?!0+$)[0-9a-f]+$/.test(text);
}
