import type { Span } from './span.ts';

/** A trace as a tree of text: below each span what it caused, with the process and how long it took. */
export function traceText(spans: readonly Span[]): string {
  const known = new Set(spans.map(({ spanId }) => spanId));
  const sorted = spans.toSorted((a, b) => a.startMs - b.startMs);
  const lines: string[] = [];
  const writeBelow = (parent: string | undefined, depth: number): void => {
    for (const span of sorted) {
      if ((known.has(span.parentSpanId ?? '') ? span.parentSpanId : undefined) !== parent) continue;
      lines.push(lineOf(span, depth));
      writeBelow(span.spanId, depth + 1);
    }
  };
  writeBelow(undefined, 0);
  return [`trace ${spans[0]?.traceId ?? ''}`, ...lines, ''].join('\n');
}

function lineOf({ service, name, durationMs, attributes }: Span, depth: number): string {
  const outcome = attributes['holdfast.outcome'] ?? attributes['idempotency.outcome'] ?? '';
  const what = `${'  '.repeat(depth)}${name}`;
  return `${service.padEnd(13)} ${what.padEnd(52)} ${durationMs.toFixed(0).padStart(5)} ms  ${outcome}`.trimEnd();
}
