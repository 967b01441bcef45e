import { OptionCheck } from '../kernel/check-options.ts';
import type { Effects } from '../kernel/effects.ts';
import { isThenable } from '../kernel/wrapped.ts';
import type { RelayEvent, RelayObserver } from '../relay/relay-event.ts';
import type { Delivery, DeliveryError } from '../relay/relay-store.ts';
import type { CarriedTrace, RunAbout, RunWrapper } from '../relay/run-wrapper.ts';
import { traceparentOf } from '../system/active-span.ts';
import { systemEffects } from '../system/effects.ts';
import { contextUnder, senderSpan } from './remote-context.ts';
import { type Attributes, checkTracer, ERROR, KIND, type SpanLike, type TracerLike } from './tracer-like.ts';

/** What `traceRelay` takes. Every field may be left out. */
export interface TraceRelayOptions {
  /**
   * How a run belongs to the span in which its message was sent. `'parent'`: it is a child of it, so that one action is one
   * trace. `'link'`: it is a trace of its own that points to it, for messages that wait for hours. Default `'parent'`.
   */
  readonly join?: 'parent' | 'link' | undefined;
  /** Clock; for tests. */
  readonly effects?: Effects | undefined;
}

/** Spans of a relay. It needs both: one runs handlers inside their spans, the other ends the spans with what became of them. */
export interface RelayTraces {
  readonly observe: RelayObserver;
  readonly wrapRun: RunWrapper;
}

// More than any process runs at once: what is above has been given up, and nobody told.
const MAX_OPEN = 10_000;

/**
 * A span for each run of a handler, `handle <type>`, from its start until its result is written. Handlers run inside it: their
 * spans are its children, and what they send carries its trace on. A message that goes to a broker has a span `publish <type>`,
 * which is what its headers name there: the parent of whoever handles it. A run that was broken off ends its span with the
 * outcome `unknown`.
 */
export function traceRelay(tracer: TracerLike, options: TraceRelayOptions = {}): RelayTraces {
  checkTraceOptions(tracer, options);
  const { join = 'parent', effects = systemEffects } = options;
  const open = new OpenSpans();
  return {
    wrapRun(about, run) {
      const { handler, delivery } = about;
      const sender = senderSpan(delivery);
      const isLink = join === 'link' && sender !== undefined;
      const spanOptions = {
        kind: about.isPublish ? KIND.producer : KIND.consumer,
        attributes: attributesOf(about),
        ...(isLink ? { links: [{ context: sender }] } : {}),
      };
      // The same message again: it was broken off, or rolled back with the others of its group.
      open.end(handler, delivery, UNKNOWN);
      const parent = contextUnder(isLink ? undefined : sender);
      return tracer.startActiveSpan(nameOf(about), spanOptions, parent, (span) => {
        // A trace of its own is not carried on: whoever handles the message points to where it was sent.
        const carried = isLink || about.isPublish !== true ? undefined : carriedBy(span);
        if (span.isRecording?.() === false) return run(carried);
        const opened: OpenSpan = { span, endedMs: undefined };
        open.add(handler, delivery, opened);
        const ended = (): void => void (opened.endedMs = effects.now().wallMs);
        let result: unknown;
        try {
          return (result = run(carried));
        } finally {
          if (isThenable(result)) result.then(ended, ended);
          else ended();
        }
      });
    },
    observe(event) {
      if (event.kind === 'stopped') open.endAll();
      else observeRun(event, open);
    },
  };
}

function checkTraceOptions(tracer: TracerLike, options: TraceRelayOptions): void {
  const check = new OptionCheck('traceRelay()');
  checkTracer(check, tracer);
  if (check.object('options', options, 'pass an object, or leave it out')) {
    check.known(options, ['join', 'effects']);
    if (options.join !== undefined) check.word('join', options.join, ['parent', 'link']);
  }
  check.done();
}

interface OpenSpan {
  readonly span: SpanLike;
  /** When the handler ended; absent while it runs. */
  endedMs: number | undefined;
}

/** Spans whose runs have not been told to be over, by handler and message. */
class OpenSpans {
  readonly #byHandler = new Map<string, Map<string, OpenSpan>>();
  #size = 0;

