/** A span as it was exported. */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  /** Absent in the first span of a trace. */
  readonly parentSpanId: string | undefined;
  readonly name: string;
  /** As OTLP numbers it: 2 server, 4 producer, 5 consumer. */
  readonly kind: number;
  /** The process it comes from. */
  readonly service: string;
  readonly startMs: number;
  readonly durationMs: number;
  readonly attributes: Readonly<Record<string, string>>;
}

type OtlpAttributes = readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];

interface OtlpRequest {
  readonly resourceSpans?: readonly {
    readonly resource?: { readonly attributes?: OtlpAttributes };
    readonly scopeSpans?: readonly { readonly spans?: readonly OtlpSpan[] }[];
  }[];
}

interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: OtlpAttributes;
}

/** The spans of one request of OTLP over HTTP in JSON. */
export function spansOf(request: unknown): readonly Span[] {
  return ((request as OtlpRequest).resourceSpans ?? []).flatMap(({ resource, scopeSpans = [] }) => {
    const service = valuesOf(resource?.attributes)['service.name'] ?? 'unknown';
    return scopeSpans.flatMap(({ spans = [] }) => spans.map((span) => spanOf(service, span)));
  });
}

function spanOf(service: string, { traceId, spanId, parentSpanId, name, kind, ...span }: OtlpSpan): Span {
  const startMs = Number(span.startTimeUnixNano) / 1e6;
  const durationMs = Number(span.endTimeUnixNano) / 1e6 - startMs;
  const attributes = valuesOf(span.attributes);
  return {
    traceId,
    spanId,
    parentSpanId: parentSpanId || undefined,
    name,
    kind,
    service,
    startMs,
    durationMs,
    attributes,
  };
}

function valuesOf(attributes: OtlpAttributes = []): Record<string, string> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, String(Object.values(value)[0])]));
}
