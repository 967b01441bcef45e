import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { context, propagation, SpanKind, trace, type Tracer } from '@opentelemetry/api';

/**
 * Answers each request inside a span that continues the caller's trace. `@opentelemetry/instrumentation-http` does the same for a
 * whole process; here it is written out, so that nothing has to be loaded before everything else.
 */
export function inServerSpans(tracer: Tracer, answer: RequestListener): RequestListener {
  return (request: IncomingMessage, response: ServerResponse) => {
    const { method = 'GET', url = '/' } = request;
    const path = url.split('?')[0] ?? '/';
    // It is asked for again and again, and by nobody's request.
    if (path === '/metrics') return answer(request, response);
    const caller = propagation.extract(context.active(), request.headers);
    const attributes = { 'http.request.method': method, 'url.path': path };
    const span = tracer.startSpan(`${method} ${path}`, { kind: SpanKind.SERVER, attributes }, caller);
    response.once('close', () => {
      span.setAttribute('http.response.status_code', response.statusCode);
      span.end();
    });
    const inside = trace.setSpan(caller, span);
    // The body comes in events of the socket, which belong to no request.
    context.bind(inside, request);
    context.bind(inside, response);
    context.with(inside, () => answer(request, response));
  };
}
