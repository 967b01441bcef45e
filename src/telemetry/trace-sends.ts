import { OptionCheck } from '../kernel/check-options.ts';
import type { SendResult } from '../outbox/outbox-store.ts';
import type { SendAbout, SendWrapper } from '../outbox/sending.ts';
import { errorFields } from './error-fields.ts';
import { type Attributes, checkTracer, ERROR, KIND, type SpanLike, type TracerLike } from './tracer-like.ts';

/**
 * A span for each `send`, `send <type>`: `holdfast({ …, wrapSend: traceSends(tracer) })`. It is a child of whatever is active, and the
 * messages belong to it, wherever they are handled.
 */
export function traceSends(tracer: TracerLike): SendWrapper {
  const check = new OptionCheck('traceSends()');
  checkTracer(check, tracer);
  check.done();
  return (about, send) =>
    tracer.startActiveSpan(nameOf(about), { kind: KIND.producer, attributes: attributesOf(about) }, async (span) => {
      try {
        span.setAttributes(resultOf(await send()));
      } catch (error) {
        fail(span, error);
      } finally {
        span.end();
      }
    });
}

function nameOf({ types: [type, ...more] }: SendAbout): string {
  return more.every((one) => one === type) ? `send ${type ?? ''}` : 'send';
}

function attributesOf({ service, types }: SendAbout): Attributes {
  const [type = '', ...more] = types;
  return {
    'messaging.system': 'holdfast',
    'messaging.operation.type': 'create',
    'messaging.operation.name': 'send',
    ...(more.every((one) => one === type) ? { 'messaging.destination.name': type } : {}),
    ...(more.length > 0 ? { 'messaging.batch.message_count': types.length } : {}),
    'holdfast.source': service,
  };
}

function resultOf(results: readonly SendResult[]): Attributes {
  const [first, ...more] = results;
  const duplicates = results.filter(({ kind }) => kind === 'duplicate').length;
  return {
    ...(first && more.length === 0 ? { 'messaging.message.id': first.id } : {}),
    ...(duplicates > 0 ? { 'holdfast.duplicates': duplicates } : {}),
  };
}

/** Its code, or what it is called: what it says may hold what is nobody's business. */
function fail(span: SpanLike, error: unknown): void {
  const { errorCode, errorClass } = errorFields(error);
  span.setAttributes({ 'error.type': errorCode ?? errorClass });
  span.setStatus({ code: ERROR });
}
