/** The two things we do to a span. OpenTelemetry's `Span` fits as it is. */
export interface ActiveSpan {
  addEvent(name: string, attributes?: Record<string, string | number | boolean>): unknown;
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
