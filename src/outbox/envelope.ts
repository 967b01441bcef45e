/** What a message says about itself beside its type, key and payload. */
export interface Envelope {
  readonly source: string;
  readonly target: string | undefined;
  readonly aggregateType: string | undefined;
  readonly aggregateId: string | undefined;
  readonly generation: number | undefined;
  readonly correlationId: string | undefined;
  readonly causationId: string | undefined;
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;
}

/** An envelope that says nothing but where the message is from. */
export function bareEnvelope(source: string): Envelope {
  return {
    source,
    target: undefined,
    aggregateType: undefined,
    aggregateId: undefined,
    generation: undefined,
    correlationId: undefined,
    causationId: undefined,
    traceparent: undefined,
    tracestate: undefined,
    headers: undefined,
  };
}