  add(handler: string, { id }: Delivery, opened: OpenSpan): void {
    let spans = this.#byHandler.get(handler);
    if (!spans) this.#byHandler.set(handler, (spans = new Map()));
    const [oldest] = this.#size < MAX_OPEN ? [] : spans.keys();
    if (oldest !== undefined) this.end(handler, { id: oldest }, UNKNOWN);
    spans.set(id, opened);
    this.#size += 1;
  }

  end(handler: string, { id }: Pick<Delivery, 'id'>, attributes: Attributes, finish?: (span: SpanLike) => void): void {
    const spans = this.#byHandler.get(handler);
    const found = spans?.get(id);
    if (!spans || !found) return;
    spans.delete(id);
    this.#size -= 1;
    found.span.setAttributes(attributes);
    finish?.(found.span);
    // Told late or not at all: the time until then is not the run's.
    if (attributes === UNKNOWN) found.span.end(found.endedMs);
    else found.span.end();
  }

  endAll(): void {
    for (const [handler, spans] of this.#byHandler) for (const id of spans.keys()) this.end(handler, { id }, UNKNOWN);
  }
}

const UNKNOWN: Attributes = { 'holdfast.outcome': 'unknown' };

const DONE: Attributes = { 'holdfast.outcome': 'done' };

function observeRun(event: RelayEvent, open: OpenSpans): void {
  switch (event.kind) {
    case 'run-done':
      return open.end(event.handler, event.delivery, DONE);
    case 'run-refused':
      return open.end(event.handler, event.delivery, {
        'holdfast.outcome': 'refused',
        'holdfast.refused_reason': event.reason,
      });
    case 'run-interrupted':
      return open.end(event.handler, event.delivery, {
        'holdfast.outcome': 'interrupted',
        'holdfast.interrupted_reason': event.reason,
      });
    case 'run-failed': {
      const { handler, delivery, error, failure, next } = event;
      const attributes = {
        'holdfast.outcome': next.kind,
        'holdfast.retryable': failure.verdict === 'retry',
        'error.type': error.code ?? error.kind,
        ...(next.kind === 'retry' ? { 'holdfast.retry_delay_ms': next.delayMs } : { 'holdfast.reason': next.reason }),
      };
      return open.end(handler, delivery, attributes, (span) => {
        span.addEvent('exception', exceptionOf(error));
        span.setStatus({ code: ERROR, message: `${error.name}: ${error.message}` });
      });
    }
    default:
      return;
  }
}

function nameOf({ delivery, isPublish }: RunAbout): string {
  return `${isPublish ? 'publish' : 'handle'} ${delivery.type}`;
}

/** The span as headers; nothing where the tracer makes none. */
function carriedBy(span: SpanLike): CarriedTrace | undefined {
  const traceparent = traceparentOf(span);
  return traceparent === undefined
    ? undefined
    : { traceparent, tracestate: span.spanContext().traceState?.serialize() };
}

function attributesOf({ delivery, handler, attempt, isPublish }: RunAbout): Attributes {
  const { type, id, source, correlationId, generation } = delivery;
  const attributes: Record<string, string | number> = {
    'messaging.system': 'holdfast',
    'messaging.operation.type': isPublish ? 'send' : 'process',
    'messaging.operation.name': isPublish ? 'publish' : 'handle',
    'messaging.destination.name': type,
    'messaging.message.id': id,
    'holdfast.handler': handler,
    'holdfast.attempt': attempt,
    'holdfast.source': source,
  };
  if (!isPublish) attributes['messaging.consumer.group.name'] = handler;
  if (correlationId !== undefined) attributes['messaging.message.conversation_id'] = correlationId;
  if (generation !== undefined) attributes['holdfast.generation'] = generation;
  return attributes;
}

/** The error as it is kept, without secrets; what was thrown is not shown to the span at all. */
function exceptionOf({ name, message, stack }: DeliveryError): Attributes {
  return {
    'exception.type': name,
    'exception.message': message,
    ...(stack === undefined ? {} : { 'exception.stacktrace': stack }),
  };
}
