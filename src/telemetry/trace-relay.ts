import { OptionCheck } from '../kernel/check-options.ts';
import type { Effects } from '../kernel/effects.ts';
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
  const open = new Map<string, OpenSpan>();
  const end: EndSpan = (id, attributes, finish) => {
    const found = open.get(id);
    if (!found) return;
    open.delete(id);
    found.span.setAttributes(attributes);
    finish?.(found.span);
    // Told late or not at all: the time until then is not the run's.
    if (attributes['holdfast.outcome'] === 'unknown') found.span.end(found.endedMs);
    else found.span.end();
  };
  return {
    async wrapRun(about, run) {
      const sender = senderSpan(about.delivery);
      const isLink = join === 'link' && sender !== undefined;
      const spanOptions = {
        kind: about.isPublish ? KIND.producer : KIND.consumer,
        attributes: attributesOf(about),
        ...(isLink ? { links: [{ context: sender }] } : {}),
      };
      const id = idOf(about.handler, about.delivery);
      // The same attempt again: it was broken off, or rolled back with the others of its group.
      end(id, UNKNOWN);
      const [oldest] = open.size < MAX_OPEN ? [] : open.keys();
      if (oldest !== undefined) end(oldest, UNKNOWN);
      const parent = contextUnder(isLink ? undefined : sender);
      await tracer.startActiveSpan(nameOf(about), spanOptions, parent, async (span) => {
        const opened: OpenSpan = { span, endedMs: undefined };
        open.set(id, opened);
        try {
          // A trace of its own is not carried on: whoever handles the message points to where it was sent.
          await run(isLink || about.isPublish !== true ? undefined : carriedBy(span));
        } finally {
          opened.endedMs = effects.now().wallMs;
        }
      });
    },
    observe(event) {
      if (event.kind === 'stopped') for (const id of open.keys()) end(id, UNKNOWN);
      else observeRun(event, end);
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

type EndSpan = (id: string, attributes: Attributes, finish?: (span: SpanLike) => void) => void;

const UNKNOWN: Attributes = { 'holdfast.outcome': 'unknown' };

function observeRun(event: RelayEvent, end: EndSpan): void {
  switch (event.kind) {
    case 'run-done':
      return end(idOf(event.handler, event.delivery), { 'holdfast.outcome': 'done' });
    case 'run-refused':
      return end(idOf(event.handler, event.delivery), {
        'holdfast.outcome': 'refused',
        'holdfast.refused_reason': event.reason,
      });
    case 'run-interrupted':
      return end(idOf(event.handler, event.delivery), {
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
      return end(idOf(handler, delivery), attributes, (span) => {
        span.addEvent('exception', exceptionOf(error));
        span.setStatus({ code: ERROR, message: `${error.name}: ${error.message}` });
      });
    }
    default:
      return;
  }
}

/** One run among those of this process: a message, its handler, and which attempt. */
function idOf(handler: string, { id, cycle, rerun, attempts }: Delivery): string {
  return `${id} ${cycle} ${rerun} ${attempts} ${handler}`;
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
