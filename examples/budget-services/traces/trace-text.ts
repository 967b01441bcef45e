import type { Span } from './span.ts';

/** A trace as a tree of text: below each span what it caused, with the process and how long it took. */
export function traceText(spans: readonly Span[]): string {
  const known = new Set(spans.map(({ spanId }) => spanId));
  const sorted = spans.toSorted((a, b) => a.startMs - b.startMs);
  const below = (parent: string | undefined, depth: number): string[] =>
    sorted
      .filter(({ parentSpanId }) => (known.has(parentSpanId ?? '') ? parentSpanId : undefined) === parent)
      .flatMap((span) => [lineOf(span, depth), ...below(span.spanId, depth + 1)]);
  return [`trace ${spans[0]?.traceId ?? ''}`, ...below(undefined, 0), ''].join('\n');
}

function lineOf({ service, name, durationMs, attributes }: Span, depth: number): string {
  const outcome = attributes['holdfast.outcome'] ?? attributes['idempotency.outcome'] ?? '';
  const what = `${'  '.repeat(depth)}${name}`;
  return `${service.padEnd(13)} ${what.padEnd(52)} ${durationMs.toFixed(0).padStart(5)} ms  ${outcome}`.trimEnd();
}
