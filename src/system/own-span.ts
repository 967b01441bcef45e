import { activeSpan } from './active-span.ts';

/** What we do to a span of our own. OpenTelemetry's `Span` fits as it is. */
interface OwnSpan {
  setStatus(status: { code: number }): unknown;
  end(): void;
}

interface Tracer {
  startActiveSpan<T>(name: string, options: { kind: number }, context: unknown, work: (span: OwnSpan) => T): T;
}

interface OpenTelemetryGlobal {
  readonly context?: { active(): unknown };
  readonly trace?: { getTracer(name: string): Tracer };
  readonly propagation?: { extract(context: unknown, carrier: Headers, getter: Getter): unknown };
}

interface Getter {
  get(carrier: Headers, name: string): string | undefined;
  keys(carrier: Headers): string[];
}

// See active-span.ts.
const API = Symbol.for('opentelemetry.js.api.1');

/** OpenTelemetry's numbers: the kind of a span that handles what was sent, and the status of one that failed. */
const CONSUMER = 4;
const ERROR = 2;

const HEADERS: Getter = {
  get: (headers, name) => headers.get(name) ?? undefined,
  keys: (headers) => [...headers.keys()],
};

/**
 * Runs `work` inside a span. Where the application has none active, that is a span of our own, a child of the one the headers name as
 * the application's propagator reads them; it ends with `work`, as an error where `work` rejects or `isError` says so of its result. Where
 * a span is active, or OpenTelemetry is not in use, it only runs `work`.
 */
export async function inSpan<T>(
  name: string,
  headers: Headers,
  work: () => Promise<T>,
  isError: (result: T) => boolean,
): Promise<T> {
  const api = (globalThis as { [API]?: OpenTelemetryGlobal })[API];
  if (!api?.trace || !api.context || activeSpan() !== undefined) return work();
  const active = api.context.active();
  const parent = api.propagation?.extract(active, headers, HEADERS) ?? active;
  return api.trace.getTracer('holdfast').startActiveSpan(name, { kind: CONSUMER }, parent, async (span) => {
    let failed = true;
    try {
      const result = await work();
      failed = isError(result);
      return result;
    } finally {
      if (failed) span.setStatus({ code: ERROR });
      span.end();
    }
  });
}
